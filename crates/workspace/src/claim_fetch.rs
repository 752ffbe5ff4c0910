//! Claims of an agent in a workspace: its commits are fetched before they are checked, so that nothing passes that cannot come home.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::examiner::ClaimPreparation;
use autonoe_core::fault::Fault;
use autonoe_core::status::{ChangeError, Refusal};

use crate::hub::{Hub, UNUSABLE};
use crate::workspace::Workspace;

/// Fetches the commits of a workspace before a claim is examined.
pub(crate) struct ClaimFetch {
    pub hub: Hub,
    pub workspace: Workspace,
    /// The project was not in a repository before: agents need not know that there is one now, so what they have written is
    /// committed first.
    pub saves_first: bool,
    /// The commit of the last claim.
    pub checked: CheckedCommit,
}

/// The last commit that checks have looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckedCommit(Arc<Mutex<Option<String>>>);

impl CheckedCommit {
    pub(crate) fn set(&self, commit: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = commit;
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ClaimPreparation for ClaimFetch {
    async fn before_claim(&self, deliverable: &Deliverable) -> Result<(), ChangeError> {
        if self.saves_first {
            return self.keep_uncommitted(deliverable).await;
        }
        let commit = self.hub.fetch_new(&self.workspace).await.map_err(refused)?;
        self.checked.set(Some(commit));
        Ok(())
    }

    async fn keep_uncommitted(&self, deliverable: &Deliverable) -> Result<(), ChangeError> {
        let message = format!("Save uncommitted work on {}", deliverable.id);
        self.hub.save_for_claim(&self.workspace, &message).await.map_err(refused)?;
        let commit = self.hub.fetch_new(&self.workspace).await.map_err(refused)?;
        self.checked.set(Some(commit));
        Ok(())
    }
}

/// Work that cannot be used is for the agent to repair; anything else stops the run.
fn refused(fault: Fault) -> ChangeError {
    match fault.code.as_str() {
        UNUSABLE => Refusal::ChecksFailed(fault.message).into(),
        _ => fault.into(),
    }
}
