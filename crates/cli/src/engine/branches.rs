//! Where a stuck run tries several approaches: in its workspace, with its checks.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::Fault;
use autonoe_core::plan::StatusReader;
use autonoe_harness::recovering_plan::BranchSite;
use autonoe_harness::recovery::KeptBranch;
use autonoe_workspace::WorkspaceBranches;

pub struct CheckedBranches {
    pub workspace: WorkspaceBranches,
    pub examiner: Arc<dyn Examiner>,
    pub status: Arc<dyn StatusReader>,
}

#[async_trait]
impl BranchSite for CheckedBranches {
    async fn save(&self) -> Result<String, Fault> {
        self.workspace.save().await
    }

    async fn keep(&self, approach: &str) -> Result<KeptBranch, Fault> {
        let (commit, reference) = self.workspace.keep(approach).await?;
        Ok(KeptBranch { commit, reference })
    }

    async fn checks_passed(&self, deliverable: &str) -> Result<usize, Fault> {
        let status = self.status.load().await?;
        match status.as_ref().and_then(|status| status.find(deliverable)) {
            Some(item) => Ok(self.examiner.examine(item).await?.passed),
            None => Ok(0),
        }
    }

    async fn go_to(&self, commit: &str) -> Result<(), Fault> {
        self.workspace.go_to(commit).await
    }

    fn how_to_fetch(&self, reference: &str) -> String {
        self.workspace.how_to_fetch(reference)
    }
}
