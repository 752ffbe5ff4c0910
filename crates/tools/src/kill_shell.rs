//! KillShell: ends a background command.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::jobs::State;
use crate::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, Workspace, args};

/// The tool `KillShell`.
#[derive(Debug)]
pub struct KillShell {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The id that Bash gave for the command.
    shell_id: String,
}

impl KillShell {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for KillShell {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "KillShell".to_owned(),
            description: "Ends a background command of Bash, with all that it has started.".to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        kill(&self.workspace, args).await.unwrap_or_else(ToolOutput::from)
    }
}

async fn kill(workspace: &Workspace, args: Value) -> Result<ToolOutput, Failure> {
    let Args { shell_id } = args::parse("KillShell", args)?;
    let job = workspace.jobs().find(&shell_id)?;
    let before = job.state();
    let said = match (before, job.kill().await) {
        (State::Running, State::Lost(why)) => {
            return Err(Failure::new(
                ToolErrorCode::IoError,
                format!("{shell_id} could not be ended: {why}."),
            ));
        }
        (State::Running, _) => format!("Ended {shell_id} and all it started."),
        (_, state) => format!("{shell_id} was no longer running: {}.", state.told()),
    };
    Ok(ToolOutput::ok(said).titled(format!("Ended {shell_id}")))
}
