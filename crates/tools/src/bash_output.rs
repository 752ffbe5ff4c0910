//! The BashOutput tool: shows the state of a background command and its new output.

use std::sync::Arc;

use async_trait::async_trait;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::args;
use crate::cap::{CappedText, HeadTail};
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::jobs::JobState;
use crate::output::ToolOutput;
use crate::outputs::MAX_OUTPUT_CHARS;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

#[derive(Debug)]
pub struct BashOutputTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct BashOutputArgs {
    /// The id of the command, as returned by Bash.
    bash_id: String,
    /// A regular expression in Rust's syntax: only matching lines are shown. The other lines are discarded.
    filter: Option<String>,
}

impl BashOutputTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for BashOutputTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "BashOutput".to_owned(),
            description: "Shows the status of a background command of Bash and its output since \
                          your last call."
                .to_owned(),
            input_schema: args::schema::<BashOutputArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        show_output(&self.workspace, args).unwrap_or_else(ToolOutput::from)
    }
}

fn show_output(workspace: &Workspace, args: Value) -> Result<ToolOutput, ToolFailure> {
    let args: BashOutputArgs = args::parse("BashOutput", args)?;
    let filter = args.filter.as_deref().map(Regex::new).transpose().map_err(|error| {
        ToolFailure::invalid(format!("`filter` is not a valid regular expression: {error}"))
    })?;
    let job = workspace.jobs().find(&args.bash_id)?;
    // The state is read before the output: a command that was still running then may write more, which the next call shows.
    let state = job.state();
    let (new, saved) = {
        let mut log = job.log();
        (log.take_new(state != JobState::Running), log.saved.clone())
    };
    // The rest of a line whose start is lost is useless.
    let partial = if new.missed > 0 { new.text.find('\n').map_or(0, |end| end + 1) } else { 0 };
    let text = match &filter {
        Some(filter) => {
            new.text[partial..].lines().filter(|line| filter.is_match(line)).collect::<Vec<_>>().join("\n")
        }
        None => new.text[partial..].to_owned(),
    };
    let location = saved.map_or_else(String::new, |path| format!(", saved at {}", path.display()));
    let mut shown = format!("Status: {}.\n", state.describe());
    if new.missed > 0 {
        shown.push_str(&format!("… {} bytes before this{location} …\n", new.missed));
    }
    shown.push_str(&match cut(&text) {
        CappedText::Whole(text) if text.trim().is_empty() => "(no new output)".to_owned(),
        CappedText::Whole(text) => text.trim_end_matches('\n').to_owned(),
        CappedText::Cut { head, tail, lines: 0, chars } => {
            format!("{head}\n… {chars} more characters{location} …\n{}", tail.trim_end())
        }
        CappedText::Cut { head, tail, lines, .. } => {
            format!("{head}\n… {lines} more lines{location} …\n{}", tail.trim_end())
        }
    });
    let code = match state {
        JobState::Exited(code) => Some(code),
        JobState::Running | JobState::Killed | JobState::Lost(_) => None,
    };
    Ok(ToolOutput::ok(shown)
        .titled(format!("{}: {}", args.bash_id, job.command))
        .with("running", state == JobState::Running)
        .with("exit_code", code))
}

fn cut(text: &str) -> CappedText {
    let mut kept = HeadTail::new(MAX_OUTPUT_CHARS);
    kept.push(text.as_bytes());
    kept.finish()
}
