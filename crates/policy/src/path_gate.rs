//! Puts the paths of file tools to the path rules, of every backend: as fields, and as patterns that name a
//! directory. Paths are judged where they really lead. The gate only ever denies: which tools may be used is
//! for others to say.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::files::Access;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::Value;

use crate::path_rules::{PathRules, outside};
use crate::paths::{MAX_PATH, real_path};
use crate::pattern::starts;

/// Judges the paths of file tools.
pub struct PathGate {
    rules: Arc<PathRules>,
}

/// What a file tool works on.
enum Target {
    /// One file, which must be named.
    File,
    /// A directory, by default the project's, and what the pattern in a field matches in it.
    Directory { pattern: Option<&'static str> },
}

/// Every tool that is known to touch files.
const FILE_TOOLS: [(&str, Access, Target); 9] = [
    ("Read", Access::Read, Target::File),
    ("Write", Access::Write, Target::File),
    ("Edit", Access::Write, Target::File),
    ("MultiEdit", Access::Write, Target::File),
    ("NotebookRead", Access::Read, Target::File),
    ("NotebookEdit", Access::Write, Target::File),
    ("LS", Access::Read, Target::Directory { pattern: None }),
    ("Glob", Access::Read, Target::Directory { pattern: Some("pattern") }),
    ("Grep", Access::Read, Target::Directory { pattern: Some("glob") }),
];

/// The fields in which one agent or another gives a path. Every one that is there is judged.
pub(crate) const PATH_FIELDS: [&str; 5] = ["file_path", "filePath", "notebook_path", "notebookPath", "path"];

impl PathGate {
    /// A gate that asks these rules.
    pub fn new(rules: Arc<PathRules>) -> Self {
        Self { rules }
    }

    fn judge(&self, call: &ToolCall, access: Access, target: &Target) -> Result<(), String> {
        let text = |field: &str| match call.input.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("The tool {} needs `{field}` as a string.", call.name)),
        };
        let given = PATH_FIELDS.iter().filter_map(|field| text(field).transpose());
        let mut paths = given.collect::<Result<Vec<_>, _>>()?;
        let pattern = match target {
            Target::File if paths.is_empty() => return Err(format!("The tool {} needs a path.", call.name)),
            Target::File => None,
            Target::Directory { pattern } => pattern.map(text).transpose()?.flatten(),
        };
        if paths.is_empty() {
            paths.push("");
        }
        paths.iter().try_for_each(|path| {
            self.judge_path(path, access)?;
            pattern.map_or(Ok(()), |pattern| self.judge_pattern(path, pattern))
        })
    }

    fn judge_path(&self, path: &str, access: Access) -> Result<(), String> {
        plain(path)?;
        self.judge_place(&self.rules.root().join(path), access, path)
    }

    fn judge_pattern(&self, directory: &str, pattern: &str) -> Result<(), String> {
        plain(pattern)?;
        let directory = self.rules.root().join(directory);
        for start in starts(pattern).ok_or_else(|| outside(pattern))? {
            self.judge_place(&directory.join(start), Access::Read, pattern)?;
        }
        Ok(())
    }

    fn judge_place(&self, path: &Path, access: Access, shown: &str) -> Result<(), String> {
        let real = real_path(path).map_err(|_| outside(shown))?;
        self.rules.check(&real, access, shown)
    }
}

/// Refuses what some tools read differently than it is judged here: without the white space around it, or
/// with the home directory for its `~`.
fn plain(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH {
        return Err(format!("The path is longer than {MAX_PATH} bytes."));
    }
    if path.contains('\0') {
        return Err("The path contains a NUL character.".into());
    }
    if path.trim() != path {
        return Err(format!("Path '{path}' begins or ends with white space."));
    }
    if path.starts_with('~') {
        return Err(format!("Path '{path}' begins with '~'. Write it relative to the project directory."));
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
        // That its paths are in order does not say that a tool may be used.
        self.judge(call, *access, target).map_or_else(Decision::Deny, |()| Decision::Abstain)
    }
}

#[cfg(test)]
mod tests;
