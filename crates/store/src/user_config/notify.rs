//! `[notify]`: who is notified of what. Only the form is checked here; programs, variables and addresses are looked at when they are used.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use autonoe_core::notification::NotificationEvent;
use serde::Deserialize;

use super::is_variable;

/// Denied tool calls of a run that are many.
const DEFAULT_DENIED_THRESHOLD: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// Targets that a configuration may have.
const MAX_TARGETS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifyConfig {
    /// How many denied tool calls of a run are many.
    #[serde(deserialize_with = "threshold")]
    pub denied_threshold: NonZeroU32,
    /// `[notify.targets.NAME]`.
    #[serde(deserialize_with = "targets")]
    pub targets: BTreeMap<String, NotifyTargetConfig>,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { denied_threshold: DEFAULT_DENIED_THRESHOLD, targets: BTreeMap::new() }
    }
}

/// One receiver of notifications.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TargetFields")]
pub struct NotifyTargetConfig {
    /// What it is notified of.
    pub events: BTreeSet<NotificationEvent>,
    /// Of one attempt; `None` uses the default.
    pub time_limit: Option<Duration>,
    /// How long a delivery is worth trying; `None` uses the default of the event.
    pub expire_after: Option<Duration>,
    pub channel: ChannelConfig,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelConfig {
    /// `notify-send`.
    Desktop,
    Command {
        /// The program and its arguments.
        command: Vec<String>,
    },
    Webhook {
        shape: WebhookShape,
        url: ValueSource,
        /// Signs every message.
        secret: Option<ValueSource>,
        /// Sent as `Authorization: Bearer`.
        token: Option<ValueSource>,
    },
    Email {
        to: Vec<String>,
        /// `None` leaves it to sendmail.
        from: Option<String>,
        /// `None` looks for `sendmail`.
        sendmail: Option<String>,
    },
}

/// The form of a webhook's body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookShape {
    /// The notification as it is.
    #[default]
    Json,
    Slack,
    Discord,
    Ntfy,
}

impl WebhookShape {
    /// As in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Ntfy => "ntfy",
        }
    }
}

/// Where a value comes from that may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// In the file itself.
    Literal(String),
    /// Name of an environment variable.
    Variable(String),
    /// A command that prints it.
    Command(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChannelKind {
    Desktop,
    Command,
    Webhook,
    Email,
}

impl ChannelKind {
    fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Command => "command",
            Self::Webhook => "webhook",
            Self::Email => "email",
        }
    }
}

/// A target as it is written: the fields of all kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetFields {
    kind: ChannelKind,
    events: Option<Vec<NotificationEvent>>,
    #[serde(default, deserialize_with = "super::positive_duration")]
    time_limit: Option<Duration>,
    #[serde(default, deserialize_with = "super::positive_duration")]
    expire_after: Option<Duration>,
    command: Option<Vec<String>>,
    shape: Option<WebhookShape>,
    url: Option<String>,
    url_variable: Option<String>,
    url_command: Option<Vec<String>>,
    secret_variable: Option<String>,
    secret_command: Option<Vec<String>>,
    token_variable: Option<String>,
    token_command: Option<Vec<String>>,
    to: Option<Vec<String>>,
    from: Option<String>,
    sendmail: Option<String>,
}

