//! The MultiEdit tool: makes several exact replacements in one text file in order, all of them or none.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::args;
use crate::change::{TextChange, change};
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::ToolOutput;
use crate::replace::{ReplaceError, Replacement, count_with_lines, replace};
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

#[derive(Debug)]
pub struct MultiEditTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct MultiEditArgs {
    /// The file to change. A relative path starts at the workspace root.
    file_path: String,
    /// The edits, in order; each one applies to the result of the previous one.
    edits: Vec<Replacement>,
}

impl MultiEditTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for MultiEditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "MultiEdit".to_owned(),
            description: "Makes several edits in one text file, each as with Edit. If one of them \
                          fails, none is made and the file stays unchanged."
                .to_owned(),
            input_schema: args::schema::<MultiEditArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, &args::parse("MultiEdit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: &MultiEditArgs) -> Result<ToolOutput, ToolFailure> {
    if args.edits.is_empty() {
        return Err(ToolFailure::invalid("`edits` is empty: there is nothing to do."));
    }
    let (shown, done) = change(workspace, &args.file_path, |text| all(text, &args.edits))?;
    let count = done.len();
    let edits = if count == 1 { "1 edit" } else { &format!("{count} edits") };
    Ok(ToolOutput::ok(format!("Edited {shown} with {edits}:\n{}", done.join("\n")))
        .titled(format!("Edited {shown} with {edits}"))
        .with("path", shown)
        .with("edits", count))
}

#[derive(Debug, thiserror::Error)]
#[error("edit {number} of {count} failed, so none was made: {why}")]
struct MultiEditError {
    number: usize,
    count: usize,
    why: ReplaceError,
}

fn all(text: &str, edits: &[Replacement]) -> Result<TextChange<Vec<String>>, MultiEditError> {
    let mut text = text.to_owned();
    let mut done = Vec::new();
    for (number, replacement) in (1..).zip(edits) {
        let edited =
            replace(&text, replacement).map_err(|why| MultiEditError { number, count: edits.len(), why })?;
        text = edited.text;
        done.push(format!("{number}. {}", count_with_lines("replaced", &edited.lines)));
    }
    Ok(TextChange { text, summary: done })
}
