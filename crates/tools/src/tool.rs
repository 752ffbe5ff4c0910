//! The contract between the native agent's loop and the tools it can call.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::Value;

use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::{ToolErrorCode, ToolOutput};
use crate::outputs::Outputs;

/// The maximum number of characters of a result that the model gets, for every tool. The built-in tools have lower limits.
pub const MAX_RESULT_CHARS: usize = 80_000;

/// The description of a tool for the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether calls change nothing, so that several may run at the same time.
    pub read_only: bool,
}

#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// Executes a call. A failure is an output too.
    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput;
}

/// Calls a tool safely: a panic becomes an output, and an output that is too long is saved and truncated.
pub async fn call(tool: &dyn Tool, args: Value, cx: &ToolContext, outputs: &Outputs) -> ToolOutput {
    let result = AssertUnwindSafe(tool.call(args, cx)).catch_unwind().await;
    let output = result.unwrap_or_else(|_| panicked());
    outputs.capped(output, MAX_RESULT_CHARS).await
}

/// Runs blocking work on a blocking thread. A failure or a panic becomes the output.
pub(crate) async fn blocking(
    work: impl FnOnce() -> Result<ToolOutput, ToolFailure> + Send + 'static,
) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.unwrap_or_else(ToolOutput::from),
        Err(_) => panicked(),
    }
}

fn panicked() -> ToolOutput {
    ToolOutput::error(
        ToolErrorCode::Unknown,
        "The tool failed unexpectedly. This is a bug in the tool, not in your call. Try another approach.",
    )
}
