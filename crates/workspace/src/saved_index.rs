//! A copy of an index, which can be put back. The time of the file is a part of it: git trusts what the index says about a file unless
//! the file was changed in the same second as the index or later, so an index that looks younger than it is hides changes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

pub(crate) struct SavedIndex {
    content: Vec<u8>,
    modified: SystemTime,
}

impl SavedIndex {
    pub(crate) fn read(index: &Path) -> io::Result<Self> {
        // The time first: if git writes the index meanwhile, it looks older than it is, which only makes git look at files.
        let modified = index.metadata()?.modified()?;
        Ok(Self { content: fs::read(index)?, modified })
    }

    /// Puts the index back, unless git is writing it now.
    pub(crate) fn restore(&self, index: &Path) -> io::Result<()> {
        let lock = index.with_extension("lock");
        match File::create_new(&lock) {
            Ok(file) => self.write(file).and_then(|()| fs::rename(&lock, index)).inspect_err(|_| {
                // Git would refuse to work.
                let _ = fs::remove_file(&lock);
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the index `to`, which is out of the user's reach.
    pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
        let new = to.with_extension("new");
        Self::read(from)?.write(File::create(&new)?)?;
        fs::rename(&new, to)
    }

    fn write(&self, mut file: File) -> io::Result<()> {
        file.write_all(&self.content)?;
        file.set_modified(self.modified)
    }
}
