//! Files and directories that a command has made unreadable. We open them to copy, restore and look at what is there, and close them again
//! before the next command runs, which finds them as they were left.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What we need of a directory and of a file.
const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o400;

/// The most files that are looked at.
const MAX_FILES: usize = 1_000_000;

/// What was opened below a tree, directories before what is in them, with the permissions that it had.
#[derive(Debug, Clone, Default)]
pub(crate) struct Withheld(Vec<(PathBuf, u32)>);

impl Withheld {
    /// Opens everything below `tree`, where nothing runs.
    pub(crate) fn open(tree: &Path) -> Self {
        let mut opened = Vec::new();
        let (mut left, mut seen) = (vec![PathBuf::new()], 0);
        while let Some(path) = left.pop() {
            seen += 1;
            let full = tree.join(&path);
            let Ok(metadata) = full.symlink_metadata() else { continue };
            let needed = match metadata.file_type() {
                kind if kind.is_dir() => DIRECTORY,
                kind if kind.is_file() => FILE,
                _ => continue,
            };
            let mode = metadata.permissions().mode() & 0o7777;
            if mode & needed != needed && set_mode(&full, mode | needed).is_ok() {
                opened.push((path.clone(), mode));
            }
            if metadata.is_dir() && seen < MAX_FILES {
                let entries = fs::read_dir(&full).into_iter().flatten().flatten();
                left.extend(entries.map(|entry| path.join(entry.file_name())));
            }
        }
        Self(opened)
    }

    /// Closes it again, except for what `is_kept` says.
    pub(crate) fn close(&self, tree: &Path, is_kept: impl Fn(&Path) -> bool) {
        for (path, mode) in self.0.iter().rev() {
            let full = tree.join(path);
            // It may have been replaced since then.
            let is_same = full.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink());
            if is_same && !is_kept(&full) {
                // Ignored: it was ours to open, and is open for the command then.
                let _ = set_mode(&full, *mode);
            }
        }
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{Withheld, set_mode};

    #[test]
    fn what_is_opened_is_closed_again() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/file"), "").unwrap();
        fs::write(tree.join("plain"), "").unwrap();
        symlink("/etc/shadow", tree.join("link")).unwrap();
        for (path, mode) in [("a/b/file", 0), ("a/b", 0o111), ("a", 0)] {
            set_mode(&tree.join(path), mode).unwrap();
        }
        let modes = || {
            ["a", "a/b", "a/b/file", "plain"].map(|path| {
                fs::symlink_metadata(tree.join(path)).map_or(0, |data| data.permissions().mode() & 0o777)
            })
        };
        let withheld = Withheld::open(tree);
        let opened = modes();
        assert_eq!(opened[..3], [0o700, 0o711, 0o400]);
        withheld.close(tree, |path| path.ends_with("a"));
        assert_eq!(modes(), [0o700, 0o111, 0, opened[3]]);
        withheld.close(tree, |_| false);
        set_mode(&tree.join("a"), 0o700).unwrap();
    }
}
