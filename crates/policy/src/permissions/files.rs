//! The tools that work on files, and what a call of one touches.

use std::path::PathBuf;

use serde_json::Value;

use crate::path_gate::PATH_FIELDS;
use crate::pattern::starts;

/// A tool whose rules name paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTool {
    Read,
    Write,
    Edit,
    MultiEdit,
    NotebookRead,
    NotebookEdit,
    Glob,
    Grep,
    Ls,
}

impl FileTool {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write,
        Self::Edit,
        Self::MultiEdit,
        Self::NotebookRead,
        Self::NotebookEdit,
        Self::Glob,
        Self::Grep,
        Self::Ls,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Edit => "Edit",
            Self::MultiEdit => "MultiEdit",
            Self::NotebookRead => "NotebookRead",
            Self::NotebookEdit => "NotebookEdit",
            Self::Glob => "Glob",
            Self::Grep => "Grep",
            Self::Ls => "LS",
        }
    }

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether its rules also cover the calls of another tool, which does the same in another way.
    pub fn covers(self, other: Self) -> bool {
        let kindred: &[Self] = match self {
            Self::Read => &[Self::NotebookRead],
            Self::Edit => &[Self::MultiEdit, Self::NotebookEdit],
            Self::Glob => &[Self::Ls],
            Self::Write
            | Self::MultiEdit
            | Self::NotebookRead
            | Self::NotebookEdit
            | Self::Grep
            | Self::Ls => &[],
        };
        self == other || kindred.contains(&other)
    }

    /// Whether it changes nothing.
    pub fn only_reads(self) -> bool {
        match self {
            Self::Read | Self::NotebookRead | Self::Glob | Self::Grep | Self::Ls => true,
            Self::Write | Self::Edit | Self::MultiEdit | Self::NotebookEdit => false,
        }
    }

    /// Whether it looks at everything below a directory, by default the project.
    pub fn searches(self) -> bool {
        matches!(self, Self::Glob | Self::Grep | Self::Ls)
    }

    /// The paths that a call touches, as it gives them; or why that is not known.
    pub fn targets(self, input: &Value) -> Result<Vec<PathBuf>, String> {
        let mut targets = Vec::new();
        for value in PATH_FIELDS.iter().filter_map(|field| input.get(field)) {
            match value {
                Value::Null => {}
                Value::String(path) => targets.push(PathBuf::from(path)),
                _ => return Err(format!("The tool {} needs its path as a string.", self.name())),
            }
        }
        if targets.is_empty() && !self.searches() {
            return Err(format!("The tool {} needs a path.", self.name()));
        }
        if targets.is_empty() {
            targets.push(PathBuf::from("."));
        }
        let pattern = match self {
            Self::Glob => input.get("pattern"),
            Self::Grep => input.get("glob"),
            Self::Read | Self::Write | Self::Edit | Self::MultiEdit => None,
            Self::NotebookRead | Self::NotebookEdit | Self::Ls => None,
        };
        if let Some(Value::String(pattern)) = pattern {
            let starts = starts(pattern)
                .ok_or_else(|| format!("Where the pattern '{pattern}' leads is not known."))?;
            let further = targets.iter().flat_map(|path| starts.iter().map(|start| path.join(start)));
            targets.extend(further.collect::<Vec<_>>());
        }
        Ok(targets)
    }
}
