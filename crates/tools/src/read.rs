//! The Read tool: shows text files with line numbers, images as attachments, the text of PDFs, and the cells of notebooks.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::file_opener::OpenedFile;
use crate::image::{self, MAX_IMAGE_BYTES};
use crate::notebook::{self, Notebook};
use crate::output::{ToolErrorCode, ToolOutput};
use crate::pdf::{self, MAX_PDF_BYTES, MAX_PDF_PAGES, PageRange};
use crate::tool::{Tool, ToolSpec};
use crate::workspace::Workspace;
use crate::workspace::{Fingerprint, FingerprintScan};
use crate::{args, cap, change};

/// The number of lines shown without a `limit`.
pub const DEFAULT_LINES: u64 = 2_000;
/// The number of characters shown of a line.
pub const MAX_LINE_CHARS: usize = 2_000;
/// The number of bytes of text that one call shows, whatever its `limit`.
pub const MAX_READ_BYTES: usize = 64 * 1024;

/// A file with a NUL byte in its first bytes counts as binary.
const BINARY_PROBE_BYTES: usize = 8 * 1024;
/// Enough bytes of a line for [`MAX_LINE_CHARS`] characters.
const KEPT_LINE_BYTES: usize = MAX_LINE_CHARS * 4;
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Debug)]
pub struct ReadTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadArgs {
    /// The file to read. A relative path starts at the workspace root.
    file_path: String,
    /// The number of the first line to show, starting at 1. Only needed for files that are too long.
    offset: Option<u64>,
    /// The number of lines to show. Only needed for files that are too long.
    limit: Option<u64>,
    /// The pages of a PDF to show, such as "3" or "1-10".
    pages: Option<String>,
}

impl ReadTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Read".to_owned(),
            description: format!(
                "Reads a file. For a text file, each line of the result starts with its line number and a tab, as \
                 with `cat -n`. Shows up to {DEFAULT_LINES} lines and {} KiB per call and says how \
                 to continue; lines longer than {MAX_LINE_CHARS} characters are truncated. An \
                 image (PNG, JPEG, GIF, WebP) is shown as an image, a PDF as the text of up to \
                 {MAX_PDF_PAGES} pages, a Jupyter notebook as its cells and outputs. Read a file \
                 before you edit it.",
                MAX_READ_BYTES / 1024
            ),
            input_schema: args::schema::<ReadArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        match args::parse("Read", args) {
            Ok(args) => read(&self.workspace, args, &cx.cancel).await.unwrap_or_else(ToolOutput::from),
            Err(failure) => failure.into(),
        }
    }
}

async fn read(
    workspace: &Arc<Workspace>,
    args: ReadArgs,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let pages = PageRange::parse(args.pages.as_deref())?;
    let (shared, token) = (Arc::clone(workspace), cancel.clone());
    let inspected = tokio::task::spawn_blocking(move || inspect(&shared, &args, &token)).await;
    match inspected
        .map_err(|_| ToolFailure::new(ToolErrorCode::Unknown, "Reading the file failed unexpectedly."))??
    {
        FileContent::Page(output) => Ok(output),
        FileContent::Cells(output) => Ok(workspace.outputs().capped(output, MAX_READ_BYTES).await),
        FileContent::Pdf { file, shown } => {
            let read = pdf::read(workspace, file, pages, cancel).await?;
            let (text, total) = read.into_text(&shown, pages.first)?;
            let output = ToolOutput::ok(text).titled(format!("Read {shown}"));
            let output = output.with("path", shown).with("pages", total);
            Ok(workspace.outputs().capped(output, MAX_READ_BYTES).await)
        }
    }
}

/// What kind of file was opened, with its contents as far as they are known.
enum FileContent {
    /// The text or image to show.
    Page(ToolOutput),
    /// All cells of a notebook, not yet truncated.
    Cells(ToolOutput),
    /// A PDF, which a helper process reads.
    Pdf { file: File, shown: String },
}

fn inspect(
    workspace: &Workspace,
    args: &ReadArgs,
    cancel: &CancellationToken,
) -> Result<FileContent, ToolFailure> {
    let path = workspace.resolve(&args.file_path);
    let shown = workspace.show(&path);
    let mut opened = workspace.opener().open_file(&path, &shown)?;
    if args.limit == Some(0) {
        return Err(ToolFailure::invalid("`limit` must be at least 1."));
    }
    let mut head = [0; image::PROBE_BYTES];
    let failed = |error: io::Error| ToolFailure::io(&shown, &error);
    let count = opened.file.read(&mut head).and_then(|count| opened.file.rewind().map(|()| count));
    let head = &head[..count.map_err(failed)?];
    let is_partial = args.offset.is_some() || args.limit.is_some();
    if head.starts_with(pdf::MAGIC) {
        let (file, size) = (opened.file, opened.metadata.len());
        return if size > MAX_PDF_BYTES {
            Err(too_large(&shown, "a PDF", size, MAX_PDF_BYTES))
        } else {
            Ok(FileContent::Pdf { file, shown })
        };
    }
    if let Some(media_type) = image::media_type(head) {
        return attach(opened, &shown, media_type).map(FileContent::Page);
    }
    if notebook::is_notebook(&shown)
        && !is_partial
        && let Some(output) = cells(workspace, &mut opened, &shown).map_err(failed)?
    {
        return Ok(FileContent::Cells(output));
    }
    text(workspace, opened, args, &shown, cancel).map(FileContent::Page)
}

