//! Which paths the file tools may touch: nothing outside the project, never `.autonoe/` or `.git/` for
//! writing, and in `sync` only the hand-over note. Paths are judged where they really lead.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::Value;

use crate::paths::{NOTE, protection, real_path};

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Project files.
    Project,
    /// The hand-over note only.
    NoteOnly,
}

/// Judges the paths of file tools.
pub struct PathGate {
    root: PathBuf,
    writes: Writes,
}

enum Access {
    Read,
    Write,
}

impl PathGate {
    /// A gate for the project at `root`, which must be canonical.
    pub fn new(root: &Path, writes: Writes) -> Self {
        Self { root: root.to_owned(), writes }
    }

    fn judge(&self, access: &Access, path: &str) -> Decision {
        let outside = || Decision::Deny(format!("Path '{path}' is outside the project directory."));
        if path.contains('\0') {
            return Decision::Deny("The path contains a NUL character.".into());
        }
        let Ok(real) = real_path(&self.root.join(path)) else {
            return outside();
        };
        let Ok(inside) = real.strip_prefix(&self.root) else {
            return outside();
        };
        match (access, self.writes) {
            (Access::Read, _) => Decision::Allow,
            (Access::Write, Writes::NoteOnly) if inside == Path::new(NOTE) => Decision::Allow,
            (Access::Write, Writes::NoteOnly) => {
                Decision::Deny(format!("This phase may write only {NOTE}, not '{path}'."))
            }
            (Access::Write, Writes::Project) => match protection(inside) {
                Some(reason) => Decision::Deny(reason.into()),
                None => Decision::Allow,
            },
        }
    }
}

/// The path a call touches and how, if it is a file tool's.
fn target(call: &ToolCall) -> Option<(Access, Option<&Value>)> {
    let field = |name: &str| call.input.get(name);
    match call.name.as_str() {
        "Read" => Some((Access::Read, field("file_path"))),
        "Glob" | "Grep" => Some((Access::Read, field("path"))),
        "Write" | "Edit" => Some((Access::Write, field("file_path"))),
        _ => None,
    }
}

#[async_trait]
impl Gate for PathGate {
    fn name(&self) -> &str {
        "paths"
    }

    async fn check(&self, call: &ToolCall) -> Decision {
        match target(call) {
            None => Decision::Abstain,
            Some((access, Some(Value::String(path)))) => self.judge(&access, path),
            Some((Access::Read, None | Some(Value::Null))) => Decision::Allow,
            Some(_) => Decision::Deny(format!("The tool {} needs its path as a string.", call.name)),
        }
    }
}

#[cfg(test)]
mod tests;
