//! Write: a whole file, new or over an old one.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::tool::blocking;
use crate::workspace::Fingerprint;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// The tool `Write`.
#[derive(Debug)]
pub struct Write {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The file to write. A relative path starts at the workspace root.
    file_path: String,
    /// The whole new content of the file.
    content: String,
}

impl Write {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Write".to_owned(),
            description: "Writes a file: creates it, with the directories it needs, or replaces \
                          its whole content. To change a part of a file, use Edit."
                .to_owned(),
            input_schema: args::schema::<Args>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || write(&workspace, args::parse("Write", args)?)).await
    }
}

fn write(workspace: &Workspace, args: Args) -> Result<String, String> {
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let mut seen = workspace.seen();
    let (spot, old) = workspace.reach().place(&path, &shown)?;
    let done = if old.is_some() { "Overwrote" } else { "Created" };
    spot.put(args.content.as_bytes(), old.map(|old| old.metadata).as_ref())
        .map_err(|error| format!("{shown}: {error}."))?;
    seen.record(spot.real(), Fingerprint::of(args.content.as_bytes()));
    let lines = match args.content.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    Ok(format!("{done} {shown} ({lines})."))
}