fn too_large(shown: &str, kind: &str, size: u64, maximum: u64) -> ToolFailure {
    ToolFailure::invalid(format!(
        "{shown} is {kind} of {size} bytes; the maximum is {maximum} bytes. Make it smaller first."
    ))
}

fn attach(opened: OpenedFile, shown: &str, media_type: &str) -> Result<ToolOutput, ToolFailure> {
    let mut data = Vec::new();
    let read = opened.file.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut data);
    read.map_err(|error| ToolFailure::io(shown, &error))?;
    if data.len() as u64 > MAX_IMAGE_BYTES {
        let size = opened.metadata.len().max(data.len() as u64);
        return Err(too_large(shown, "an image", size, MAX_IMAGE_BYTES));
    }
    Ok(ToolOutput::ok(format!("{shown} is an image ({media_type}, {} bytes).", data.len()))
        .titled(format!("Read {shown}"))
        .with("path", shown)
        .attach(media_type, data))
}

/// The cells of a notebook; `None` if it is not a valid notebook, which is then read as text.
fn cells(workspace: &Workspace, opened: &mut OpenedFile, shown: &str) -> io::Result<Option<ToolOutput>> {
    let bytes = change::read(&opened.file)?;
    opened.file.rewind()?;
    let Some(bytes) = bytes else { return Ok(None) };
    let Some(notebook) = std::str::from_utf8(&bytes).ok().and_then(|text| Notebook::parse(text).ok()) else {
        return Ok(None);
    };
    workspace.known_files().record(opened.real.clone(), Fingerprint::of(&bytes));
    let output = match notebook.to_text() {
        cells if cells.is_empty() => format!("{shown} has no cells."),
        cells => cells,
    };
    Ok(Some(ToolOutput::ok(output).titled(format!("Read {shown}")).with("path", shown)))
}

fn text(
    workspace: &Workspace,
    opened: OpenedFile,
    args: &ReadArgs,
    shown: &str,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let failed = |error: io::Error| ToolFailure::io(shown, &error);
    let mut file = BufReader::with_capacity(BINARY_PROBE_BYTES, opened.file);
    if file.fill_buf().map_err(failed)?.contains(&0) {
        return Err(ToolFailure::invalid(format!(
            "{shown} is a binary file ({} bytes), not text.",
            opened.metadata.len()
        )));
    }
    let first = args.offset.unwrap_or(1).max(1);
    let mut page = LinePage::new(first, args.limit.unwrap_or(DEFAULT_LINES));
    let mut scan = FingerprintScan::default();
    let mut line = BoundedLine::default();
    let mut lines = 0_u64;
    while line.read(&mut file, &mut scan).map_err(failed)? {
        if cancel.is_cancelled() {
            return Err(ToolFailure::cancelled());
        }
        lines += 1;
        page.take(lines, &line);
    }
    workspace.known_files().record(opened.real, scan.finish());
    let text = match lines {
        0 => format!("{shown} is empty."),
        _ if first > lines => {
            return Err(ToolFailure::invalid(format!(
                "{shown} has {lines} lines; `offset` {first} is past its end."
            )));
        }
        _ => page.finish(lines),
    };
    Ok(ToolOutput::ok(text).titled(format!("Read {shown}")).with("path", shown).with("lines", lines))
}

/// The lines to show.
struct LinePage {
    next: u64,
    left: u64,
    text: String,
}

impl LinePage {
    fn new(first: u64, limit: u64) -> Self {
        Self { next: first, left: limit, text: String::new() }
    }

    /// Adds the line if it is the next one to show and fits. The first line that does not fit ends the page.
    fn take(&mut self, number: u64, line: &BoundedLine) {
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
            let _ = write!(self.text, "({more} more lines; continue with offset={})", self.next);
        }
        self.text
    }
}

/// One line of any length, in bounded memory.
#[derive(Default)]
struct BoundedLine {
    kept: Vec<u8>,
    chars_dropped: usize,
}

impl BoundedLine {
    /// Reads the next line without its line ending. Returns false at the end of the file.
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
