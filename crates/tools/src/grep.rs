//! The Grep tool: searches files for a regular expression, with ripgrep's libraries.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::file_opener::OpenedPath;
use crate::filter::PathFilter;
use crate::output::ToolOutput;
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::walk;
use crate::workspace::Workspace;
use crate::{args, cap};

/// The number of lines that one call shows without a `head_limit`.
pub const DEFAULT_HEAD_LIMIT: usize = 250;
/// The number of bytes that one call shows, whatever its `head_limit`.
pub const MAX_GREP_BYTES: usize = 32 * 1024;
/// The number of characters shown of a line.
pub const MAX_GREP_LINE_CHARS: usize = 500;

/// The memory that a search may use for one line with its context; files with longer lines are not searched to the end.
const MAX_SEARCH_HEAP_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub struct GrepTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GrepArgs {
    /// The regular expression to search for, in Rust's (ripgrep's) syntax. It is applied to each
    /// line.
    pattern: String,
    /// The file or directory to search. The default is the workspace root.
    path: Option<String>,
    /// Searches only files whose path matches this pattern, such as "*.rs" or "src/**/*.{ts,tsx}".
    glob: Option<String>,
    /// What to show: matching lines (content), only the paths of files with matches
    /// (files_with_matches), or the number of matching lines per file (count).
    #[serde(default)]
    output_mode: OutputMode,
    /// Whether to ignore case.
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    /// Whether to show line numbers, with output_mode content.
    #[serde(rename = "-n", default = "yes")]
    line_numbers: bool,
    /// The number of lines to show after each match, with output_mode content.
    #[serde(rename = "-A")]
    after: Option<usize>,
    /// The number of lines to show before each match, with output_mode content.
    #[serde(rename = "-B")]
    before: Option<usize>,
    /// The number of lines to show before and after each match, with output_mode content.
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// The maximum number of lines of output.
    head_limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

fn yes() -> bool {
    true
}

impl GrepTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for GrepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Grep".to_owned(),
            description: format!(
                "Searches the contents of files for a regular expression. Shows up to \
                 {DEFAULT_HEAD_LIMIT} lines of output unless head_limit is given, and says \
                 how much was omitted. Skips binary files and files that .gitignore excludes."
            ),
            input_schema: args::schema::<GrepArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let (workspace, cancel) = (Arc::clone(&self.workspace), cx.cancel.clone());
        blocking(move || grep(&workspace, &args::parse("Grep", args)?, &cancel)).await
    }
}

fn grep(
    workspace: &Workspace,
    args: &GrepArgs,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let base = workspace.resolve(args.path.as_deref().unwrap_or_default());
    let shown = workspace.show(&base);
    let matcher = matcher(args)?;
    let mut searcher = searcher(args);
    let mut found = GrepOutput::new(args)?;
    let filter = args.glob.as_deref().map(PathFilter::new).transpose()?;
    let mut search = |path: &Path, opened: io::Result<File>| {
        let mut file = FileSearch {
            path: workspace.show(path),
            mode: args.output_mode,
            line_numbers: args.line_numbers,
            matches: 0,
            found: &mut found,
            cancel,
        };
        let searched = opened.and_then(|opened| searcher.search_file(&matcher, &opened, &mut file));
        file.finish(searched);
        if cancel.is_cancelled() { Err(ToolFailure::cancelled()) } else { Ok(()) }
    };
    match workspace.opener().open(&base, &shown)? {
        OpenedPath::File(opened) => search(&opened.real, Ok(opened.file))?,
        OpenedPath::Directory(directory) => {
            let base = directory.real().to_owned();
            for file in walk::files(workspace, directory) {
                let below = file.path.strip_prefix(&base).unwrap_or(&file.path);
                if filter.as_ref().is_none_or(|filter| filter.matches(below)) {
                    search(&file.path, file.open())?;
                }
            }
        }
    }
    let (results, cut) = (found.results, found.results_cut);
    Ok(ToolOutput::ok(found.finish(args, &shown))
        .titled(format!("Found {results} matches for {}", args.pattern))
        .with("matches", results)
        .with("truncated", cut > 0))
}

