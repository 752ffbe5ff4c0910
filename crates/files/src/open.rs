//! Opens regular files without ever blocking.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

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
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, directory, rustix::fs::Mode::empty())?;
    Ok(open_within(&root, path, flags)?.into())
}

/// Opens `path` below an open directory, part by part. No link is followed; with `OFlags::PATH`, one at the end is opened itself.
///
/// `openat2` would do this in one call, but it does not exist in rooms, where Autonoe runs when an agent works with it.
#[cfg(target_os = "linux")]
pub fn open_within(root: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, openat};
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::ParentDir if names.pop().is_some() => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                return Err(rustix::io::Errno::XDEV.into());
            }
        }
    }
    let last = names.pop().unwrap_or(OsStr::new("."));
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parent: Option<OwnedFd> = None;
    for name in names {
        let within = parent.as_ref().map_or_else(|| root.as_fd(), AsFd::as_fd);
        parent = Some(openat(within, name, directory, Mode::empty())?);
    }
    let within = parent.as_ref().map_or_else(|| root.as_fd(), AsFd::as_fd);
    Ok(openat(within, last, flags | OFlags::NOFOLLOW, Mode::empty())?)
}

#[cfg(not(target_os = "linux"))]
fn beneath_with(root: &Path, path: &Path, flags: OFlags) -> io::Result<File> {
    use rustix::fs::Mode;
    Ok(rustix::fs::open(root.join(path), flags | OFlags::NOFOLLOW, Mode::empty())?.into())
}

/// Opens the regular file `name` in an open directory, and follows no link; `None` if nothing exists there.
pub(crate) fn opened_regular(directory: impl AsFd, name: &OsStr) -> Result<Option<File>, ReadError> {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_opened_is_below_the_directory_and_behind_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(dir.path().join("file"), "outside").unwrap();
        symlink(dir.path(), root.join("a/up")).unwrap();
        symlink("b", root.join("a/same")).unwrap();
        symlink("b/file", root.join("a/last")).unwrap();
        let opened = File::open(&root).unwrap();
        let within = |path: &str, flags| open_within(&opened, Path::new(path), flags);
        for path in ["a/b/file", "./a//b/./file", "a/b/../b/file"] {
            assert_eq!(
                io::read_to_string(File::from(within(path, FLAGS).unwrap())).unwrap(),
                "inside",
                "{path}"
            );
        }
        for path in ["../file", "a/../../file", "/etc/passwd", "a/up/file", "a/same/file", "a/last", "a/none"]
        {
            assert!(within(path, FLAGS).is_err(), "{path}");
        }
        let itself = File::from(within("a/last", OFlags::PATH).unwrap());
        assert!(itself.metadata().unwrap().is_symlink());
        assert!(File::from(within(".", FLAGS).unwrap()).metadata().unwrap().is_dir());
    }
}
