//! Write: a whole file, new or over an old one.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::change::{self, has_changed};
use crate::failure::Failure;
use crate::tool::blocking;
use crate::workspace::Fingerprint;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

const BYTE_ORDER_MARK: &str = "\u{feff}";

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
                          its whole content. Fails if the file has changed since you read it. Line ends and a \
                          byte order mark of the old file are kept. To change a part of a file, use Edit."
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

fn write(workspace: &Workspace, args: Args) -> Result<ToolOutput, Failure> {
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let mut seen = workspace.seen();
    let (spot, old) = workspace.reach().place(&path, &shown)?;
    let done = if old.is_some() { "Overwrote" } else { "Created" };
    let failed = |error| Failure::io(&shown, &error);
    // A file too large to be edited is not compared either.
    let before = old.as_ref().map(|old| change::read(&old.file)).transpose().map_err(failed)?.flatten();
    if before.as_ref().is_some_and(|before| seen.has_changed(&spot.real(), Fingerprint::of(before))) {
        return Err(has_changed(&shown, "overwrite"));
    }
    let content = before.map_or_else(|| args.content.clone(), |before| like(&before, &args.content));
    spot.put(content.as_bytes(), old.map(|old| old.metadata).as_ref()).map_err(failed)?;
    seen.record(spot.real(), Fingerprint::of(content.as_bytes()));
    let lines = match args.content.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    Ok(ToolOutput::ok(format!("{done} {shown} ({lines})."))
        .titled(format!("{done} {shown}"))
        .with("path", shown)
        .with("bytes", content.len()))
}

/// The content as the file has it that it replaces: a model writes LF and no byte order mark, whatever the file has.
fn like(before: &[u8], content: &str) -> String {
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
