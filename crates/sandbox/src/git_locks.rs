//! Git's lock files: `index.lock`, `HEAD.lock`, `refs/heads/main.lock` and the like. Git removes its own unless it is killed, and does
//! nothing more where one is left.
//!
//! Here they are found, and it is asked whether a process that can be seen may still need one. Whose they are is decided in `record`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use autonoe_files::read_bytes_beneath;
use serde::{Deserialize, Serialize};

use crate::git::Repository;
use crate::system;

/// The most that is read of the list of submodules, in bytes.
const MODULES_LIMIT: u64 = 1024 * 1024;

/// How many entries of a repository are looked at, and how deep.
const MAX_ENTRIES: usize = 200_000;
const MAX_DEPTH: usize = 24;

/// Parts of a repository in which git has no locks: other programs' files, and the records of working trees other than ours.
const PASSED_OVER: [&str; 5] = ["annex", "hooks", "lfs", "logs", "worktrees"];

/// Locks beside the index that all working trees of a repository share.
const SHARED: [&str; 4] = ["config.lock", "gc.pid.lock", "packed-refs.lock", "shallow.lock"];

/// A lock file of git's, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitLock {
    /// Where it is.
    pub path: PathBuf,
    device: u64,
    inode: u64,
    owner: u32,
    changed: SystemTime,
}

/// Who may need a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InUse {
    /// Nobody whom we can see.
    No,
    /// A process.
    By {
        /// Its id.
        pid: i32,
        /// Its name.
        name: String,
    },
    /// That cannot be told on this system.
    Unknown,
}

impl GitLock {
    /// The lock at a path, if that is one: an ordinary file.
    pub fn at(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        // A name that cannot be written down is none of git's own.
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

    /// Whether it is the same file, unchanged or not.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.path, self.device, self.inode) == (&other.path, other.device, other.inode)
    }

    /// Whether it was made or changed last in this time by a process of our user.
    pub(crate) fn is_ours_between(&self, from: SystemTime, to: SystemTime) -> bool {
        self.owner == rustix::process::geteuid().as_raw() && from <= self.changed && self.changed <= to
    }

    /// Who may need it: a process that has it open, or a git that is at work in its repository. What such a process holds need
    /// not be open, for a git that waits for an editor has closed it.
    pub fn in_use(&self, root: &Path, repository: &Repository) -> InUse {
        let places = repository.places(root);
        let places: Vec<_> = places.iter().filter_map(|place| identity(place).ok()).collect();
        system::who_uses((self.device, self.inode), self.owner, &places)
    }

    /// Removes it, if it is still the same.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path) {
            Some(now) if now.is(self) => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}

/// A file or directory, by whatever path.
pub(crate) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    path.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// When a file was last changed in any way. Its content's time can be set by anybody, this one cannot.
pub(crate) fn changed(path: &Path) -> Option<SystemTime> {
    let metadata = path.symlink_metadata().ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(metadata.ctime()).ok()?, nanoseconds))
}

impl Repository {
    /// The lock files in the repository of a project, in its submodules too. No link is followed.
    pub fn locks(&self, root: &Path) -> Vec<GitLock> {
        let mut found = Vec::new();
        let mut left = MAX_ENTRIES;
        // Of what a linked working tree shares, the rest belongs to the main one.
        let shared = self.directories.first().filter(|_| self.directories.len() > 1);
        for directory in self.directories.iter().cloned().chain(self.directories_in_submodules(root)) {
            // What was put in its place since leads elsewhere.
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

    /// Where a git stands that works in this repository: its own directories, and all its working trees.
    fn places(&self, root: &Path) -> Vec<PathBuf> {
        let mut places = vec![self.top(root).to_owned()];
        places.extend(self.directories.iter().cloned());
        let Some(shared) = self.directories.first() else {
            return places;
        };
        places.extend(shared.parent().filter(|_| shared.ends_with(".git")).map(Path::to_owned));
        let linked = fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
        let named = linked.filter_map(|entry| fs::read_to_string(entry.path().join("gitdir")).ok());
        places.extend(named.filter_map(|git| Some(Path::new(git.trim_end()).parent()?.to_owned())));
        places
    }

    /// Repositories of submodules that lie in the working tree itself, as those do that an old git made. All others are in
    /// `modules` of ours.
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
            && !PASSED_OVER.iter().any(|passed| name == *passed)
            && !holds_objects(&name)
        {
            collect(&entry.path(), depth - 1, left, found);
        }
    }
}

/// Whether a directory holds objects, by its name: of these there may be many, and no locks among them.
fn holds_objects(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.len() == 2 && bytes.iter().all(u8::is_ascii_hexdigit)
}
