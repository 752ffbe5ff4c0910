//! MultiEdit: several exact edits of one text file, one after the other, all of them or none.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::change::{Change, change};
use crate::failure::Failure;
use crate::replace::{Piece, places, replace};
use crate::tool::blocking;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// The tool `MultiEdit`.
#[derive(Debug)]
pub struct MultiEdit {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The file to change. A relative path starts at the workspace root.
    file_path: String,
    /// The edits, in the order in which they are made; each works on what the one before it left.
    edits: Vec<Piece>,
}

impl MultiEdit {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for MultiEdit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "MultiEdit".to_owned(),
            description: "Makes several edits of one text file, each as with Edit. If one of them \
                          fails, none is made and the file stays as it is."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, &args::parse("MultiEdit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: &Args) -> Result<ToolOutput, Failure> {
    if args.edits.is_empty() {
        return Err(Failure::invalid("`edits` is empty: there is nothing to do."));
    }
    let (shown, done) = change(workspace, &args.file_path, |text| all(text, &args.edits))?;
    let count = done.len();
    let edits = if count == 1 { "1 edit" } else { &format!("{count} edits") };
    Ok(ToolOutput::ok(format!("Edited {shown} with {edits}:\n{}", done.join("\n")))
        .titled(format!("Edited {shown} with {edits}"))
        .with("path", shown)
        .with("edits", count))
}

fn all(text: &str, edits: &[Piece]) -> Result<Change<Vec<String>>, String> {
    let mut text = text.to_owned();
    let mut done = Vec::new();
    for (number, piece) in (1..).zip(edits) {
        let edited = replace(&text, piece)
            .map_err(|why| format!("edit {number} of {} failed, so none was made: {why}", edits.len()))?;
        text = edited.text;
        done.push(format!("{number}. {}", places("replaced", &edited.lines)));
    }
    Ok(Change { text, about: done })
}