fn matcher(args: &GrepArgs) -> Result<RegexMatcher, ToolFailure> {
    RegexMatcherBuilder::new()
        .case_insensitive(args.ignore_case)
        .multi_line(true)
        .crlf(true)
        .build(&args.pattern)
        .map_err(|error| {
            ToolFailure::invalid(format!(
                "`pattern` is not a valid regular expression: {error}\nThe syntax is Rust's: \
                 escape literal braces and brackets, as in `interface\\{{\\}}`; look-around and \
                 back-references are not supported, and a match stays within a line."
            ))
        })
}

fn searcher(args: &GrepArgs) -> Searcher {
    let (before, after) = match args.output_mode {
        OutputMode::Content => (args.before.or(args.around), args.after.or(args.around)),
        OutputMode::FilesWithMatches | OutputMode::Count => (None, None),
    };
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .before_context(before.unwrap_or(0))
        .after_context(after.unwrap_or(0))
        .heap_limit(Some(MAX_SEARCH_HEAP_BYTES))
        .build()
}

/// The search in one file.
struct FileSearch<'a> {
    path: String,
    mode: OutputMode,
    line_numbers: bool,
    matches: usize,
    found: &'a mut GrepOutput,
    cancel: &'a CancellationToken,
}

impl FileSearch<'_> {
    fn line(&self, mark: char, number: Option<u64>, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = cap::line(text.trim_end_matches(['\r', '\n']), MAX_GREP_LINE_CHARS);
        match number.filter(|_| self.line_numbers) {
            Some(number) => format!("{}{mark}{number}{mark}{text}", self.path),
            None => format!("{}{mark}{text}", self.path),
        }
    }

    fn finish(self, searched: io::Result<()>) {
        if searched.is_err() {
            self.found.unreadable += 1;
        }
        match self.mode {
            OutputMode::Content => {}
            OutputMode::FilesWithMatches | OutputMode::Count if self.matches == 0 => {}
            OutputMode::FilesWithMatches => self.found.add(&self.path, LineKind::Result),
            OutputMode::Count => {
                self.found.add(&format!("{}:{}", self.path, self.matches), LineKind::Result);
            }
        }
    }
}

impl Sink for FileSearch<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        match self.mode {
            OutputMode::FilesWithMatches => return Ok(false),
            OutputMode::Count => {}
            OutputMode::Content => {
                let line = self.line(':', found.line_number(), found.bytes());
                self.found.add(&line, LineKind::Result);
            }
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line('-', near.line_number(), near.bytes());
        self.found.add(&line, LineKind::Context);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.found.add("--", LineKind::Context);
        Ok(true)
    }
}

/// Whether a line of output is a result or context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Result,
    Context,
}

/// The output so far, within the limits.
struct GrepOutput {
    text: String,
    lines_left: usize,
    results: usize,
    results_cut: usize,
    unreadable: usize,
}

impl GrepOutput {
    fn new(args: &GrepArgs) -> Result<Self, ToolFailure> {
        match args.head_limit.unwrap_or(DEFAULT_HEAD_LIMIT) {
            0 => Err(ToolFailure::invalid("`head_limit` must be at least 1.")),
            lines_left => {
                Ok(Self { text: String::new(), lines_left, results: 0, results_cut: 0, unreadable: 0 })
            }
        }
    }

    fn add(&mut self, line: &str, kind: LineKind) {
        let fits = self.lines_left > 0 && self.text.len() + line.len() < MAX_GREP_BYTES;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        // The first line that does not fit ends the output.
        self.lines_left = if fits { self.lines_left - 1 } else { 0 };
        if kind == LineKind::Result {
            self.results += 1;
            self.results_cut += usize::from(!fits);
        }
    }

    fn finish(mut self, args: &GrepArgs, shown: &str) -> String {
        let unit = match args.output_mode {
            OutputMode::Content => "matching lines",
            OutputMode::FilesWithMatches | OutputMode::Count => "files with matches",
        };
        if self.results == 0 {
            self.text = format!("No matches for `{}` in {shown}.\n", args.pattern);
        }
        if self.results_cut > 0 {
            self.text.push_str(&format!(
                "({} of {} {unit} not shown; use a narrower pattern, path or glob)\n",
                self.results_cut, self.results
            ));
        }
        if self.unreadable > 0 {
            let files = self.unreadable;
            self.text.push_str(&format!("({files} files could not be searched completely)\n"));
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}
