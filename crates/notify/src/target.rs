//! Targets: the receivers of notifications, each with what it is notified of and how.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use autonoe_store::user_config::WebhookShape;
use jiff::Timestamp;

use crate::email;
use crate::program::Programs;
use crate::retry::expiry;
use crate::send_failure::SendFailure;
use crate::shapes::{MessageShape, ntfy};
use crate::webhook::{Webhook, WebhookOptions};
use crate::webhook_address::WebhookAddress;

/// The time limit of one attempt.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct NotifyTarget {
    pub name: String,
    /// What it is notified of.
    pub events: BTreeSet<NotificationEvent>,
    /// How long a delivery is worth trying; `None` uses the default of the event.
    pub expire_after: Option<Duration>,
    /// Of one attempt.
    pub time_limit: Duration,
    pub channel: Channel,
}

/// How a target is reached. A program that is missing is known by the reason, so that each delivery can report it.
#[derive(Debug, Clone)]
pub enum Channel {
    Desktop { notify_send: Result<PathBuf, String> },
    Command { program: Result<PathBuf, String>, args: Vec<String> },
    Webhook { webhook: Box<Webhook>, shape: MessageShape },
    Email { sendmail: Result<PathBuf, String>, to: Vec<String>, from: Option<String> },
}

impl Channel {
    /// Returns a clause about the address if it cannot be used.
    pub fn webhook(
        shape: WebhookShape,
        url: &str,
        options: WebhookOptions,
        time_limit: Duration,
    ) -> Result<Self, String> {
        let address = WebhookAddress::parse(url).map_err(|error| error.to_string())?;
        let (address, shape) = match shape {
            WebhookShape::Json => (address, MessageShape::Json),
            WebhookShape::Slack => (address, MessageShape::Slack),
            WebhookShape::Discord => (address, MessageShape::Discord),
            WebhookShape::Ntfy => ntfy(address)?,
        };
        let webhook = Webhook::new(address, options, time_limit).map_err(|failure| failure.reason)?;
        Ok(Self::Webhook { webhook: Box::new(webhook), shape })
    }

    /// Why nothing can be sent this way, if that is known.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Desktop { notify_send: program }
            | Self::Command { program, .. }
            | Self::Email { sendmail: program, .. } => program.as_ref().err().map(String::as_str),
            Self::Webhook { .. } => None,
        }
    }

    /// `webhook to hooks.example.com, signed`, without anything secret.
    pub fn describe(&self) -> String {
        let by = |program: &Result<PathBuf, String>| match program {
            Ok(path) => format!(" with {}", path.display()),
            Err(_) => String::new(),
        };
        match self {
            Self::Desktop { notify_send } => format!("desktop{}", by(notify_send)),
            Self::Command { program, .. } => format!("command{}", by(program)),
            Self::Email { sendmail, to, .. } => format!("email to {}{}", to.join(", "), by(sendmail)),
            Self::Webhook { webhook, shape } => {
                let shape = match shape {
                    MessageShape::Json => "",
                    MessageShape::Slack => " (slack)",
                    MessageShape::Discord => " (discord)",
                    MessageShape::Ntfy { .. } => " (ntfy)",
                };
                let signed = if webhook.is_signed() { ", signed" } else { "" };
                format!("webhook{shape} to {}{signed}", webhook.address().display_host())
            }
        }
    }
}

impl NotifyTarget {
    pub fn wants(&self, event: NotificationEvent) -> bool {
        self.events.contains(&event)
    }

    /// When a delivery to it is not worth trying any more.
    pub fn expires_at(&self, notification: &UserNotification) -> Timestamp {
        let after = self.expire_after.unwrap_or_else(|| expiry(notification.event, notification.level));
        notification.at.checked_add(after).unwrap_or(Timestamp::MAX)
    }

    /// One attempt. Dropping the future ends it and every program that it started.
    pub async fn send(
        &self,
        notification: &UserNotification,
        programs: &Programs,
    ) -> Result<(), SendFailure> {
        let available = |program: &Result<PathBuf, String>| program.clone().map_err(SendFailure::permanent);
        match &self.channel {
            Channel::Webhook { webhook, shape } => {
                let body = shape.body(notification).to_string().into_bytes();
                webhook.post(&notification.id, &body).await
            }
            Channel::Desktop { notify_send } => {
                let args = desktop_args(notification);
                programs.run(&available(notify_send)?, &args, &[], Vec::new(), self.time_limit).await
            }
            Channel::Command { program, args } => {
                let input = MessageShape::Json.body(notification).to_string().into_bytes();
                let variables = variables(notification);
                programs.run(&available(program)?, args, &variables, input, self.time_limit).await
            }
            Channel::Email { sendmail, to, from } => {
                let message = email::message(notification, to, from.as_deref());
                // A line with a single dot is not the end.
                let args = ["-t", "-i"].map(str::to_owned);
                programs.run(&available(sendmail)?, &args, &[], message.into_bytes(), self.time_limit).await
            }
        }
    }
}

fn desktop_args(notification: &UserNotification) -> Vec<String> {
    let urgency = match notification.level {
        NotificationLevel::Info | NotificationLevel::Success | NotificationLevel::Warning => "normal",
        NotificationLevel::Error | NotificationLevel::Critical => "critical",
    };
    // The text may have markup, the title may not.
    let text = notification.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let options = ["--app-name=Autonoe".to_owned(), format!("--urgency={urgency}"), "--".to_owned()];
    options.into_iter().chain([notification.title.clone(), text]).collect()
}

/// What a script needs most; the rest is in the JSON on its standard input.
fn variables(notification: &UserNotification) -> [(&'static str, String); 5] {
    [
        ("AUTONOE_EVENT", notification.event.name().to_owned()),
        ("AUTONOE_EVENT_ID", notification.id.clone()),
        ("AUTONOE_LEVEL", notification.level.name().to_owned()),
        ("AUTONOE_TITLE", notification.title.clone()),
        ("AUTONOE_PROJECT", notification.project_path.clone()),
    ]
}
