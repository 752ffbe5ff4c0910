//! What `sync` has verified so far. Stored in the journal, so that a restart resumes there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::status::ProjectStatus;

/// One pass of `sync` over a specification: first its structure, then every deliverable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether the sync phase has succeeded in this pass.
    pub synced: bool,
    pub verified: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerificationProgress {
    pub verified: usize,
    pub total: usize,
}

impl Verification {
    /// Counts only deliverables that are active now.
    pub fn progress(&self, status: &ProjectStatus) -> VerificationProgress {
        status.active().fold(VerificationProgress::default(), |progress, deliverable| VerificationProgress {
            verified: progress.verified + usize::from(self.verified.contains(&deliverable.id)),
            total: progress.total + 1,
        })
    }

    /// True if there is something to verify and all of it is verified.
    pub fn is_complete(&self, status: &ProjectStatus) -> bool {
        let progress = self.progress(status);
        self.synced && progress.total > 0 && progress.verified == progress.total
    }
}
