//! File rules: which files may be read and written. Checked again by whatever opens a file, for the path it
//! really opens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// Its content or its name is shown.
    Read,
    /// It is created or changed. Write access implies read access.
    Write,
}

/// Absolute paths of project files that must not be written for now because checks rely on them. The list may
/// grow between sessions.
pub type ProtectedFiles = Arc<RwLock<Vec<PathBuf>>>;

/// Why a file may not be opened, worded for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileDenial(pub String);

/// Decides by the real location of a file. A gate checks a call before it runs; these rules are checked again
/// when a file is opened, since a link may have changed in the meantime.
pub trait FileRules: fmt::Debug + Send + Sync {
    /// `real` is absolute and contains no links, `.` or `..`.
    fn judge(&self, real: &Path, access: FileAccess) -> Result<(), FileDenial>;
}
