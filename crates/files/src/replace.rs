//! Writes files in directories that others can write.

use std::io;
use std::path::Path;

use crate::untrusted_dir::{UntrustedDir, Visibility};

/// Puts a new file at `path` below `root`, whose directories must exist. What is there is replaced, never opened, and no link is
/// followed, even if someone replaces a part of the path meanwhile.
pub fn replace_beneath(root: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let directory = UntrustedDir::open(root)?.existing(path.parent().unwrap_or(Path::new("")))?;
    directory.replace(name, content, Visibility::Everyone)
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
