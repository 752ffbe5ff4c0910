//! Opens regular files without ever blocking.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};

use crate::error::{FileKind, ReadError};

/// A pipe without a writer does not block, a terminal does not become our controlling terminal, and no child
/// inherits the file.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Follows links; `None` if nothing exists at `path`.
pub fn find_regular(path: &Path) -> Result<Option<Metadata>, ReadError> {
    match fs::metadata(path) {
        Ok(metadata) => regular(metadata).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Follows links; `None` if nothing exists at `path`.
pub fn open_regular(path: &Path) -> Result<Option<File>, ReadError> {
    // Checked before opening: opening a device may have side effects, such as rewinding a tape.
    if find_regular(path)?.is_none() {
        return Ok(None);
    }
    match rustix::fs::open(path, FLAGS, rustix::fs::Mode::empty()) {
        Ok(file) => checked(file.into()).map(Some),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Opens a regular file for reading and writing, and creates it if nothing exists at `path`. For lock files, which
/// have no content.
pub fn open_or_create(path: &Path) -> Result<File, ReadError> {
    find_regular(path)?;
    let flags = FLAGS.difference(OFlags::RDONLY) | OFlags::RDWR | OFlags::CREATE;
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    checked(rustix::fs::open(path, flags, mode).map_err(io::Error::from)?.into())
}

/// Opens the regular file at `path` below `root`. No link is followed, even if someone replaces a part of the
/// path meanwhile.
pub fn open_beneath(root: &Path, path: &Path) -> Result<File, ReadError> {
    let metadata = root.join(path).symlink_metadata()?;
    regular(metadata)?;
    checked(beneath(root, path)?)
}

/// The path that the symbolic link at `path` below `root` names; `None` if it is not a link. No other link is followed.
pub fn link_beneath(root: &Path, path: &Path) -> Result<Option<PathBuf>, ReadError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let parent = if parent == Path::new("") { Path::new(".") } else { parent };
    let parent = beneath_with(root, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
    match rustix::fs::readlinkat(&parent, name, Vec::new()) {
        Ok(target) => Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes())))),
        Err(rustix::io::Errno::INVAL) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

fn beneath(root: &Path, path: &Path) -> io::Result<File> {
    beneath_with(root, path, FLAGS)
}

#[cfg(target_os = "linux")]
fn beneath_with(root: &Path, path: &Path, flags: OFlags) -> io::Result<File> {
    use rustix::fs::{Mode, ResolveFlags, openat2};
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, directory, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&root, path, flags, Mode::empty(), resolve)?.into())
}

#[cfg(not(target_os = "linux"))]
fn beneath_with(root: &Path, path: &Path, flags: OFlags) -> io::Result<File> {
    use rustix::fs::Mode;
    Ok(rustix::fs::open(root.join(path), flags | OFlags::NOFOLLOW, Mode::empty())?.into())
}

/// Opens the regular file `name` in an open directory, and follows no link; `None` if nothing exists there.
pub(crate) fn opened_regular(
    directory: impl std::os::fd::AsFd,
    name: &std::ffi::OsStr,
) -> Result<Option<File>, ReadError> {
    use rustix::fs::{AtFlags, Mode, openat, statat};
    use rustix::io::Errno;
    // Checked before opening, as above.
    let kind = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    let other = match kind {
        FileType::RegularFile => None,
        FileType::Directory => Some(FileKind::Directory),
        FileType::Symlink => Some(FileKind::Link),
        FileType::Fifo => Some(FileKind::NamedPipe),
        FileType::Socket => Some(FileKind::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => Some(FileKind::Device),
        FileType::Unknown => Some(FileKind::Unknown),
    };
    if let Some(kind) = other {
        return Err(ReadError::NotRegular(kind));
    }
    match openat(&directory, name, FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => checked(file.into()).map(Some),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// The file may have been replaced since it was checked.
fn checked(file: File) -> Result<File, ReadError> {
    regular(file.metadata()?)?;
    Ok(file)
}

pub(crate) fn regular(metadata: Metadata) -> Result<Metadata, ReadError> {
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err(ReadError::NotRegular(FileKind::of(metadata.file_type()))),
    }
}
