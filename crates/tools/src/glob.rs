//! Glob: files by the pattern of their path, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::filter::Filter;
use crate::folder::Changed;
use crate::reach::Found;
use crate::tool::blocking;
use crate::walk::{self, Listed};
use crate::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, args};

/// How many files one call lists.
pub const MAX_GLOB_FILES: usize = 100;

/// The tool `Glob`.
#[derive(Debug)]
pub struct Glob {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The pattern that the files' paths must match, such as "**/*.rs" or "src/*.{ts,tsx}". One
    /// without a slash matches file names in any directory.
    pattern: String,
    /// The directory to search. By default the workspace root.
    path: Option<String>,
}

impl Glob {
    /// The tool for this workspace.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "Glob".to_owned(),
            description: format!(
                "Finds files by a pattern on their path, such as \"**/*.rs\". Lists up to \
                 {MAX_GLOB_FILES} of them, the most recently changed first. What .gitignore names \
                 is left out."
            ),
            input_schema: args::schema::<Args>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> ToolOutput {
        let (workspace, cancel) = (Arc::clone(&self.workspace), cx.cancel.clone());
        blocking(move || glob(&workspace, &args::parse("Glob", args)?, &cancel)).await
    }
}

fn glob(workspace: &Workspace, args: &Args, cancel: &CancellationToken) -> Result<ToolOutput, Failure> {
    let base = workspace.resolve(args.path.as_deref().unwrap_or_default());
    let shown = workspace.show(&base);
    let Found::Folder(base) = workspace.reach().find(&base, &shown)? else {
        return Err(Failure::invalid(format!("{shown} is a file; `path` must be a directory.")));
    };
    let base_path = base.real().to_owned();
    let filter = Filter::new(relative(&args.pattern, &base_path))?;
    let mut newest = Newest::default();
    for file in walk::files(workspace, base) {
        if cancel.is_cancelled() {
            return Err(Failure::cancelled());
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

fn titled(args: &Args, output: String, total: usize) -> ToolOutput {
    ToolOutput::ok(output)
        .titled(format!("Found {total} files for {}", args.pattern))
        .with("files", total)
        .with("truncated", total > MAX_GLOB_FILES)
}

/// Models often send an absolute pattern; within the directory it can be told relative to it.
fn relative<'a>(pattern: &'a str, base: &Path) -> &'a str {
    let below = base.to_str().and_then(|base| pattern.strip_prefix(base));
    below.and_then(|rest| rest.strip_prefix('/')).unwrap_or(pattern)
}

/// The most recently changed files, as many as are shown, and how many there were.
#[derive(Default)]
struct Newest {
    total: usize,
    kept: BinaryHeap<Reverse<(Changed, Reverse<PathBuf>)>>,
}

impl Newest {
    fn add(&mut self, file: Listed) {
        let Some(changed) = file.changed() else { return };
        self.total += 1;
        self.kept.push(Reverse((changed, Reverse(file.path))));
        if self.kept.len() > MAX_GLOB_FILES {
            self.kept.pop();
        }
    }

    fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse((_, Reverse(path)))| path)
    }
}
