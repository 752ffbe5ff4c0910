//! Where several approaches, or the attempts of several agents, are made: in the workspace of the run, with its checks.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::attempt::OpenAttempt;
use autonoe_core::check::Assurance;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::Fault;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ChangeError;
use autonoe_deliverables::DeliverableService;
use autonoe_harness::recovering_plan::{BranchChecks, BranchDiff, BranchSite};
use autonoe_harness::recovery::{KeptBranch, Rung};
use autonoe_verify::CurrentBuilder;
use autonoe_workspace::{CommitDiff, WorkspaceBranches};

pub struct CheckedBranches {
    pub workspace: WorkspaceBranches,
    pub examiner: Arc<dyn Examiner>,
    pub status: Arc<dyn StatusReader>,
    /// Records what the chosen attempt has passed.
    pub deliverables: Arc<DeliverableService>,
    pub builders: Arc<CurrentBuilder>,
    pub attempt: Arc<OpenAttempt>,
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

    async fn examine(&self, deliverable: &str) -> Result<BranchChecks, Fault> {
        let status = self.status.load().await?;
        let Some(item) = status.as_ref().and_then(|status| status.find(deliverable)) else {
            return Ok(BranchChecks::default());
        };
        let examined = self.examiner.examine(item).await?;
        let holds = examined.finding.assurance != Assurance::Failed;
        Ok(BranchChecks { passed: examined.passed, holds, message: examined.message })
    }

    async fn diff(&self, from: &str, to: &str) -> Result<BranchDiff, Fault> {
        let CommitDiff { lines, files, patch } = self.workspace.diff(from, to).await?;
        Ok(BranchDiff { lines, files, patch })
    }

    fn hold(&self, deliverable: Option<&str>) {
        self.attempt.set(deliverable);
        self.workspace.hold_landings(deliverable.is_some());
    }

    async fn claim(&self, deliverable: &str, builder: &Rung) -> Result<Option<String>, Fault> {
        let model = builder.model.as_deref().unwrap_or_default();
        self.builders.credit(deliverable, &builder.backend, model);
        match self.deliverables.pass(deliverable).await {
            Ok(()) => Ok(None),
            Err(ChangeError::Refused(refusal)) => Ok(Some(refusal.to_string())),
            Err(ChangeError::Fault(fault)) => Err(fault),
        }
    }

    async fn go_to(&self, commit: &str) -> Result<(), Fault> {
        self.workspace.go_to(commit).await
    }

    fn how_to_fetch(&self, reference: &str) -> String {
        self.workspace.how_to_fetch(reference)
    }
}
