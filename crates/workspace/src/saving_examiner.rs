//! Claims in a project that was not in a repository when the run began: its agents need not know that there is one now, so what they have
//! written is committed before it is checked.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, Proposal};
use autonoe_core::fault::Fault;
use autonoe_core::status::ChangeError;

use crate::hub::Hub;
use crate::workspace::Workspace;

/// Commits everything in a workspace before the checks of a claim run.
pub struct SavingExaminer {
    pub inner: Arc<dyn Examiner>,
    pub hub: Hub,
    pub workspace: Workspace,
}

#[async_trait]
impl Examiner for SavingExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        self.inner.prepare().await
    }

    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<(), ChangeError> {
        self.inner.propose(ids, proposals).await
    }

    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault> {
        let message = format!("Save uncommitted work for the checks of {}", deliverable.id);
        self.hub.save_leftovers(&self.workspace, &message).await?;
        self.inner.examine(deliverable).await
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        self.inner.confirm().await
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        self.inner.review_briefing().await
    }

    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<(), ChangeError> {
        self.inner.review(id, holds, reason).await
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        self.inner.briefing().await
    }
}
