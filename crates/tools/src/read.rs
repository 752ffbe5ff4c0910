//! Read: a text file, line by line, as much of it as a model can use.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::tool::{CANCELLED, blocking};
use crate::workspace::FingerprintScan;
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args, cap};

/// How many lines are shown when no `limit` is given.
pub const DEFAULT_LINES: u64 = 2_000;
/// How many characters of a line are shown.
pub const MAX_LINE_CHARS: usize = 2_000;
/// How many bytes of text one call shows, whatever the limits.
pub const MAX_READ_BYTES: usize = 64 * 1024;

/// A NUL byte in this much of a file's beginning makes it binary.
const BINARY_PROBE_BYTES: usize = 8 * 1024;
/// Enough bytes of a line to hold the characters that are shown.
const KEPT_LINE_BYTES: usize = MAX_LINE_CHARS * 4;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The tool `Read`.
#[derive(Debug)]
pub struct Read {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The file to read. A relative path starts at the workspace root.
    file_path: String,
    /// The number of the first line to show, from 1. Only needed for files that are too long.
    offset: Option<u64>,
    /// How many lines to show. Only needed for files that are too long.
    limit: Option<u64>,
}

impl Read {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Read".to_owned(),
            description: format!(
                "Reads a text file. Each line of the result begins with its number and a tab, as \
                 with `cat -n`. Shows up to {DEFAULT_LINES} lines and {} KiB at once and says how \
                 to read on; lines longer than {MAX_LINE_CHARS} characters are cut. Read a file \
                 before you edit it.",
                MAX_READ_BYTES / 1024
            ),
            input_schema: args::schema::<Args>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let (workspace, cancel) = (Arc::clone(&self.workspace), cx.cancel.clone());
        blocking(move || read(&workspace, args::parse("Read", args)?, &cancel)).await
    }
}

fn read(workspace: &Workspace, args: Args, cancel: &CancellationToken) -> Result<String, String> {
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let opened = workspace.reach().file(&path, &shown)?;
    if args.limit == Some(0) {
        return Err("`limit` must be at least 1.".to_owned());
    }
    let failed = |error: io::Error| format!("{shown}: {error}.");
    let mut file = BufReader::with_capacity(BINARY_PROBE_BYTES, opened.file);
    if file.fill_buf().map_err(failed)?.contains(&0) {
        return Err(format!("{shown} is a binary file ({} bytes), not text.", opened.metadata.len()));
    }
    let first = args.offset.unwrap_or(1).max(1);
    let mut page = Page::new(first, args.limit.unwrap_or(DEFAULT_LINES));
    let mut scan = FingerprintScan::default();
    let mut line = Line::default();
    let mut lines = 0_u64;
    while line.read(&mut file, &mut scan).map_err(failed)? {
        if cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        lines += 1;
        page.take(lines, &line);
    }
    workspace.seen().record(opened.real, scan.finish());
    match lines {
        0 => Ok(format!("{shown} is empty.")),
        _ if first > lines => Err(format!("{shown} has {lines} lines; `offset` {first} is past its end.")),
        _ => Ok(page.finish(lines)),
    }
}

/// The lines that are shown.
struct Page {
    next: u64,
    left: u64,
    text: String,
}

impl Page {
    fn new(first: u64, limit: u64) -> Self {
        Self { next: first, left: limit, text: String::new() }
    }

    /// Shows the line if it is the next one wanted and fits. The first that does not ends the page.
    fn take(&mut self, number: u64, line: &Line) {
        if number != self.next || self.left == 0 {
            return;
        }
        let before = self.text.len();
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{number:>6}\t{}", line.text());
        if self.text.len() > MAX_READ_BYTES {
            self.text.truncate(before);
            self.left = 0;
        } else {
            self.left -= 1;
            self.next += 1;
        }
    }

    fn finish(mut self, lines: u64) -> String {
        let more = (lines + 1).saturating_sub(self.next);
        if more > 0 {
            let _ = write!(self.text, "({more} more lines; read on with offset={})", self.next);
        }
        self.text
    }
}

/// One line in bounded memory, however long it is.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    chars_dropped: usize,
}

impl Line {
    /// Reads the next line without its end. False at the end of the file.
    fn read(&mut self, file: &mut impl BufRead, scan: &mut FingerprintScan) -> io::Result<bool> {
        self.kept.clear();
        self.chars_dropped = 0;
        let mut any = false;
        loop {
            let buffer = file.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(buffer.len(), |end| end + 1);
            scan.push(&buffer[..used]);
            self.keep(&buffer[..end.unwrap_or(used)]);
            file.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = KEPT_LINE_BYTES.saturating_sub(self.kept.len());
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.kept.extend_from_slice(kept);
        self.chars_dropped += cap::count_chars(dropped);
    }

    fn text(&self) -> String {
        let bytes = self.kept.strip_suffix(b"\r").unwrap_or(&self.kept);
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        if self.chars_dropped == 0 {
            return cap::line(text, MAX_LINE_CHARS);
        }
        let shown: String = text.chars().take(MAX_LINE_CHARS).collect();
        let cut = text.chars().count() - shown.chars().count() + self.chars_dropped;
        shown + &cap::line_note(cut)
    }
}
