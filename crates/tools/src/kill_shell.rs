//! The KillShell tool: kills a background command.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::args;
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::jobs::JobState;
use crate::output::{ToolErrorCode, ToolOutput};
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

#[derive(Debug)]
pub struct KillShellTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct KillShellArgs {
    /// The id of the command, as returned by Bash.
    shell_id: String,
}

impl KillShellTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for KillShellTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "KillShell".to_owned(),
            description: "Kills a background command of Bash and everything it has started.".to_owned(),
            input_schema: args::schema::<KillShellArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        kill(&self.workspace, args).await.unwrap_or_else(ToolOutput::from)
    }
}

async fn kill(workspace: &Workspace, args: Value) -> Result<ToolOutput, ToolFailure> {
    let KillShellArgs { shell_id } = args::parse("KillShell", args)?;
    let job = workspace.jobs().find(&shell_id)?;
    let before = job.state();
    let text = match (before, job.kill().await) {
        (JobState::Running, JobState::Lost(why)) => {
            return Err(ToolFailure::new(
                ToolErrorCode::IoError,
                format!("{shell_id} could not be killed: {why}."),
            ));
        }
        (JobState::Running, _) => format!("Killed {shell_id} and everything it started."),
        (_, state) => format!("{shell_id} was no longer running: {}.", state.describe()),
    };
    Ok(ToolOutput::ok(text).titled(format!("Killed {shell_id}")))
}
