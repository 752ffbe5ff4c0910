//! The bodies that services expect.

use autonoe_core::notification::{NotificationLevel, UserNotification};
use serde_json::{Value, json};

use crate::text::plain;
use crate::webhook_address::WebhookAddress;

/// Characters of a message that Discord accepts, and fewer than ntfy shows before it makes an attachment of it.
const MAX_DISCORD: usize = 2000;
const MAX_NTFY: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageShape {
    /// The notification as it is.
    Json,
    Slack,
    Discord,
    Ntfy {
        topic: String,
    },
}

impl MessageShape {
    pub fn body(&self, notification: &UserNotification) -> Value {
        let UserNotification { title, text, .. } = notification;
        match self {
            Self::Json => json!(notification),
            Self::Slack => json!({ "text": format!("*{}*\n{}", slack_text(title), slack_text(text)) }),
            Self::Discord => json!({
                "content": plain(&format!("**{title}**\n{text}"), MAX_DISCORD),
                // An agent's words must not call anyone.
                "allowed_mentions": { "parse": [] },
            }),
            Self::Ntfy { topic } => json!({
                "topic": topic,
                "title": title,
                "message": plain(text, MAX_NTFY),
                "priority": ntfy_priority(notification.level),
                "tags": [notification.event.name()],
            }),
        }
    }
}

/// Slack reads `<!channel>` and the like as commands.
fn slack_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// From 1 to 5; 3 is the default.
fn ntfy_priority(level: NotificationLevel) -> u8 {
    match level {
        NotificationLevel::Info | NotificationLevel::Success => 3,
        NotificationLevel::Warning | NotificationLevel::Error => 4,
        NotificationLevel::Critical => 5,
    }
}

/// ntfy takes JSON at its root only, so the topic of `https://HOST/TOPIC` moves into the message.
pub fn ntfy(mut address: WebhookAddress) -> Result<(WebhookAddress, MessageShape), &'static str> {
    let topic = address.url.path().trim_matches('/').to_owned();
    if topic.is_empty() || topic.contains('/') {
        return Err("the address of an ntfy topic is https://HOST/TOPIC");
    }
    address.url.set_path("/");
    Ok((address, MessageShape::Ntfy { topic }))
}

#[cfg(test)]
mod tests {
    use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
    use serde_json::json;

    use super::{MAX_DISCORD, MessageShape, ntfy};
    use crate::webhook_address::WebhookAddress;

    fn notification() -> UserNotification {
        UserNotification {
            id: "f00d".to_owned(),
            event: NotificationEvent::Blocked,
            level: NotificationLevel::Warning,
            title: "shop: A is blocked".to_owned(),
            text: "no key & <!channel> @everyone".to_owned(),
            project: "shop".to_owned(),
            project_path: "/home/ann/shop".to_owned(),
            run: Some(7),
            at: "2026-11-16T02:00:00Z".parse().expect("time"),
        }
    }

    #[test]
    fn every_service_gets_the_body_that_it_expects() {
        let topic = "autonoe-ann".to_owned();
        for (shape, body) in [
            (
                MessageShape::Json,
                json!({ "id": "f00d", "event": "blocked", "level": "warning", "title": "shop: A is blocked",
                        "text": "no key & <!channel> @everyone", "project": "shop", "project_path": "/home/ann/shop",
                        "run": 7, "at": "2026-11-16T02:00:00Z" }),
            ),
            (
                MessageShape::Slack,
                json!({ "text": "*shop: A is blocked*\nno key &amp; &lt;!channel&gt; @everyone" }),
            ),
            (
                MessageShape::Discord,
                json!({ "content": "**shop: A is blocked**\nno key & <!channel> @everyone",
                        "allowed_mentions": { "parse": [] } }),
            ),
            (
                MessageShape::Ntfy { topic: topic.clone() },
                json!({ "topic": topic, "title": "shop: A is blocked", "message": "no key & <!channel> @everyone",
                        "priority": 4, "tags": ["blocked"] }),
            ),
        ] {
            assert_eq!(shape.body(&notification()), body);
        }
    }

    #[test]
    fn a_long_text_is_cut_where_a_service_would_refuse_it() {
        let long = UserNotification { text: "x".repeat(9999), ..notification() };
        let body = MessageShape::Discord.body(&long);
        assert_eq!(body["content"].as_str().expect("text").chars().count(), MAX_DISCORD);
    }

    #[test]
    fn the_topic_of_ntfy_is_the_path() {
        let address = |url: &str| WebhookAddress::parse(url).expect("an address");
        let (base, shape) = ntfy(address("https://ntfy.example.com:8443/ann?x=1")).expect("a topic");
        assert_eq!(base.url.as_str(), "https://ntfy.example.com:8443/?x=1");
        assert_eq!(shape, MessageShape::Ntfy { topic: "ann".to_owned() });
        for url in ["https://ntfy.example.com", "https://ntfy.example.com/a/b"] {
            assert!(ntfy(address(url)).is_err(), "{url}");
        }
    }
}