/// Quotes no value that may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum TargetError {
    #[error("`{field}` has no meaning for a target of kind \"{kind}\"")]
    Misplaced { field: &'static str, kind: &'static str },
    #[error("a target of kind \"{kind}\" needs {needed}")]
    Missing { kind: &'static str, needed: &'static str },
    #[error("give only one of {0}")]
    Several(&'static str),
    #[error(
        "`{field}`: expected the name of an environment variable, such as {example}; the value itself must not be there"
    )]
    Variable { field: &'static str, example: &'static str },
    #[error("`{0}`: name a program, such as [\"pass\", \"show\", \"autonoe\"]")]
    Command(&'static str),
    #[error(
        "`events` is empty, so this target would never be notified; leave it out to notify it of all events"
    )]
    NoEvents,
    #[error("`{field}`: '{address}' is not an e-mail address, such as ann@example.com")]
    Address { field: &'static str, address: String },
    #[error("`{0}`: give the whole path of a program, such as /usr/sbin/sendmail")]
    Path(&'static str),
}

impl TryFrom<TargetFields> for NotifyTargetConfig {
    type Error = TargetError;

    fn try_from(fields: TargetFields) -> Result<Self, TargetError> {
        fields.check_kind()?;
        let TargetFields { kind, time_limit, expire_after, .. } = fields;
        let events = match &fields.events {
            None => NotificationEvent::usual().collect(),
            Some(events) if events.is_empty() => return Err(TargetError::NoEvents),
            Some(events) => events.iter().copied().collect(),
        };
        let channel = match kind {
            ChannelKind::Desktop => ChannelConfig::Desktop,
            ChannelKind::Command => fields.into_command()?,
            ChannelKind::Webhook => fields.into_webhook()?,
            ChannelKind::Email => fields.into_email()?,
        };
        Ok(Self { events, time_limit, expire_after, channel })
    }
}

impl TargetFields {
    /// Fails for a field that another kind of target has.
    fn check_kind(&self) -> Result<(), TargetError> {
        let given = [
            ("command", ChannelKind::Command, self.command.is_some()),
            ("shape", ChannelKind::Webhook, self.shape.is_some()),
            ("url", ChannelKind::Webhook, self.url.is_some()),
            ("url_variable", ChannelKind::Webhook, self.url_variable.is_some()),
            ("url_command", ChannelKind::Webhook, self.url_command.is_some()),
            ("secret_variable", ChannelKind::Webhook, self.secret_variable.is_some()),
            ("secret_command", ChannelKind::Webhook, self.secret_command.is_some()),
            ("token_variable", ChannelKind::Webhook, self.token_variable.is_some()),
            ("token_command", ChannelKind::Webhook, self.token_command.is_some()),
            ("to", ChannelKind::Email, self.to.is_some()),
            ("from", ChannelKind::Email, self.from.is_some()),
            ("sendmail", ChannelKind::Email, self.sendmail.is_some()),
        ];
        let misplaced = given.iter().find(|(_, owner, is_given)| *is_given && *owner != self.kind);
        misplaced
            .map_or(Ok(()), |(field, _, _)| Err(TargetError::Misplaced { field, kind: self.kind.name() }))
    }

    fn missing(&self, needed: &'static str) -> TargetError {
        TargetError::Missing { kind: self.kind.name(), needed }
    }

    fn into_command(self) -> Result<ChannelConfig, TargetError> {
        let missing = self.missing("`command`, such as [\"my-script\", \"--loud\"]");
        let command = self.command.ok_or(missing)?;
        check_command("command", &command)?;
        Ok(ChannelConfig::Command { command })
    }

    fn into_webhook(self) -> Result<ChannelConfig, TargetError> {
        let missing = self.missing("`url`, `url_variable` or `url_command`");
        let variable = |field, name: Option<String>, example| match name {
            Some(name) if !is_variable(&name) => Err(TargetError::Variable { field, example }),
            name => Ok(name.map(ValueSource::Variable)),
        };
        let command = |field, command: Option<Vec<String>>| {
            command
                .map(|command| check_command(field, &command).map(|()| ValueSource::Command(command)))
                .transpose()
        };
        let url = only_one(
            "`url`, `url_variable` and `url_command`",
            [
                self.url.map(ValueSource::Literal),
                variable("url_variable", self.url_variable, "SLACK_URL")?,
                command("url_command", self.url_command)?,
            ],
        )?;
        let secret = only_one(
            "`secret_variable` and `secret_command`",
            [
                variable("secret_variable", self.secret_variable, "HOOK_SECRET")?,
                command("secret_command", self.secret_command)?,
            ],
        )?;
        let token = only_one(
            "`token_variable` and `token_command`",
            [
                variable("token_variable", self.token_variable, "NTFY_TOKEN")?,
                command("token_command", self.token_command)?,
            ],
        )?;
        let url = url.ok_or(missing)?;
        Ok(ChannelConfig::Webhook { shape: self.shape.unwrap_or_default(), url, secret, token })
    }

    fn into_email(self) -> Result<ChannelConfig, TargetError> {
        let missing = self.missing("`to`, such as [\"ann@example.com\"]");
        let to = self.to.filter(|to| !to.is_empty()).ok_or(missing)?;
        let written = to.iter().map(|address| ("to", address));
        for (field, address) in written.chain(self.from.iter().map(|address| ("from", address))) {
            if !is_address(address) {
                let address = address.escape_default().to_string();
                return Err(TargetError::Address { field, address });
            }
        }
        if self.sendmail.as_ref().is_some_and(|path| !path.starts_with('/')) {
            return Err(TargetError::Path("sendmail"));
        }
        Ok(ChannelConfig::Email { to, from: self.from, sendmail: self.sendmail })
    }
}

fn only_one<const COUNT: usize>(
    fields: &'static str,
    sources: [Option<ValueSource>; COUNT],
) -> Result<Option<ValueSource>, TargetError> {
    let mut given = sources.into_iter().flatten();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(TargetError::Several(fields)),
        (source, None) => Ok(source),
    }
}

fn check_command(field: &'static str, command: &[String]) -> Result<(), TargetError> {
    let is_named = command.first().is_some_and(|program| !program.trim().is_empty());
    if is_named { Ok(()) } else { Err(TargetError::Command(field)) }
}

/// A plain address: nothing in it can be read as another header, a second address or a comment.
fn is_address(address: &str) -> bool {
    let is_plain = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+-/=?^_`{|}~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_plain)
    };
    // sendmail would read a leading dash as an option.
    let parts = address.split_once('@').filter(|_| !address.starts_with('-') && address.len() <= 254);
    parts.is_some_and(|(name, host)| is_plain(name) && is_plain(host))
}

fn threshold<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<NonZeroU32, D::Error> {
    Ok(super::at_least_one(deserializer)?.unwrap_or(DEFAULT_DENIED_THRESHOLD))
}

fn targets<'de, D>(deserializer: D) -> Result<BTreeMap<String, NotifyTargetConfig>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    use serde::de::Error as _;
    let targets = BTreeMap::<String, NotifyTargetConfig>::deserialize(deserializer)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if let Some(name) = targets.keys().find(|name| name.is_empty() || !name.bytes().all(is_plain)) {
        let name = name.escape_default();
        let message = format!("the name '{name}' may have only letters, digits, '-', '_' and '.'");
        return Err(D::Error::custom(message));
    }
    match targets.len() > MAX_TARGETS {
        true => Err(D::Error::custom(format!("there are more than {MAX_TARGETS} targets"))),
        false => Ok(targets),
    }
}
