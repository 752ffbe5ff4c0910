//! HostEffects: what a declarative agent asks of the machine beside its sessions. Who runs it gives it the means.

use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::fault::Fault;
use serde_json::Value;

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit code; none if it was ended, or could not be run.
    pub exit: Option<i32>,
    /// What it printed, its middle left out if it was long.
    pub output: String,
    /// What came of it, in a sentence.
    pub sentence: String,
}

impl CommandEnd {
    /// Whether it ran to its end and was content.
    pub fn is_success(&self) -> bool {
        self.exit == Some(0)
    }
}

/// What a service outside is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// Its address.
    pub url: String,
    /// The message, which is sent as JSON.
    pub body: Value,
}

/// The means.
#[async_trait]
pub trait HostEffects: Send + Sync {
    /// Runs a command with a shell in the sandbox, in the project's directory. What cannot be run is told in the end.
    async fn command(&self, command: &str, time_limit: Duration) -> CommandEnd;

    /// Runs a program of the agent's directory in the sandbox with this on its standard input. Only what it writes to standard
    /// output is the output.
    async fn program(&self, program: &str, input: &Value, time_limit: Duration) -> CommandEnd;

    /// What a file of the project holds; none if there is no such file.
    async fn file(&self, path: &str) -> Result<Option<String>, Fault>;

    /// The state of an issue, such as OPEN or CLOSED, or why it cannot be told.
    async fn issue(&self, issue: &str, repository: &str) -> Result<String, String>;

    /// Tells a service outside.
    async fn notify(&self, notice: &Notice) -> Result<(), Fault>;
}
