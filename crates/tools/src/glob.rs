//! The Glob tool: finds files by a path pattern, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::args;
use crate::context::ToolContext;
use crate::directory::ModifiedTime;
use crate::failure::ToolFailure;
use crate::file_opener::OpenedPath;
use crate::filter::PathFilter;
use crate::output::ToolOutput;
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::walk::{self, WalkedFile};
use crate::workspace::Workspace;

/// The number of files that one call lists.
pub const MAX_GLOB_FILES: usize = 100;

#[derive(Debug)]
pub struct GlobTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GlobArgs {
    /// The pattern that file paths must match, such as "**/*.rs" or "src/*.{ts,tsx}". A pattern
    /// without a slash matches file names in any directory.
    pattern: String,
    /// The directory to search. The default is the workspace root.
    path: Option<String>,
}

impl GlobTool {
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for GlobTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Glob".to_owned(),
            description: format!(
                "Finds files by a path pattern, such as \"**/*.rs\". Lists up to \
                 {MAX_GLOB_FILES} files, the most recently changed first. Skips files that \
                 .gitignore excludes."
            ),
            input_schema: args::schema::<GlobArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let (workspace, cancel) = (Arc::clone(&self.workspace), cx.cancel.clone());
        blocking(move || glob(&workspace, &args::parse("Glob", args)?, &cancel)).await
    }
}

fn glob(
    workspace: &Workspace,
    args: &GlobArgs,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolFailure> {
    let base = workspace.resolve(args.path.as_deref().unwrap_or_default());
    let shown = workspace.show(&base);
    let OpenedPath::Directory(base) = workspace.opener().open(&base, &shown)? else {
        return Err(ToolFailure::invalid(format!("{shown} is a file; `path` must be a directory.")));
    };
    let base_path = base.real().to_owned();
    let filter = PathFilter::new(relative(&args.pattern, &base_path))?;
    let mut newest = NewestFiles::default();
    for file in walk::files(workspace, base) {
        if cancel.is_cancelled() {
            return Err(ToolFailure::cancelled());
        }
        if filter.matches(file.path.strip_prefix(&base_path).unwrap_or(&file.path)) {
            newest.add(file);
        }
    }
    if newest.total == 0 {
        return Ok(titled(args, format!("No files match `{}` in {shown}.", args.pattern), 0));
    }
    let total = newest.total;
    let cut = total.saturating_sub(MAX_GLOB_FILES);
    let mut lines: Vec<_> = newest.into_paths().map(|path| workspace.show(&path)).collect();
    if cut > 0 {
        lines.push(format!("({cut} more files match; use a narrower pattern or `path`)"));
    }
    Ok(titled(args, lines.join("\n"), total))
}

fn titled(args: &GlobArgs, output: String, total: usize) -> ToolOutput {
    ToolOutput::ok(output)
        .titled(format!("Found {total} files for {}", args.pattern))
        .with("files", total)
        .with("truncated", total > MAX_GLOB_FILES)
}

/// Models often send an absolute pattern; within the searched directory it can be made relative.
fn relative<'a>(pattern: &'a str, base: &Path) -> &'a str {
    let below = base.to_str().and_then(|base| pattern.strip_prefix(base));
    below.and_then(|rest| rest.strip_prefix('/')).unwrap_or(pattern)
}

/// The most recently changed files, up to [`MAX_GLOB_FILES`], and the total number.
#[derive(Default)]
struct NewestFiles {
    total: usize,
    kept: BinaryHeap<Reverse<(ModifiedTime, Reverse<PathBuf>)>>,
}

impl NewestFiles {
    fn add(&mut self, file: WalkedFile) {
        let Some(modified) = file.modified() else { return };
        self.total += 1;
        self.kept.push(Reverse((modified, Reverse(file.path))));
        if self.kept.len() > MAX_GLOB_FILES {
            self.kept.pop();
        }
    }

    fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(path)))| path)
    }
}
