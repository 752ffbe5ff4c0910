//! The NotebookEdit tool: replaces, inserts or deletes one cell of a Jupyter notebook.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args;
use crate::change::{TextChange, change};
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::notebook::{self, CellChange, Notebook, NotebookError};
use crate::output::ToolOutput;
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;

#[derive(Debug)]
pub struct NotebookEditTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NotebookEditArgs {
    /// The notebook, an .ipynb file. A relative path starts at the workspace root.
    notebook_path: String,
    /// The id of the cell, as shown by Read. With insert, the new cell comes after this one, or first without an id.
    cell_id: Option<String>,
    /// The new text of the cell. Not needed with delete.
    #[serde(default)]
    new_source: String,
    /// The type of the cell. Required with insert; with replace, the type stays the same if this is omitted.
    cell_type: Option<CellType>,
    /// What to do with the cell; the default is replace.
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CellType {
    Code,
    Markdown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

impl NotebookEditTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for NotebookEditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "NotebookEdit".to_owned(),
            description: "Replaces, inserts or deletes a cell of a Jupyter notebook. Read the notebook first to see the \
                          ids of its cells. Fails if the notebook has changed since you read it."
                .to_owned(),
            input_schema: args::schema::<NotebookEditArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, &args::parse("NotebookEdit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: &NotebookEditArgs) -> Result<ToolOutput, ToolFailure> {
    if !notebook::is_notebook(&args.notebook_path) {
        return Err(ToolFailure::invalid(
            "`notebook_path` must end in .ipynb. Change other files with Edit.",
        ));
    }
    let (source, kind) = (args.new_source.as_str(), args.cell_type.map(CellType::name));
    let cell = match (args.edit_mode, kind) {
        (EditMode::Replace, kind) => CellChange::Replace { source, kind },
        (EditMode::Delete, _) => CellChange::Delete,
        (EditMode::Insert, Some(kind)) => CellChange::Insert { source, kind },
        (EditMode::Insert, None) => {
            return Err(ToolFailure::invalid("`cell_type` (code or markdown) is required to insert a cell."));
        }
    };
    let (shown, done) = change(workspace, &args.notebook_path, |text| {
        let mut notebook = Notebook::parse(text)?;
        let summary = notebook.change(args.cell_id.as_deref(), cell)?;
        Ok::<_, NotebookError>(TextChange { text: notebook.write(), summary })
    })?;
    Ok(ToolOutput::ok(format!("Edited {shown}: {done}."))
        .titled(format!("Edited {shown}"))
        .with("path", shown))
}
