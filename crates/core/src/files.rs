//! File rules: what may be read and written, asked by anyone who opens a file, about what it really opens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content or its name is shown.
    Read,
    /// It is created or changed. What may be written may be read as well.
    Write,
}

/// Files in the project that nobody may write for now, absolute: what checks judge by. It may grow between sessions.
pub type Guarded = Arc<RwLock<Vec<PathBuf>>>;

/// Judges files by where they really are. A gate looks at a call before it runs; these rules are asked
/// again when a file is opened, since a link may have moved in the meantime.
pub trait FileRules: fmt::Debug + Send + Sync {
    /// Judges a real path: absolute, without links, `.` and `..`. An error is the reason, for the agent.
    fn judge(&self, real: &Path, access: Access) -> Result<(), String>;
}
