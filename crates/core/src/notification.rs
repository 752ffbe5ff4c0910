//! Notifications: what the user is informed about while nobody watches a run.
//!
//! Only the vocabulary is here. Where notifications are sent is the user's configuration, and how is left to `notify`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationEvent {
    /// The run ended, and its work is done.
    Done,
    /// A deliverable is blocked, or the run ended because all are.
    Blocked,
    /// The run ended, and a person must look: no progress, or passed without what the user asked for.
    Stuck,
    /// The run ended with an error.
    Failed,
    /// The run ended at a limit of the user: sessions, money or time.
    Limit,
    /// Gates denied many tool calls of a run.
    DeniedOften,
    /// Most of the budget is spent.
    Budget,
    /// The vendor's quota is used up: the run waits, or it ended.
    Quota,
    /// The model service is unavailable: the run waits, or it ended.
    Outage,
    /// An alert of a harness that no other event has.
    Alert,
    /// A harness gets ahead: a task is completed, another model takes over, a number of sessions has begun.
    Progress,
    /// Sent by hand. No target can ask for it.
    #[serde(skip_deserializing)]
    Test,
}

impl NotificationEvent {
    /// Those that a target can ask for.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Blocked,
        Self::Stuck,
        Self::Failed,
        Self::Limit,
        Self::DeniedOften,
        Self::Budget,
        Self::Quota,
        Self::Outage,
        Self::Alert,
        Self::Progress,
    ];

    /// Those that a target gets which asks for none: without the ones that nobody has to know.
    pub fn usual() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|event| *event != Self::Progress)
    }

    /// As in JSON and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Stuck => "stuck",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::DeniedOften => "denied_often",
            Self::Budget => "budget",
            Self::Quota => "quota",
            Self::Outage => "outage",
            Self::Alert => "alert",
            Self::Progress => "progress",
            Self::Test => "test",
        }
    }
}

/// How urgent a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationLevel {
    Info,
    Success,
    Warning,
    Error,
    /// Somebody has to act before anything continues.
    Critical,
}

impl NotificationLevel {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}

/// One notification. Its JSON is what commands and webhooks get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserNotification {
    /// The same for every target and every attempt, so that a receiver can drop what it got already.
    pub id: String,
    pub event: NotificationEvent,
    pub level: NotificationLevel,
    /// One line.
    pub title: String,
    pub text: String,
    /// Name of the project's directory.
    pub project: String,
    pub project_path: String,
    /// The run's id in the journal; `None` if it was sent by hand.
    pub run: Option<i64>,
    /// When it happened.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::{NotificationEvent, NotificationLevel};

    #[test]
    fn names_are_those_in_json() {
        for event in NotificationEvent::ALL {
            assert_eq!(serde_json::to_value(event).expect("json"), event.name());
            assert_eq!(
                serde_json::from_value::<NotificationEvent>(event.name().into()).expect("read"),
                event
            );
        }
        serde_json::from_value::<NotificationEvent>("test".into()).expect_err("only sent by hand");
        for level in [
            NotificationLevel::Info,
            NotificationLevel::Success,
            NotificationLevel::Warning,
            NotificationLevel::Error,
            NotificationLevel::Critical,
        ] {
            assert_eq!(serde_json::to_value(level).expect("json"), level.name());
        }
    }
}
