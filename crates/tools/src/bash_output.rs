//! BashOutput: what a background command has written since the last look.

use std::sync::Arc;

use async_trait::async_trait;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::cap::{HeadTail, Kept};
use crate::failure::Failure;
use crate::jobs::State;
use crate::{MAX_OUTPUT_CHARS, Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// The tool `BashOutput`.
#[derive(Debug)]
pub struct BashOutput {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The id that Bash gave for the command.
    bash_id: String,
    /// A regular expression, in Rust's syntax: only lines that it matches are shown. The others count as seen.
    filter: Option<String>,
}

impl BashOutput {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for BashOutput {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "BashOutput".to_owned(),
            description: "Shows how a background command of Bash is and what it has written since \
                          you last looked."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        look(&self.workspace, args).unwrap_or_else(ToolOutput::from)
    }
}

fn look(workspace: &Workspace, args: Value) -> Result<ToolOutput, Failure> {
    let args: Args = args::parse("BashOutput", args)?;
    let filter =
        args.filter.as_deref().map(Regex::new).transpose().map_err(|error| {
            Failure::invalid(format!("`filter` is not a valid regular expression: {error}"))
        })?;
    let job = workspace.jobs().find(&args.bash_id)?;
    // The state first: what is written between the two is shown, and what comes later is not missed.
    let state = job.state();
    let (news, saved) = {
        let mut log = job.log();
        (log.news(state != State::Running), log.saved.clone())
    };
    // What is left of a line whose beginning is gone says nothing.
    let torn = if news.missed > 0 { news.text.find('\n').map_or(0, |end| end + 1) } else { 0 };
    let text = match &filter {
        Some(filter) => {
            news.text[torn..].lines().filter(|line| filter.is_match(line)).collect::<Vec<_>>().join("\n")
        }
        None => news.text[torn..].to_owned(),
    };
    let place = saved.map_or_else(String::new, |path| format!(", saved at {}", path.display()));
    let mut shown = format!("Status: {}.\n", state.told());
    if news.missed > 0 {
        shown.push_str(&format!("… {} bytes before this{place} …\n", news.missed));
    }
    shown.push_str(&match cut(&text) {
        Kept::Whole(text) if text.trim().is_empty() => "(no new output)".to_owned(),
        Kept::Whole(text) => text.trim_end_matches('\n').to_owned(),
        Kept::Cut { head, tail, lines: 0, chars } => {
            format!("{head}\n… {chars} more characters{place} …\n{}", tail.trim_end())
        }
        Kept::Cut { head, tail, lines, .. } => {
            format!("{head}\n… {lines} more lines{place} …\n{}", tail.trim_end())
        }
    });
    let code = match state {
        State::Exited(code) => Some(code),
        State::Running | State::Killed | State::Lost(_) => None,
    };
    Ok(ToolOutput::ok(shown)
        .titled(format!("{}: {}", args.bash_id, job.command))
        .with("running", state == State::Running)
        .with("exit_code", code))
}

fn cut(text: &str) -> Kept {
    let mut kept = HeadTail::new(MAX_OUTPUT_CHARS);
    kept.push(text.as_bytes());
    kept.finish()
}
