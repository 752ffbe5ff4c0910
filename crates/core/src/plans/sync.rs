//! SyncPlan: the `sync` command. Brings the deliverables in line with the specification until that succeeded,
//! then verifies until every active deliverable has been checked.

use std::sync::Arc;

use async_trait::async_trait;

use super::nothing_created::nothing_created;
use crate::agent::Instruction;
use crate::fault::Fault;
use crate::instruction::{Instructions, Phase, briefing};
use crate::outcome::{PlanReport, RunOutcome};
use crate::plan::{Iteration, NextAction, Plan, PlanVerdict, RunState, StatusReader};
use crate::progress::{ProgressTracker, settled_in_sync};
use crate::status::{ProjectStatus, Tally};
use crate::verification::{Verification, VerificationProgress};

/// Reads the progress of verification; the store keeps it with the journal.
#[async_trait]
pub trait VerificationReader: Send + Sync {
    /// The current pass of `sync`.
    async fn verification(&self) -> Result<Verification, Fault>;
}

pub struct SyncPlan {
    status: Arc<dyn StatusReader>,
    verification: Arc<dyn VerificationReader>,
    instructions: Arc<dyn Instructions>,
    progress: ProgressTracker,
    tally: Tally,
    reviewed: VerificationProgress,
}

impl SyncPlan {
    pub fn new(
        status: Arc<dyn StatusReader>,
        verification: Arc<dyn VerificationReader>,
        instructions: Arc<dyn Instructions>,
    ) -> Self {
        Self {
            status,
            verification,
            instructions,
            progress: ProgressTracker::default(),
            tally: Tally::default(),
            reviewed: VerificationProgress::default(),
        }
    }

    /// Loads the deliverables and the verification, and updates the counts.
    async fn load(&mut self) -> Result<Option<(ProjectStatus, Verification)>, Fault> {
        let Some(status) = self.status.load().await? else {
            return Ok(None);
        };
        let verification = self.verification.verification().await?;
        self.tally = status.tally();
        self.reviewed = verification.progress(&status);
        Ok(Some((status, verification)))
    }
}

/// The outcome once every active deliverable is verified. If all of them are blocked, the user must learn
/// that instead.
fn outcome(status: &ProjectStatus, verification: &Verification) -> Option<RunOutcome> {
    if !verification.is_complete(status) {
        None
    } else if status.tally().all_blocked() {
        Some(RunOutcome::AllBlocked)
    } else {
        Some(RunOutcome::AllVerified)
    }
}

#[async_trait]
impl Plan for SyncPlan {
    async fn next(&mut self, _so_far: &RunState) -> Result<NextAction, Fault> {
        self.status.ensure_writable().await?;
        let loaded = self.load().await?;
        if let Some((status, verification)) = &loaded
            && let Some(outcome) = outcome(status, verification)
        {
            return Ok(NextAction::Done(outcome));
        }
        if let Some((status, pass)) = &loaded {
            self.progress.start(settled_in_sync(status, pass));
        }
        let to_verify = loaded.as_ref().filter(|(status, pass)| pass.synced && status.tally().total > 0);
        let name = if to_verify.is_some() { Phase::Verify } else { Phase::Sync };
        let briefing = to_verify.map(|(status, pass)| briefing(status, Some(pass)));
        let text = self.instructions.resolve(name).await?;
        Ok(NextAction::Session(Instruction::briefed(name, text, briefing).into()))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        let Some((status, verification)) = self.load().await? else {
            return Ok(PlanVerdict::Failed(nothing_created(finished.instruction.name.name())));
        };
        if status.tally().total == 0 {
            return Ok(PlanVerdict::Failed(nothing_created(finished.instruction.name.name())));
        }
        if let Some(outcome) = outcome(&status, &verification) {
            return Ok(PlanVerdict::Done(outcome));
        }
        let settled = settled_in_sync(&status, &verification);
        let advanced = self.progress.advanced(settled, 3 * status.tally().total);
        Ok(if advanced { PlanVerdict::Progressed } else { PlanVerdict::Idle })
    }

    fn report(&self) -> PlanReport {
        PlanReport::Sync { tally: self.tally, reviewed: self.reviewed }
    }
}
