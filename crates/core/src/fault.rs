//! Fault: the one error that crosses a boundary between crates.
//!
//! It says which layer failed, a stable code for machines, a sentence and a next step for
//! people, and whether trying again can help. What to do about it is decided elsewhere.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where a fault arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// What the user typed or wrote in a file: wrong usage, wrong configuration, missing credentials.
    Config,
    /// The project's own state: `status.json`, the journal, the lock.
    Store,
    /// A model provider.
    Model,
    /// An agent or its process.
    Agent,
    /// A plan: what it found cannot be worked with.
    Plan,
    /// The machine: disk, processes, pipes.
    System,
    /// The life of a declarative agent: created, started, stopped.
    Lifecycle,
    /// The loop of a declarative agent: its steps, retries and limits.
    Loop,
    /// The condition under which a declarative agent is done.
    Completion,
    /// A prompt of a declarative agent.
    Prompt,
}

impl Layer {
    /// Its name, as in JSON.
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

/// Whether trying the same thing again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A new session may succeed; counts toward the limit of consecutive errors.
    Retry,
    /// The service behind it is away and may come back; waiting counts toward a limit of its own.
    Wait,
    /// No retry can fix it: a person must act first.
    Person,
}

/// One failure, fit for a person to read and for a program to act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Fault {
    /// Where it arose.
    pub layer: Layer,
    /// Stable, machine-readable code in `snake_case`.
    pub code: String,
    /// One sentence: what happened and why.
    pub message: String,
    /// What to do next, if there is something to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether trying again may help.
    pub remedy: Remedy,
    /// How long the other side asked us to wait before trying again.
    #[serde(
        rename = "retry_after_seconds",
        with = "crate::duration::seconds_option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
}

impl Fault {
    /// A fault that another try may overcome.
    pub fn passing(layer: Layer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Retry)
    }

    /// A fault of a service that is away: refused, overloaded, rate limited, not to be found.
    pub fn outage(layer: Layer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Wait)
    }

    /// A fault that only a person can fix.
    pub fn lasting(layer: Layer, code: &str, message: impl Into<String>) -> Self {
        Self::new(layer, code, message, Remedy::Person)
    }

    fn new(layer: Layer, code: &str, message: impl Into<String>, remedy: Remedy) -> Self {
        Self { layer, code: code.to_owned(), message: message.into(), hint: None, remedy, retry_after: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds how long the other side asked us to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// True when another try may overcome it.
    pub fn recoverable(&self) -> bool {
        match self.remedy {
            Remedy::Retry | Remedy::Wait => true,
            Remedy::Person => false,
        }
    }

    /// True when the service behind it is away.
    pub fn is_outage(&self) -> bool {
        self.remedy == Remedy::Wait
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
