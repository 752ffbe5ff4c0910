//! A landing during which the process was killed: some files of the user's checkout are new already, the others and the branch are not.
//!
//! The landing is on record before it begins. The next start takes back what it has written, and then repeats it, unless the user has
//! committed or switched branches since.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use autonoe_files::{DOCUMENT_LIMIT, read_text};
use autonoe_sandbox::{GitLock, InUse};
use serde::{Deserialize, Serialize};

use crate::hub::Hub;

/// Longer than a landing can take.
const LONGEST_LANDING: Duration = Duration::from_secs(600);

/// How often, and after which time, it is looked whether a git that was killed is gone.
const LOCK_LOOKS: u32 = 20;
const BETWEEN_LOCK_LOOKS: Duration = Duration::from_millis(100);

/// The record of a landing that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandingRecord {
    /// The user's branch.
    pub(crate) branch: String,
    pub(crate) commit: String,
    /// The commit before; `None` if there was none.
    pub(crate) old: Option<String>,
    /// Files that the user had staged as the new commit has them, and that are the user's.
    #[serde(default)]
    pub(crate) same: Vec<String>,
}

impl Hub {
    fn record_file(&self) -> PathBuf {
        self.layout.landing_record()
    }

    pub(crate) fn record_landing(&self, record: &LandingRecord) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        serde_json::to_writer(&mut file, record)?;
        file.as_file().sync_all()?;
        file.persist(self.record_file()).map(drop).map_err(|error| error.error)
    }

    pub(crate) fn forget_landing(&self) {
        // Left behind, it only makes the next start look again.
        let _ = fs::remove_file(self.record_file());
    }

    /// The landing that a killed process has left unfinished.
    pub(crate) fn unfinished_landing(&self) -> Option<LandingRecord> {
        let text = read_text(&self.record_file(), DOCUMENT_LIMIT).ok()??;
        serde_json::from_str(&text).ok()
    }

    /// Like [`Self::remove_locks_of_landing`], for a git that may not be gone yet.
    pub(crate) async fn remove_locks_of_ended_git(&self, record: &LandingRecord) {
        for _ in 0..LOCK_LOOKS {
            if self.remove_locks_of_landing(record) {
                return;
            }
            tokio::time::sleep(BETWEEN_LOCK_LOOKS).await;
        }
    }

    /// Removes the locks that a killed git has left in a landing, if no process needs them. Returns whether none of them is left.
    pub(crate) fn remove_locks_of_landing(&self, record: &LandingRecord) -> bool {
        let repository = self.repository();
        let Ok(begun) = self.record_file().metadata().and_then(|metadata| metadata.modified()) else {
            return true;
        };
        let names =
            ["index.lock".to_owned(), "HEAD.lock".to_owned(), format!("refs/heads/{}.lock", record.branch)];
        let paths =
            repository.directories.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
        let mut is_free = true;
        for lock in paths.filter_map(|path| GitLock::at(&path)) {
            let is_ours = lock.is_ours_between(begun, begun + LONGEST_LANDING);
            if is_ours && lock.in_use(self.root(), &repository) == InUse::No {
                // If it stays, git names it.
                let _ = lock.remove();
            } else {
                is_free &= !is_ours;
            }
        }
        is_free
    }
}
