//! A turn in the [`MergeQueue`]: only what checks have passed on stays.

use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;
use autonoe_git::write_ref;
use tokio::sync::MutexGuard;

use crate::hub::UNUSABLE;
use crate::merge_queue::MergeQueue;
use crate::merging::Merge;
use crate::worker_site::{MERGED_BRANCH, WorkerSite};

/// What became of the commits of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeAttempt {
    /// Checks look at the result from now on.
    Merged(MergedFiles),
    /// These files were changed by others too. [`crate::MERGED_BRANCH`] has their changes.
    Conflict(Vec<String>),
    /// The agent has made its repository unusable.
    Unusable(String),
}

/// What checks look at after a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedFiles {
    /// What the worker has committed, which has the work of the others.
    Own,
    /// That and more: others have finished something meanwhile.
    WithOthers,
}

/// The only one that may change what is finished, until it is dropped.
pub struct MergeTurn<'a> {
    queue: &'a MergeQueue,
    /// The commit that has all that is finished.
    finished: String,
    /// With what was merged in this turn, and not accepted yet.
    merged: String,
    _turn: MutexGuard<'a, ()>,
}

impl MergeQueue {
    /// Waits until nobody else has a turn.
    pub async fn turn(&self) -> Result<MergeTurn<'_>, Fault> {
        let turn = self.turn.lock().await;
        let finished = self.finished()?;
        Ok(MergeTurn { queue: self, merged: finished.clone(), finished, _turn: turn })
    }
}

impl MergeTurn<'_> {
    /// Merges the commits of a worker with all that is finished, and with what was merged in this turn.
    pub async fn add(&mut self, site: &WorkerSite, message: &str) -> Result<MergeAttempt, Fault> {
        let hub = &self.queue.hub;
        let commit = match site.fetch().await {
            Err(fault) if fault.code == UNUSABLE => return Ok(MergeAttempt::Unusable(fault.message)),
            fetched => fetched?,
        };
        match hub.merge(&self.queue.from, &self.merged, &commit, message).await? {
            Merge::Conflict(files) => {
                site.offer(&self.finished);
                Ok(MergeAttempt::Conflict(files))
            }
            Merge::Unrelated => {
                site.offer(&self.finished);
                Ok(MergeAttempt::Unusable(format!(
                    "Your commits do not continue those of the project, so they cannot be merged. `git reset --soft {MERGED_BRANCH}` keeps \
                     your files; commit them again, look at what that changes, and call again."
                )))
            }
            Merge::Clean(merged) => {
                hub.show_checks(&merged)?;
                let files = if merged == commit { MergedFiles::Own } else { MergedFiles::WithOthers };
                self.merged = merged;
                Ok(MergeAttempt::Merged(files))
            }
        }
    }

    /// Whether nothing was merged that is not finished already.
    pub fn is_unchanged(&self) -> bool {
        self.finished == self.merged
    }

    /// Has checks look at what was finished before, for a moment.
    pub fn show_finished(&self) -> Result<(), Fault> {
        self.queue.hub.show_checks(&self.finished)
    }

    pub fn show_merged(&self) -> Result<(), Fault> {
        self.queue.hub.show_checks(&self.merged)
    }

    /// The checks have passed: what was merged is finished. `recorded` is called when that is on record and the branch of the run does not
    /// have it yet.
    pub fn accept(&mut self, recorded: impl FnOnce()) -> Result<(), Fault> {
        let (queue, merged) = (self.queue, self.merged.clone());
        let written = write_ref(&queue.hub.layout.git_dir(), hub_refs::MERGED, &merged);
        written.map_err(|error| queue.hub.unwritable(&error))?;
        recorded();
        queue.hub.set_current(&queue.run, &merged)?;
        queue.checked.set(Some(merged.clone()));
        self.finished = merged;
        Ok(())
    }

    /// Nothing of what was merged since stays.
    pub fn reject(&mut self) -> Result<(), Fault> {
        self.merged.clone_from(&self.finished);
        self.show_finished()
    }

    /// Lets the agent of a worker get what is finished.
    pub fn offer_to(&self, site: &WorkerSite) {
        site.offer(&self.finished);
    }
}

impl Drop for MergeTurn<'_> {
    fn drop(&mut self) {
        // A session may end in the middle of its turn. If this fails too, the next turn or start does it.
        if !self.is_unchanged() {
            let _ = self.show_finished();
        }
    }
}
