//! Locks that git takes in the user's repository while it works there for us. One that is killed leaves them behind, and then every git
//! fails. Which locks these can be is on record before the first one is taken, so that they can be distinguished from those of the user's own git.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_sandbox::{GitLock, InUse, Repository};
use serde::{Deserialize, Serialize};

use crate::hub::Hub;
use crate::hub_layout::HubLayout;

/// Longer than a landing takes. A lock that the user's own git leaves within this time after a landing that was killed cannot be told from ours.
const LONGEST_LANDING: Duration = Duration::from_secs(60);

/// How often, and after which time, it is looked whether a git that was killed is gone.
const LOCK_LOOKS: u32 = 20;
const BETWEEN_LOCK_LOOKS: Duration = Duration::from_millis(100);

/// What a landing locks in any case, in a `.git` directory.
const NAMES: [&str; 4] = ["HEAD.lock", "index.lock", "packed-refs.lock", "reftable/tables.list.lock"];

/// Beginnings of the names of branches that are ours.
const OWN_BRANCHES: [&str; 2] = ["autonoe/", "autonoe-"];

/// Which locks may be ours from now on.
#[derive(Debug, Serialize, Deserialize)]
struct LockRecord {
    /// The branch of the user's that is changed; `None` if only branches of ours are.
    branch: Option<String>,
    /// Locks that were there before.
    before: Vec<GitLock>,
    /// Locks of an earlier landing that a process still needed.
    earlier: Vec<GitLock>,
}

impl LockRecord {
    /// Whether a lock of this name in a `.git` directory can be one of ours.
    fn names(&self, name: &str) -> bool {
        let branch = name.strip_prefix("refs/heads/").and_then(|name| name.strip_suffix(".lock"));
        NAMES.contains(&name)
            || branch.is_some_and(|branch| {
                self.branch.as_deref() == Some(branch)
                    || OWN_BRANCHES.iter().any(|beginning| branch.starts_with(beginning))
            })
    }
}

impl HubLayout {
    /// The locks in the repository around `root` that a killed landing has left, and that no process needs.
    pub fn stale_locks(&self, root: &Path) -> Vec<GitLock> {
        match self.turn_of_killed() {
            Some(_turn) => self.own_locks(root).0,
            None => Vec::new(),
        }
    }

    /// Removes these locks. Returns a sentence for each.
    pub fn remove_stale_locks(&self, root: &Path) -> Vec<String> {
        let Some(_turn) = self.turn_of_killed() else { return Vec::new() };
        let (stale, _) = self.own_locks(root);
        let removed = stale.iter().filter(|lock| lock.remove().is_ok());
        removed
            .map(|lock| format!("Removed {}, left behind by a landing that was killed.", lock.path.display()))
            .collect()
    }

    /// A landing turn, if nobody has one now and there is a record.
    fn turn_of_killed(&self) -> Option<File> {
        let file = File::open(self.landing_lock()).ok().filter(|_| self.lock_record().exists())?;
        file.try_lock().ok().map(|()| file)
    }

    /// The locks of ours that no process needs, and those that one does. The caller must have a landing turn.
    fn own_locks(&self, root: &Path) -> (Vec<GitLock>, Vec<GitLock>) {
        let path = self.lock_record();
        let text = read_text(&path, DOCUMENT_LIMIT).ok().flatten();
        let record = text.and_then(|text| serde_json::from_str::<LockRecord>(&text).ok());
        let begun = path.metadata().and_then(|metadata| metadata.modified());
        let (Some(record), Ok(begun)) = (record, begun) else { return Default::default() };
        let repository = Repository::around(root);
        let is_in = |locks: &[GitLock], lock: &GitLock| locks.iter().any(|other| other.is_same_file(lock));
        let is_named = |lock: &GitLock| {
            let mut names =
                repository.directories.iter().filter_map(|directory| lock.path.strip_prefix(directory).ok());
            names.any(|name| name.to_str().is_some_and(|name| record.names(name)))
        };
        let is_ours = |lock: &GitLock| {
            let is_new = lock.is_ours_between(begun, begun + LONGEST_LANDING) && !is_in(&record.before, lock);
            is_in(&record.earlier, lock) || is_new && is_named(lock)
        };
        let ours = repository.locks(root).into_iter().filter(is_ours);
        ours.partition(|lock| lock.in_use(root, &repository) == InUse::No)
    }

    fn lock_record(&self) -> PathBuf {
        self.directory().join("landing-locks.json")
    }
}

impl Hub {
    /// Puts on record which locks git may take from now on. `branch` is the one of the user's that it may change. Removes what a killed
    /// landing has left. The caller must have a landing turn.
    pub(crate) fn record_locks(&self, branch: Option<&str>) -> io::Result<()> {
        let earlier = self.remove_own_locks();
        let before = self.repository().locks(self.root());
        let record = LockRecord { branch: branch.map(str::to_owned), before, earlier };
        fs::create_dir_all(self.layout.directory())?;
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        serde_json::to_writer(&mut file, &record)?;
        file.persist(self.layout.lock_record()).map(drop).map_err(|error| error.error)
    }

    /// Ends what [`Self::record_locks`] has begun. The record stays while a process needs one of the locks.
    pub(crate) fn release_locks(&self) {
        if self.remove_own_locks().is_empty() {
            // Left behind, it only makes the next start look again.
            let _ = fs::remove_file(self.layout.lock_record());
        }
    }

    /// Removes the locks that a killed git has left in a landing. Returns those that a process needs.
    fn remove_own_locks(&self) -> Vec<GitLock> {
        let (stale, needed) = self.layout.own_locks(self.root());
        for lock in stale {
            // If it stays, git names it.
            let _ = lock.remove();
        }
        needed
    }

    /// Like [`Self::remove_own_locks`], for a git that may not be gone yet.
    pub(crate) async fn remove_locks_of_ended_git(&self) {
        for _ in 0..LOCK_LOOKS {
            if self.remove_own_locks().is_empty() {
                return;
            }
            tokio::time::sleep(BETWEEN_LOCK_LOOKS).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LockRecord;

    #[test]
    fn only_locks_that_a_landing_takes_are_named() {
        let record =
            LockRecord { branch: Some("topic/a".to_owned()), before: Vec::new(), earlier: Vec::new() };
        for name in ["index.lock", "HEAD.lock", "refs/heads/topic/a.lock", "refs/heads/autonoe/7-2.lock"] {
            assert!(record.names(name), "{name}");
        }
        for name in ["config.lock", "refs/heads/topic/b.lock", "refs/heads/topic/a", "modules/x/index.lock"] {
            assert!(!record.names(name), "{name}");
        }
    }
}
