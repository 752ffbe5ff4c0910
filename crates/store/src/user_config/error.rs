//! What is wrong with `config.toml`.

use std::fmt;
use std::path::PathBuf;

use autonoe_core::nearest::nearest;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UserConfigError {
    #[error("{0}")]
    Toml(TomlError),
    #[error("field sandbox.{field}[{index}]: {problem}")]
    Path { field: &'static str, index: usize, problem: PathProblem },
    #[error("field prices.{model}: a price must be a number of dollars, at least 0")]
    Price { model: String },
    #[error("field agents.{agent}.command: name a program, such as [\"opencode\", \"acp\"]")]
    Command { agent: String },
    /// The value may be the secret itself, so it is not quoted.
    #[error(
        "field webhooks.secret_variable: expected the name of an environment variable, such as HOOK_SECRET; the \
         secret itself must not be in this file"
    )]
    SecretVariable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TomlError {
    /// `.` is the document.
    pub field: String,
    pub message: String,
    /// Counted from 1.
    pub line: Option<usize>,
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field != "." {
            write!(f, "field {}: ", self.field)?;
        }
        f.write_str(&self.message)?;
        self.line.map_or(Ok(()), |line| write!(f, " at line {line}"))?;
        match self.meant() {
            Some(meant) => write!(f, " (did you mean `{meant}`?)"),
            None => Ok(()),
        }
    }
}

impl TomlError {
    /// The valid name that is most similar to an unknown one. Serde has both in its message only.
    fn meant(&self) -> Option<&str> {
        let is_unknown =
            ["unknown field `", "unknown variant `"].iter().any(|start| self.message.starts_with(start));
        let mut names = self.message.split('`').skip(1).step_by(2);
        let given = names.next().filter(|_| is_unknown)?;
        nearest(given, names)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PathProblem {
    #[error("'{}' needs a home directory, and HOME is not set", .0.display())]
    NoHome(PathBuf),
    #[error("'{}' is relative; write an absolute path or one that begins with ~/", .0.display())]
    Relative(PathBuf),
    #[error("'{}' contains '..'; write the resolved path", .0.display())]
    Parent(PathBuf),
}
