//! An opened directory. What is in it is reached by a single name from its descriptor and never through a
//! link, so that nobody who moves directories and links about can lead us somewhere else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::{Errno, Result};

/// A directory that is only passed through need not be listed; Linux asks for no right to do so.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// What a new file and a new directory may be, before the umask takes its share.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);

/// An opened directory and the real path it was opened by.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    real: PathBuf,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum For {
    Reading,
    Changing,
}

/// What a name in a directory stands for, as far as a walk cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Other,
}

/// When something changed last: seconds and nanoseconds.
pub(crate) type Changed = (i128, i128);

impl Folder {
    /// Opens an absolute path, one directory after the other. A link on the way is an error.
    pub(crate) fn at(real: &Path) -> Result<Self> {
        let mut components = real.components();
        let Some(Component::RootDir) = components.next() else { return Err(Errno::INVAL) };
        let fd = rustix::fs::open("/", PASS | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let root = Self { fd, real: PathBuf::from("/") };
        components.try_fold(root, |folder, component| match component {
            Component::Normal(name) => folder.enter(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                Err(Errno::INVAL)
            }
        })
    }

    /// An opened file that turned out to be a directory.
    pub(crate) fn from_file(file: File, real: PathBuf) -> Self {
        Self { fd: file.into(), real }
    }

    /// Where it was when it was opened.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// A directory in it.
    pub(crate) fn enter(&self, name: &OsStr) -> Result<Self> {
        let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, single(name)?, flags, Mode::empty())?;
        Ok(Self { fd, real: self.real.join(name) })
    }

    /// A directory in it, made if there is none.
    pub(crate) fn enter_or_make(&self, name: &OsStr) -> Result<Self> {
        match mkdirat(&self.fd, single(name)?, NEW_DIRECTORY) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error),
        }
    }

    /// Something in it, whatever it is. A pipe does not make us wait, and a terminal does not become ours.
    pub(crate) fn open(&self, name: &OsStr, purpose: For) -> Result<File> {
        let access = match purpose {
            For::Reading => OFlags::RDONLY,
            For::Changing => OFlags::RDWR,
        };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.fd, single(name)?, flags, Mode::empty())?.into())
    }

    /// A new file in it, which did not exist before.
    pub(crate) fn create(&self, name: &OsStr) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.fd, single(name)?, flags, NEW_FILE)?.into())
    }

    /// Gives something in it another name, which is taken from whatever has it.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        renameat(&self.fd, single(from)?, &self.fd, single(to)?)
    }

    /// Removes a file or link from it.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<()> {
        unlinkat(&self.fd, single(name)?, AtFlags::empty())
    }

    /// When the file or link of this name changed last.
    pub(crate) fn changed(&self, name: &OsStr) -> Result<Changed> {
        let stat = statat(&self.fd, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((stat.st_mtime.into(), stat.st_mtime_nsec.into()))
    }

    /// The names in it, in order.
    pub(crate) fn list(&self) -> Result<Vec<(OsString, Kind)>> {
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

    fn kind(&self, name: &OsStr, told: FileType) -> Kind {
        let stat = || statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        // Some file systems tell nothing with the name.
        let kind = match told {
            FileType::Unknown => stat().map_or(told, |stat| FileType::from_raw_mode(stat.st_mode)),
            _ => told,
        };
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            _ => Kind::Other,
        }
    }
}

/// A name that stays in its directory.
fn single(name: &OsStr) -> Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(Errno::INVAL),
    }
}
