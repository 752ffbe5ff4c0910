//! The file tools, and the paths that a call of one touches.

use std::path::PathBuf;

use serde_json::Value;

use crate::glob_prefix::literal_prefixes;
use crate::path_denial::PathDenial;
use crate::path_gate::PATH_FIELDS;

/// A tool whose permission rules name paths.
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

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether rules for this tool also cover calls of `other`, which does the same thing in another form.
    pub fn covers(self, other: Self) -> bool {
        let related: &[Self] = match self {
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
        self == other || related.contains(&other)
    }

    pub fn only_reads(self) -> bool {
        match self {
            Self::Read | Self::NotebookRead | Self::Glob | Self::Grep | Self::Ls => true,
            Self::Write | Self::Edit | Self::MultiEdit | Self::NotebookEdit => false,
        }
    }

    /// Whether the tool searches everything below a directory, by default the project root.
    pub fn searches(self) -> bool {
        matches!(self, Self::Glob | Self::Grep | Self::Ls)
    }

    /// The paths that a call touches, as written in the call.
    pub fn targets(self, input: &Value) -> Result<Vec<PathBuf>, PathDenial> {
        let mut targets = Vec::new();
        for value in PATH_FIELDS.iter().filter_map(|field| input.get(field)) {
            match value {
                Value::Null => {}
                Value::String(path) => targets.push(PathBuf::from(path)),
                _ => return Err(PathDenial::PathNotString { tool: self.name().to_owned() }),
            }
        }
        if targets.is_empty() && !self.searches() {
            return Err(PathDenial::NoPath { tool: self.name().to_owned() });
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
            let prefixes = literal_prefixes(pattern).ok_or_else(|| PathDenial::Pattern(pattern.clone()))?;
            let searched = targets.iter().flat_map(|path| prefixes.iter().map(|prefix| path.join(prefix)));
            targets.extend(searched.collect::<Vec<_>>());
        }
        Ok(targets)
    }
}
