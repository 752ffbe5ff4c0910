//! Checks the paths in file tool calls, from every backend, against the path rules: path fields, and patterns that
//! name a directory. Symbolic links are resolved first. The gate only denies or abstains; whether a tool may be used
//! is decided by the other gates.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::files::FileAccess;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::Value;

use crate::glob_prefix::literal_prefixes;
use crate::path_denial::PathDenial;
use crate::path_rules::PathRules;
use crate::paths::{MAX_PATH, real_path};

pub struct PathGate {
    rules: Arc<PathRules>,
}

enum FileToolTarget {
    /// One file; the path is required.
    File,
    /// A directory, by default the project root, and the files in it that the pattern in the given field matches.
    Directory { pattern: Option<&'static str> },
}

const FILE_TOOLS: [(&str, FileAccess, FileToolTarget); 9] = [
    ("Read", FileAccess::Read, FileToolTarget::File),
    ("Write", FileAccess::Write, FileToolTarget::File),
    ("Edit", FileAccess::Write, FileToolTarget::File),
    ("MultiEdit", FileAccess::Write, FileToolTarget::File),
    ("NotebookRead", FileAccess::Read, FileToolTarget::File),
    ("NotebookEdit", FileAccess::Write, FileToolTarget::File),
    ("LS", FileAccess::Read, FileToolTarget::Directory { pattern: None }),
    ("Glob", FileAccess::Read, FileToolTarget::Directory { pattern: Some("pattern") }),
    ("Grep", FileAccess::Read, FileToolTarget::Directory { pattern: Some("glob") }),
];

/// The fields in which the various agents pass a path. Each one present is checked.
pub(crate) const PATH_FIELDS: [&str; 5] = ["file_path", "filePath", "notebook_path", "notebookPath", "path"];

impl PathGate {
    pub fn new(rules: Arc<PathRules>) -> Self {
        Self { rules }
    }

    fn judge(&self, call: &ToolCall, access: FileAccess, target: &FileToolTarget) -> Result<(), PathDenial> {
        let text = |field: &str| match call.input.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(PathDenial::FieldNotString { tool: call.name.clone(), field: field.to_owned() }),
        };
        let given = PATH_FIELDS.iter().filter_map(|field| text(field).transpose());
        let mut paths = given.collect::<Result<Vec<_>, _>>()?;
        let pattern = match target {
            FileToolTarget::File if paths.is_empty() => {
                return Err(PathDenial::NoPath { tool: call.name.clone() });
            }
            FileToolTarget::File => None,
            FileToolTarget::Directory { pattern } => pattern.map(text).transpose()?.flatten(),
        };
        if paths.is_empty() {
            paths.push("");
        }
        paths.iter().try_for_each(|path| {
            self.judge_path(path, access)?;
            pattern.map_or(Ok(()), |pattern| self.judge_pattern(path, pattern))
        })
    }

    fn judge_path(&self, path: &str, access: FileAccess) -> Result<(), PathDenial> {
        check_spelling(path)?;
        self.judge_resolved(&self.rules.root().join(path), access, path)
    }

    fn judge_pattern(&self, directory: &str, pattern: &str) -> Result<(), PathDenial> {
        check_spelling(pattern)?;
        let directory = self.rules.root().join(directory);
        for prefix in literal_prefixes(pattern).ok_or_else(|| PathDenial::Outside(pattern.to_owned()))? {
            self.judge_resolved(&directory.join(prefix), FileAccess::Read, pattern)?;
        }
        Ok(())
    }

    fn judge_resolved(&self, path: &Path, access: FileAccess, shown: &str) -> Result<(), PathDenial> {
        let real = real_path(path).map_err(|_| PathDenial::Outside(shown.to_owned()))?;
        self.rules.check(&real, access, shown)
    }
}

/// Refuses paths that some tools rewrite before use: they trim surrounding white space, or expand a leading `~`.
fn check_spelling(path: &str) -> Result<(), PathDenial> {
    if path.len() > MAX_PATH {
        return Err(PathDenial::TooLong);
    }
    if path.contains('\0') {
        return Err(PathDenial::Nul);
    }
    if path.trim() != path {
        return Err(PathDenial::WhiteSpace(path.to_owned()));
    }
    if path.starts_with('~') {
        return Err(PathDenial::Tilde(path.to_owned()));
    }
    Ok(())
}

#[async_trait]
impl Gate for PathGate {
    fn name(&self) -> &str {
        "paths"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        let Some((_, access, target)) = FILE_TOOLS.iter().find(|(name, ..)| *name == call.name) else {
            return Decision::Abstain;
        };
        // Acceptable paths do not imply that the tool itself may be used.
        match self.judge(call, *access, target) {
            Ok(()) => Decision::Abstain,
            Err(denial) => Decision::Deny(denial.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
