//! What a tool is: the contract between the native agent's loop and everything it can call.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::Value;

use crate::failure::Failure;
use crate::outputs::Outputs;
use crate::{ToolContext, ToolErrorCode, ToolOutput};

/// How many characters of a result the model gets at most, whatever the tool. The built-in ones have their own limits,
/// which are lower.
pub const MAX_RESULT_CHARS: usize = 80_000;

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

/// Something a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told about it.
    fn spec(&self) -> ToolSpec;

    /// Carries out a call. Failure is an output too.
    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput;
}

/// Calls a tool that nobody can vouch for: a panic becomes an output, and an output that is too long is saved and cut.
pub async fn call(tool: &dyn Tool, args: Value, cx: &ToolContext, outputs: &Outputs) -> ToolOutput {
    let called = AssertUnwindSafe(tool.call(args, cx)).catch_unwind().await;
    let output = called.unwrap_or_else(|_| broken());
    outputs.capped(output, MAX_RESULT_CHARS).await
}

/// Runs file work where it may block. A failure, like a panic, becomes the output.
pub(crate) async fn blocking(
    work: impl FnOnce() -> Result<ToolOutput, Failure> + Send + 'static,
) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.unwrap_or_else(ToolOutput::from),
        Err(_) => broken(),
    }
}

fn broken() -> ToolOutput {
    ToolOutput::error(
        ToolErrorCode::Unknown,
        "The tool failed unexpectedly; this is a fault of ours. Try another way.",
    )
}
