//! Writes files in directories that others can write.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Puts a new file at `path` below `root`, whose directories must exist. What is there is replaced, never opened, and no link is
/// followed, even if someone replaces a part of the path meanwhile.
pub fn replace_beneath(root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut directory: OwnedFd = rustix::fs::open(root, DIRECTORY, Mode::empty())?;
    for component in path.parent().into_iter().flat_map(Path::components) {
        directory = openat(&directory, component.as_os_str(), DIRECTORY, Mode::empty())?;
    }
    let new = format!(".{}.{}.new", name.to_string_lossy(), std::process::id());
    // Left behind by a process that was killed; that it is missing is the usual case.
    let _ = unlinkat(&directory, &new, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&directory, &new, flags, Mode::from_raw_mode(0o644))?);
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| Ok(renameat(&directory, &new, &directory, name)?));
    if placed.is_err() {
        // Ignored: the error that matters is the first one.
        let _ = unlinkat(&directory, &new, AtFlags::empty());
    }
    placed
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::replace_beneath;

    #[test]
    fn links_are_replaced_and_never_followed() {
        let directory = tempfile::tempdir().expect("directory");
        let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
        fs::create_dir_all(root.join("sub")).expect("directory");
        fs::create_dir(&outside).expect("directory");
        fs::write(outside.join("file"), "the user's").expect("written");
        symlink(outside.join("file"), root.join("file")).expect("link");
        symlink(&outside, root.join("link")).expect("link");
        for path in ["file", "sub/file"] {
            replace_beneath(&root, Path::new(path), b"new").expect("replaced");
            assert_eq!(fs::read_to_string(root.join(path)).expect("text"), "new");
        }
        for path in ["link/file", "missing/file", "../outside/file/x", ""] {
            assert!(replace_beneath(&root, Path::new(path), b"new").is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.join("file")).expect("text"), "the user's");
        assert_eq!(fs::read_dir(&root).expect("entries").count(), 3, "nothing is left");
    }
}
