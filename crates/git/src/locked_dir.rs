//! Directories that are locked while somebody uses them, so that what killed processes have left can be told from them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::remove_tree;
use tempfile::TempDir;

/// A directory in a directory of ours, removed on drop.
#[derive(Debug)]
pub struct LockedDir {
    directory: TempDir,
    // Last, so that nobody takes what is being removed for a leftover.
    _lock: File,
}

impl LockedDir {
    pub fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // Nobody looks for leftovers between the next two steps.
        let creating = File::open(parent)?;
        creating.lock_shared()?;
        let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let lock = File::open(directory.path())?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes what nobody uses in `parent`. Leftovers do no harm, so what cannot be removed stays.
    pub fn sweep(parent: &Path) {
        for (path, _lock) in leftovers(parent).unwrap_or_default() {
            let _ = remove_tree(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

/// What nobody uses in `parent`, locked. What cannot be opened is nobody's: a program has changed its permissions.
fn leftovers(parent: &Path) -> io::Result<Vec<(PathBuf, Option<File>)>> {
    let looking = File::open(parent)?;
    looking.lock()?;
    let paths = fs::read_dir(parent)?.flatten().map(|entry| entry.path());
    let unused = paths.filter_map(|path| match File::open(&path) {
        Ok(file) => file.try_lock().is_ok().then_some((path, Some(file))),
        Err(_) => Some((path, None)),
    });
    Ok(unused.collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::LockedDir;

    #[test]
    fn only_what_nobody_uses_is_swept() {
        let parent = tempfile::tempdir().expect("made");
        let used = LockedDir::new_in(&parent.path().join("scratch"), "git-").expect("made");
        let scratch = used.path().parent().expect("a parent").to_owned();
        for left in ["git-left/work", "closed"] {
            fs::create_dir_all(scratch.join(left)).expect("made");
        }
        fs::write(scratch.join("file"), "").expect("written");
        fs::set_permissions(scratch.join("closed"), Permissions::from_mode(0o000)).expect("changed");
        LockedDir::sweep(&scratch);
        let left: Vec<_> =
            fs::read_dir(&scratch).expect("read").flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, [used.path()]);
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
        LockedDir::sweep(&parent.path().join("nowhere"));
    }
}
