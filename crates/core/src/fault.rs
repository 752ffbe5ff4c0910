//! Fault: the one error type that crosses crate boundaries.
//!
//! It carries the layer that failed, a stable code for programs, a message and a hint for people, and whether
//! a retry can help. What to do about it is decided elsewhere.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultLayer {
    /// The user's input: wrong usage, wrong configuration, missing credentials.
    Config,
    /// The project's state: `status.json`, the journal, the lock.
    Store,
    Model,
    Agent,
    /// A plan that cannot work with what it found.
    Plan,
    /// The machine: disk, processes, pipes.
    System,
    /// Lifecycle of a declarative agent: created, started, stopped.
    Lifecycle,
    /// Loop of a declarative agent: its steps, retries and limits.
    Loop,
    /// Completion condition of a declarative agent.
    Completion,
    Prompt,
}

impl FaultLayer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Store => "store",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Plan => "plan",
            Self::System => "system",
            Self::Lifecycle => "lifecycle",
            Self::Loop => "loop",
            Self::Completion => "completion",
            Self::Prompt => "prompt",
        }
    }
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A new session may succeed; counts toward the limit of consecutive errors.
    Retry,
    /// The service is unavailable and may come back; waiting has its own limit.
    Wait,
    /// A person must act first.
    Person,
}

/// One failure, fit for a person to read and for a program to act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Fault {
    pub layer: FaultLayer,
    /// Stable, machine-readable code in `snake_case`.
    pub code: String,
    /// One sentence: what happened and why.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub remedy: Remedy,
    /// Wait requested by the other side before the next attempt.
    #[serde(
        rename = "retry_after_seconds",
        with = "crate::duration::seconds_option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
}

impl Fault {
    /// Another try may succeed.
    pub fn transient(layer: FaultLayer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Retry)
    }

    /// The service is unavailable: connection refused, overloaded, rate limited, unknown host.
    pub fn outage(layer: FaultLayer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Wait)
    }

    /// Only a person can fix it.
    pub fn permanent(layer: FaultLayer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Person)
    }

    fn new(layer: FaultLayer, code: &str, message: impl Into<String>, remedy: Remedy) -> Self {
        Self { layer, code: code.to_owned(), message: message.into(), hint: None, remedy, retry_after: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    pub fn recoverable(&self) -> bool {
        match self.remedy {
            Remedy::Retry | Remedy::Wait => true,
            Remedy::Person => false,
        }
    }

    /// True if the service is unavailable.
    pub fn is_outage(&self) -> bool {
        self.remedy == Remedy::Wait
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
