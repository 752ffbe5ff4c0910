//! What a tool is: the contract between the native agent's loop and everything it can call.

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name it is called by.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether a call changes nothing, so that several may run at the same time.
    pub read_only: bool,
}

/// What a call gave back to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolOutput {
    /// A call that did what was asked.
    pub fn ok(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false }
    }

    /// A call that failed: what happened, why, and what to do instead.
    pub fn error(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true }
    }
}

/// What surrounds a call.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ToolContext {
    /// Cancelled when the call's result is no longer wanted.
    pub cancel: CancellationToken,
}

impl ToolContext {
    /// A context whose call ends early when `cancel` is cancelled.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { cancel }
    }
}

/// Something a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told about it.
    fn spec(&self) -> ToolSpec;

    /// Carries out a call. Failure is an output too.
    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput;
}

/// Runs file work where it may block. The error, like a panic, becomes the output.
pub(crate) async fn blocking(work: impl FnOnce() -> Result<String, String> + Send + 'static) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(content)) => ToolOutput::ok(content),
        Ok(Err(message)) => ToolOutput::error(message),
        Err(_) => {
            ToolOutput::error("The tool failed unexpectedly; this is a fault of ours. Try another way.")
        }
    }
}

/// What a call says that was cancelled before it could finish.
pub(crate) const CANCELLED: &str = "Cancelled before it finished.";
