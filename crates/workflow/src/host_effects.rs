//! The effects of a declarative agent on its host, besides its sessions. The caller provides the implementation.

use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::fault::Fault;
use serde_json::Value;

use crate::issue_error::IssueError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommandOutcome {
    /// The exit code; `None` if the command was killed or could not be run.
    pub exit: Option<i32>,
    /// What the command printed; the middle of a long output is left out.
    pub output: String,
    /// A description of the outcome.
    pub summary: String,
}

impl HostCommandOutcome {
    pub fn is_success(&self) -> bool {
        self.exit == Some(0)
    }
}

/// A message to a webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookMessage {
    pub url: String,
    /// Sent as JSON.
    pub body: Value,
}

#[async_trait]
pub trait HostEffects: Send + Sync {
    /// Runs a shell command in the sandbox, in the project's directory. A failure to run it is part of the outcome.
    async fn command(&self, command: &str, time_limit: Duration) -> HostCommandOutcome;

    /// Runs a program of the agent's directory in the sandbox, with `input` on its standard input. The output is standard
    /// output only.
    async fn program(&self, program: &str, input: &Value, time_limit: Duration) -> HostCommandOutcome;

    /// The content of a file of the project; `None` if it does not exist.
    async fn file(&self, path: &str) -> Result<Option<String>, Fault>;

    /// The state of an issue, such as OPEN or CLOSED.
    async fn issue(&self, issue: &str, repository: &str) -> Result<String, IssueError>;

    /// Sends a message to a webhook.
    async fn notify(&self, message: &WebhookMessage) -> Result<(), Fault>;
}
