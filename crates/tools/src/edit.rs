//! Edit: replaces an exact piece of a text file.

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

/// The tool `Edit`.
#[derive(Debug)]
pub struct Edit {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The file to change. A relative path starts at the workspace root.
    file_path: String,
    /// The text to replace, exactly as in the file, without line numbers. It must occur only once
    /// unless replace_all is true: include as many lines around it as that takes.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Edit".to_owned(),
            description: "Replaces a piece of a text file, found by exact match including \
                          indentation. Fails if the piece is not found, is found more than once \
                          without replace_all, or if the file has changed since you read it."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, args::parse("Edit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: Args) -> Result<ToolOutput, Failure> {
    let Args { file_path, old_string, new_string, replace_all } = args;
    let piece = Piece { old_string, new_string, replace_all };
    let (shown, lines) = change(workspace, &file_path, |text| {
        replace(text, &piece).map(|edited| Change { text: edited.text, about: edited.lines })
    })?;
    Ok(ToolOutput::ok(format!("Edited {shown}: {}.", places("replaced", &lines)))
        .titled(format!("Edited {shown}"))
        .with("path", shown)
        .with("replacements", lines.len()))
}
