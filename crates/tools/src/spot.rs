//! A place for a file, in an opened directory, and putting content there: the whole of it or nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::folder::{Folder, For};

/// How often a name for a temporary file may be taken already.
const MAX_TRIES: usize = 16;
/// What of a file's mode its new content keeps.
const KEPT_MODE: u32 = 0o777;

/// A name in an opened directory, whether there is a file of that name or not.
#[derive(Debug)]
pub(crate) struct Spot {
    folder: Folder,
    name: OsString,
}

impl Spot {
    pub(crate) fn new(folder: Folder, name: OsString) -> Self {
        Self { folder, name }
    }

    /// The path of the file.
    pub(crate) fn real(&self) -> PathBuf {
        self.folder.real().join(&self.name)
    }

    pub(crate) fn open(&self, purpose: For) -> rustix::io::Result<File> {
        self.folder.open(&self.name, purpose)
    }

    /// Puts a new file with this content in the place, in one step. It has the mode of `old`, if there is
    /// one. Other names of the old file keep the old content.
    pub(crate) fn put(&self, content: &[u8], old: Option<&std::fs::Metadata>) -> io::Result<()> {
        let mut temporary = Temporary::new(&self.folder)?;
        temporary.file.write_all(content)?;
        if let Some(old) = old {
            let mode = Permissions::from_mode(old.permissions().mode() & KEPT_MODE);
            temporary.file.set_permissions(mode)?;
        }
        temporary.rename(&self.name)
    }
}

/// A file that is removed again unless it gets its name.
struct Temporary<'a> {
    folder: &'a Folder,
    name: OsString,
    file: File,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a Folder) -> io::Result<Self> {
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

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // Nothing is left to tell it to.
            let _ = self.folder.remove(&self.name);
        }
    }
}
