//! NotebookEdit: replaces, inserts or deletes one cell of a Jupyter notebook.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::{Change, change};
use crate::failure::Failure;
use crate::notebook::{self, CellChange, Notebook};
use crate::tool::blocking;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// The tool `NotebookEdit`.
#[derive(Debug)]
pub struct NotebookEdit {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The notebook, an .ipynb file. A relative path starts at the workspace root.
    notebook_path: String,
    /// The id of the cell, as Read shows it. With insert, the new cell comes after it, or first if there is none.
    cell_id: Option<String>,
    /// The new text of the cell. Not needed with delete.
    #[serde(default)]
    new_source: String,
    /// What the cell is. Needed with insert; otherwise it stays what it is.
    cell_type: Option<CellType>,
    /// What to do with the cell; by default replace.
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

impl NotebookEdit {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for NotebookEdit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "NotebookEdit".to_owned(),
            description: "Replaces, inserts or deletes a cell of a Jupyter notebook. Read the notebook first: it shows \
                          the ids of the cells. Fails if the notebook has changed since."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || edit(&workspace, &args::parse("NotebookEdit", args)?)).await
    }
}

fn edit(workspace: &Workspace, args: &Args) -> Result<ToolOutput, Failure> {
    if !notebook::is_one(&args.notebook_path) {
        return Err(Failure::invalid("`notebook_path` must end in .ipynb. Change other files with Edit."));
    }
    let (source, kind) = (args.new_source.as_str(), args.cell_type.map(CellType::name));
    let cell = match (args.edit_mode, kind) {
        (EditMode::Replace, kind) => CellChange::Replace { source, kind },
        (EditMode::Delete, _) => CellChange::Delete,
        (EditMode::Insert, Some(kind)) => CellChange::Insert { source, kind },
        (EditMode::Insert, None) => {
            return Err(Failure::invalid("`cell_type` (code or markdown) is needed to insert a cell."));
        }
    };
    let (shown, done) = change(workspace, &args.notebook_path, |text| {
        let mut notebook = Notebook::parse(text)?;
        let about = notebook.change(args.cell_id.as_deref(), cell)?;
        Ok(Change { text: notebook.write(), about })
    })?;
    Ok(ToolOutput::ok(format!("Edited {shown}: {done}."))
        .titled(format!("Edited {shown}"))
        .with("path", shown))
}
