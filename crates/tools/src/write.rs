//! The Write tool: creates a file or replaces its whole content.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::args;
use crate::change::{self, has_changed};
use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::ToolOutput;
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Fingerprint;
use crate::workspace::Workspace;

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Debug)]
pub struct WriteTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct WriteArgs {
    /// The file to write. A relative path starts at the workspace root.
    file_path: String,
    /// The complete new content of the file.
    content: String,
}

impl WriteTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for WriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Write".to_owned(),
            description: "Writes a file: creates it, with the directories it needs, or replaces \
                          its whole content. Fails if the file has changed since you read it. Line endings and a \
                          byte order mark of the old file are kept. To change part of a file, use Edit."
                .to_owned(),
            input_schema: args::schema::<WriteArgs>(),
            read_only: false,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let workspace = Arc::clone(&self.workspace);
        blocking(move || write(&workspace, args::parse("Write", args)?)).await
    }
}

fn write(workspace: &Workspace, args: WriteArgs) -> Result<ToolOutput, ToolFailure> {
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let mut known = workspace.known_files();
    let (entry, old) = workspace.opener().open_or_create(&path, &shown)?;
    let verb = if old.is_some() { "Overwrote" } else { "Created" };
    let failed = |error| ToolFailure::io(&shown, &error);
    // A file that is too large to edit is not compared either.
    let before = old.as_ref().map(|old| change::read(&old.file)).transpose().map_err(failed)?.flatten();
    if before.as_ref().is_some_and(|before| known.has_changed(&entry.real(), Fingerprint::of(before))) {
        return Err(has_changed(&shown, "overwrite"));
    }
    let content = before.map_or_else(|| args.content.clone(), |before| keep_format(&before, &args.content));
    entry.replace(content.as_bytes(), old.map(|old| old.metadata).as_ref()).map_err(failed)?;
    known.record(entry.real(), Fingerprint::of(content.as_bytes()));
    let lines = match args.content.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    Ok(ToolOutput::ok(format!("{verb} {shown} ({lines})."))
        .titled(format!("{verb} {shown}"))
        .with("path", shown)
        .with("bytes", content.len()))
}

/// The content with the line endings and the byte order mark of the old file: a model writes LF and no byte order mark,
/// whatever the file has.
fn keep_format(before: &[u8], content: &str) -> String {
    let lines = before.iter().filter(|&&byte| byte == b'\n').count();
    let crlf = before.windows(2).filter(|pair| pair == b"\r\n").count();
    let mut content = content.to_owned();
    if lines > 0 && crlf == lines && !content.contains('\r') {
        content = content.replace('\n', "\r\n");
    }
    if before.starts_with(BYTE_ORDER_MARK.as_bytes()) && !content.starts_with(BYTE_ORDER_MARK) {
        content.insert_str(0, BYTE_ORDER_MARK);
    }
    content
}
