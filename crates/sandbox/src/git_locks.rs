//! Git's lock files: `index.lock`, `HEAD.lock`, `refs/heads/main.lock` and the like. A git that is killed leaves them behind,
//! and later git commands fail because of them.
//!
//! This module finds lock files and checks whether a visible process may still need one. `record` decides who created them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use autonoe_files::{read_bytes_beneath, read_text};
use serde::{Deserialize, Serialize};

use crate::in_use::{InUse, identity};
use crate::repository::Repository;
use crate::system;

/// Maximum size of `.gitmodules`, in bytes.
const MODULES_LIMIT: u64 = 1024 * 1024;

/// Maximum size of a file that names a working tree, in bytes.
const GITDIR_LIMIT: u64 = 64 * 1024;

/// Limits for the search through a repository: directory entries in total, and depth.
const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 24;

/// Directories of a repository without locks of ours: files of other programs, and the state of other working trees.
const SKIPPED: [&str; 4] = ["annex", "hooks", "lfs", "worktrees"];

/// Locks in the shared directory that concern all working trees of a repository.
const SHARED: [&str; 5] =
    ["ORIG_HEAD.lock", "config.lock", "gc.pid.lock", "packed-refs.lock", "shallow.lock"];

/// A lock file of git, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitLock {
    pub path: PathBuf,
    device: u64,
    inode: u64,
    owner: u32,
    changed: SystemTime,
}

impl GitLock {
    /// The lock at `path`; `None` unless it is a regular file with the name of a lock.
    pub fn at(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        // Git's own lock names are always valid UTF-8.
        let is_lock = metadata.is_file() && path.to_str().is_some_and(|path| path.ends_with(".lock"));
        let changed = changed(path)?;
        is_lock.then(|| Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            owner: metadata.uid(),
            changed,
        })
    }

    /// Whether it is the same file, changed or not.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode)
    }

    /// Whether it belongs to our user and was last changed in this period.
    pub fn is_ours_between(&self, from: SystemTime, to: SystemTime) -> bool {
        self.owner == rustix::process::geteuid().as_raw() && from <= self.changed && self.changed <= to
    }

    /// The process that may need it: one that has it open, or a git that works in its repository. The second is needed
    /// because a git that waits for an editor has closed its lock file.
    pub fn in_use(&self, root: &Path, repository: &Repository) -> InUse {
        let directories = repository.work_directories(root);
        let directories: Vec<_> =
            directories.iter().filter_map(|directory| identity(directory).ok()).collect();
        system::process_using((self.device, self.inode), self.owner, &directories)
    }

    /// Removes it, if it is still the same file.
    pub fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path) {
            Some(now) if now.is_same_file(self) => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// The change time (ctime) of a file. Unlike the modification time, programs cannot set it.
pub(crate) fn changed(path: &Path) -> Option<SystemTime> {
    let metadata = path.symlink_metadata().ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(metadata.ctime()).ok()?, nanoseconds))
}

impl Repository {
    /// The lock files in the repository and its submodules. Links are not followed.
    pub fn locks(&self, root: &Path) -> Vec<GitLock> {
        let mut found = Vec::new();
        let mut left = MAX_ENTRIES;
        // For a linked working tree, all other locks in the shared directory belong to the main working tree.
        let shared = self.directories.first().filter(|_| self.directories.len() > 1);
        for directory in self.directories.iter().cloned().chain(self.directories_in_submodules(root)) {
            // A link that has replaced the directory since would lead elsewhere.
            if directory.canonicalize().is_ok_and(|real| real == directory) {
                collect(&directory, MAX_DEPTH, &mut left, &mut found);
            }
        }
        found.retain(|lock| {
            lock.path.parent() != shared.map(PathBuf::as_path)
                || SHARED.iter().any(|name| lock.path.file_name() == Some(name.as_ref()))
        });
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found.dedup_by(|one, other| one.path == other.path);
        found
    }

    /// The possible working directories of a git in this repository: its `.git` directories and all its working trees.
    fn work_directories(&self, root: &Path) -> Vec<PathBuf> {
        let mut directories = vec![self.top(root).to_owned()];
        directories.extend(self.directories.iter().cloned());
        let Some(shared) = self.directories.first() else {
            return directories;
        };
        directories.extend(shared.parent().filter(|_| shared.ends_with(".git")).map(Path::to_owned));
        let linked = fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
        let named = linked.filter_map(|entry| read_text(&entry.path().join("gitdir"), GITDIR_LIMIT).ok()?);
        directories.extend(named.filter_map(|git| Some(Path::new(git.trim_end()).parent()?.to_owned())));
        directories
    }

    /// Repositories of submodules that are in the working tree itself, as old versions of git created them. All others are
    /// in the `modules` directory of our repository.
    fn directories_in_submodules(&self, root: &Path) -> Vec<PathBuf> {
        let top = self.top(root);
        let list = read_bytes_beneath(top, Path::new(".gitmodules"), MODULES_LIMIT).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let named =
            list.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim().strip_prefix('='));
        let inside = named.map(|name| top.join(name.trim()).join(".git"));
        inside.filter(|directory| directory.starts_with(top) && directory.is_dir()).collect()
    }
}

fn collect(directory: &Path, depth: usize, left: &mut usize, found: &mut Vec<GitLock>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_file() {
            found.extend(GitLock::at(&entry.path()));
        } else if kind.is_dir()
            && depth > 0
            && !SKIPPED.iter().any(|skipped| name == *skipped)
            && !is_object_directory(&name)
        {
            collect(&entry.path(), depth - 1, left, found);
        }
    }
}

/// Whether a directory contains loose objects, judging by its name: there may be many of these, and they have no locks.
fn is_object_directory(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.len() == 2 && bytes.iter().all(u8::is_ascii_hexdigit)
}
