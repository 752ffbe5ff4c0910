//! Whether a process may need a file, and how a file is identified.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a process may need a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InUse {
    /// No process that we can see.
    No,
    By {
        pid: i32,
        name: String,
    },
    /// This system does not show what other processes use.
    Unknown,
}

/// The device and inode of a file or directory.
pub(crate) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}
