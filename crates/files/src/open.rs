//! Opening a regular file without waiting for anybody.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Kind, ReadError};

/// A pipe that nobody writes to is not waited for, a terminal does not become ours, and no child inherits the file.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// What is known of the regular file at `path`, links followed; none if there is nothing.
pub fn find_regular(path: &Path) -> Result<Option<Metadata>, ReadError> {
    match fs::metadata(path) {
        Ok(metadata) => regular(metadata).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the regular file at `path` to read it, links followed; none if there is nothing.
pub fn open_regular(path: &Path) -> Result<Option<File>, ReadError> {
    // Looked at before it is opened: opening a device may do something, such as rewind a tape.
    if find_regular(path)?.is_none() {
        return Ok(None);
    }
    match rustix::fs::open(path, FLAGS, rustix::fs::Mode::empty()) {
        Ok(file) => checked(file.into()).map(Some),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Opens the regular file at `path` below `root` to read it. Whatever somebody puts in its way meanwhile, it leads
/// nowhere else: no link is followed.
pub fn open_beneath(root: &Path, path: &Path) -> Result<File, ReadError> {
    let metadata = root.join(path).symlink_metadata()?;
    regular(metadata)?;
    checked(beneath(root, path)?)
}

#[cfg(target_os = "linux")]
fn beneath(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, ResolveFlags, openat2};
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, directory, Mode::empty())?;
    let ways = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&root, path, FLAGS, Mode::empty(), ways)?.into())
}

#[cfg(not(target_os = "linux"))]
fn beneath(root: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::Mode;
    Ok(rustix::fs::open(root.join(path), FLAGS | OFlags::NOFOLLOW, Mode::empty())?.into())
}

/// The file may be another one than the one that was looked at.
fn checked(file: File) -> Result<File, ReadError> {
    regular(file.metadata()?)?;
    Ok(file)
}

fn regular(metadata: Metadata) -> Result<Metadata, ReadError> {
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err(ReadError::NotRegular(Kind::of(metadata.file_type()))),
    }
}
