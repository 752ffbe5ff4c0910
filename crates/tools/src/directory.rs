//! An opened directory. Its entries are accessed by a single name relative to its descriptor and never through a link, so
//! that moving directories or links in the meantime cannot redirect us.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::{Errno, Result};

/// The access mode for directories that are only traversed: on Linux this needs no read permission.
#[cfg(target_os = "linux")]
const TRAVERSE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE: OFlags = OFlags::RDONLY;

/// The modes of new files and directories, before the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

/// An opened directory and its real path.
#[derive(Debug)]
pub(crate) struct Directory {
    fd: OwnedFd,
    real: PathBuf,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum OpenMode {
    Read,
    ReadWrite,
}

/// The type of a directory entry, as far as a walk needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirEntryKind {
    File,
    Directory,
    Other,
}

/// A modification time: seconds and nanoseconds.
pub(crate) type ModifiedTime = (i128, i128);

impl Directory {
    /// Opens an absolute path, one directory at a time. A link on the way is an error.
    pub(crate) fn at(real: &Path) -> Result<Self> {
        let mut components = real.components();
        let Some(Component::RootDir) = components.next() else { return Err(Errno::INVAL) };
        let fd = rustix::fs::open("/", TRAVERSE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let root = Self { fd, real: PathBuf::from("/") };
        components.try_fold(root, |directory, component| match component {
            Component::Normal(name) => directory.enter(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                Err(Errno::INVAL)
            }
        })
    }

    /// An opened file that turned out to be a directory.
    pub(crate) fn from_file(file: File, real: PathBuf) -> Self {
        Self { fd: file.into(), real }
    }

    /// The real path at the time it was opened.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// Opens a subdirectory.
    pub(crate) fn enter(&self, name: &OsStr) -> Result<Self> {
        let flags = TRAVERSE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, single(name)?, flags, Mode::empty())?;
        Ok(Self { fd, real: self.real.join(name) })
    }

    /// Opens a subdirectory, and creates it if it does not exist.
    pub(crate) fn enter_or_create(&self, name: &OsStr) -> Result<Self> {
        match mkdirat(&self.fd, single(name)?, NEW_DIRECTORY) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error),
        }
    }

    /// Opens an entry of any type. Opening a pipe does not block, and a terminal does not become our controlling terminal.
    pub(crate) fn open(&self, name: &OsStr, purpose: OpenMode) -> Result<File> {
        let access = match purpose {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::ReadWrite => OFlags::RDWR,
        };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.fd, single(name)?, flags, Mode::empty())?.into())
    }

    /// Creates a file, which must not exist.
    pub(crate) fn create(&self, name: &OsStr) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.fd, single(name)?, flags, NEW_FILE)?.into())
    }

    /// Renames an entry, replacing any existing entry of the new name.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        renameat(&self.fd, single(from)?, &self.fd, single(to)?)
    }

    /// Removes a file or link.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<()> {
        unlinkat(&self.fd, single(name)?, AtFlags::empty())
    }

    /// The modification time of a file or link.
    pub(crate) fn modified(&self, name: &OsStr) -> Result<ModifiedTime> {
        let stat = statat(&self.fd, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((stat.st_mtime.into(), stat.st_mtime_nsec.into()))
    }

    /// The sorted entries.
    pub(crate) fn list(&self) -> Result<Vec<(OsString, DirEntryKind)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = openat(&self.fd, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Dir::new(listing)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push((name.to_owned(), self.kind(name, entry.file_type())));
            }
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(names)
    }

    fn kind(&self, name: &OsStr, listed: FileType) -> DirEntryKind {
        let stat = || statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        // Some file systems do not include the type in the listing.
        let kind = match listed {
            FileType::Unknown => stat().map_or(listed, |stat| FileType::from_raw_mode(stat.st_mode)),
            _ => listed,
        };
        match kind {
            FileType::RegularFile => DirEntryKind::File,
            FileType::Directory => DirEntryKind::Directory,
            _ => DirEntryKind::Other,
        }
    }
}

/// Checks that a name is a single path component.
fn single(name: &OsStr) -> Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(Errno::INVAL),
    }
}
