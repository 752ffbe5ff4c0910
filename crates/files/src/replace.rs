//! Writes files in directories that others can write.

use std::io;
use std::path::Path;

use crate::untrusted_dir::{UntrustedDir, Visibility};

/// Puts a new file at `path` below `root`, whose directories must exist. What is there is replaced, never opened, and no link is
/// followed, even if someone replaces a part of the path meanwhile.
pub fn replace_beneath(root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    replace(root, path, content, Visibility::Everyone)
}

/// Like [`replace_beneath`], with the permissions of the file that is there.
pub fn rewrite_beneath(root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    replace(root, path, content, Visibility::AsBefore)
}

fn replace(root: &Path, path: &Path, content: &[u8], visibility: Visibility) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let directory = UntrustedDir::open(root)?.existing(path.parent().unwrap_or(Path::new("")))?;
    directory.replace(name, content, visibility)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{replace_beneath, rewrite_beneath};

    #[test]
    fn a_file_that_is_rewritten_keeps_its_permissions() {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("file");
        for mode in [0o600, 0o755] {
            fs::write(&file, "old").expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("changed");
            rewrite_beneath(directory.path(), Path::new("file"), b"new").expect("rewritten");
            assert_eq!(file.metadata().expect("metadata").permissions().mode() & 0o777, mode);
        }
    }

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
