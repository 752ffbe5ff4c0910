//! An entry of an opened directory, and replacing its content atomically.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::directory::{Directory, OpenMode};

/// How many names to try for a temporary file.
const MAX_TRIES: usize = 16;
/// The mode bits that a replaced file keeps.
const KEPT_MODE: u32 = 0o777;

/// A name in an opened directory, whether or not a file with that name exists.
#[derive(Debug)]
pub(crate) struct DirEntry {
    folder: Directory,
    name: OsString,
}

impl DirEntry {
    pub(crate) fn new(folder: Directory, name: OsString) -> Self {
        Self { folder, name }
    }

    pub(crate) fn real(&self) -> PathBuf {
        self.folder.real().join(&self.name)
    }

    pub(crate) fn open(&self, purpose: OpenMode) -> rustix::io::Result<File> {
        self.folder.open(&self.name, purpose)
    }

    /// Atomically replaces the file with a new one that has this content and the mode of `old`. Hard links to the old file
    /// keep the old content.
    pub(crate) fn replace(&self, content: &[u8], old: Option<&std::fs::Metadata>) -> io::Result<()> {
        let mut temporary = TemporaryFile::new(&self.folder)?;
        temporary.file.write_all(content)?;
        if let Some(old) = old {
            let mode = Permissions::from_mode(old.permissions().mode() & KEPT_MODE);
            temporary.file.set_permissions(mode)?;
        }
        temporary.rename(&self.name)
    }
}

/// A temporary file, which is removed on drop unless it was renamed.
struct TemporaryFile<'a> {
    folder: &'a Directory,
    name: OsString,
    file: File,
}

impl<'a> TemporaryFile<'a> {
    fn new(folder: &'a Directory) -> io::Result<Self> {
        for _ in 0..MAX_TRIES {
            let name = OsString::from(format!(".autonoe-{:016x}", fastrand::u64(..)));
            match folder.create(&name) {
                Ok(file) => return Ok(Self { folder, name, file }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn rename(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, name)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // There is no way to report an error here.
            let _ = self.folder.remove(&self.name);
        }
    }
}
