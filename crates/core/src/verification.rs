//! What `sync` has verified so far. Kept in the journal, so that a restart goes on where it was.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::status::ProjectStatus;

/// One pass of `sync` over a specification: first its structure, then every deliverable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether the sync instruction has succeeded in this pass.
    pub synced: bool,
    /// Ids verified in this pass.
    pub verified: BTreeSet<String>,
}

/// How far verification is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Active deliverables verified.
    pub verified: usize,
    /// Active deliverables.
    pub total: usize,
}

impl Verification {
    /// Counts against the deliverables that are active now.
    pub fn progress(&self, status: &ProjectStatus) -> Progress {
        status.active().fold(Progress::default(), |progress, deliverable| Progress {
            verified: progress.verified + usize::from(self.verified.contains(&deliverable.id)),
            total: progress.total + 1,
        })
    }

    /// True when there is something to verify and all of it has been.
    pub fn is_complete(&self, status: &ProjectStatus) -> bool {
        let progress = self.progress(status);
        self.synced && progress.total > 0 && progress.verified == progress.total
    }
}
