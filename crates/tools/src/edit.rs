//! The Edit tool: replaces an exact string in a text file.

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
use crate::replace::{Replacement, count_with_lines, replace};
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

#[derive(Debug)]
pub struct EditTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct EditArgs {
    /// The file to change. A relative path starts at the workspace root.
    file_path: String,
    /// The text to replace, exactly as it is in the file, without line numbers. It must occur only
    /// once unless replace_all is true: include enough surrounding lines to make it unique.
    old_string: String,
    /// The replacement text.
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl EditTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for EditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Edit".to_owned(),
            description: "Replaces a string in a text file, found by exact match including \
                          indentation. Fails if the string is not found, if it is found more than \
                          once without replace_all, or if the file has changed since you read it."
                .to_owned(),
            input_schema: args::schema::<EditArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, args::parse("Edit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: EditArgs) -> Result<ToolOutput, ToolFailure> {
    let EditArgs { file_path, old_string, new_string, replace_all } = args;
    let replacement = Replacement { old_string, new_string, replace_all };
    let (shown, lines) = change(workspace, &file_path, |text| {
        replace(text, &replacement).map(|edited| TextChange { text: edited.text, summary: edited.lines })
    })?;
    Ok(ToolOutput::ok(format!("Edited {shown}: {}.", count_with_lines("replaced", &lines)))
        .titled(format!("Edited {shown}"))
        .with("path", shown)
        .with("replacements", lines.len()))
}
