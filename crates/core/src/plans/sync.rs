//! SyncPlan: the `sync` command. Bring the deliverables in line with the specification until that
//! succeeded, then verify until every active deliverable has been looked at.

use std::sync::Arc;

use async_trait::async_trait;

use super::nothing_created;
use crate::agent::Instruction;
use crate::fault::Fault;
use crate::instruction::{Instructions, Phase, briefing};
use crate::outcome::RunOutcome;
use crate::plan::{Iteration, Next, Plan, RunState, Standing, StatusReader, Verdict};
use crate::progress::{ProgressTracker, settled_in_sync};
use crate::status::ProjectStatus;
use crate::verification::Verification;

/// Reads how far verification is; the store keeps it with the journal.
#[async_trait]
pub trait VerificationReader: Send + Sync {
    /// The current pass.
    async fn verification(&self) -> Result<Verification, Fault>;
}

/// The plan of `sync`.
pub struct SyncPlan {
    status: Arc<dyn StatusReader>,
    verification: Arc<dyn VerificationReader>,
    instructions: Arc<dyn Instructions>,
    progress: ProgressTracker,
    standing: Standing,
}

impl SyncPlan {
    /// A plan over the given project, resuming the verification the journal knows of.
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
            standing: Standing::default(),
        }
    }

    /// Loads both halves of the state and keeps them for the summary and the next comparison.
    async fn look(&mut self) -> Result<Option<(ProjectStatus, Verification)>, Fault> {
        let Some(status) = self.status.load().await? else {
            return Ok(None);
        };
        let verification = self.verification.verification().await?;
        self.standing.tally = status.tally();
        self.standing.progress = verification.progress(&status);
        Ok(Some((status, verification)))
    }
}

/// Every active deliverable is verified. If all of them turned out blocked, that is what the user must hear.
fn termination(status: &ProjectStatus, verification: &Verification) -> Option<RunOutcome> {
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
    async fn next(&mut self, _so_far: &RunState) -> Result<Next, Fault> {
        self.status.ensure_writable().await?;
        let seen = self.look().await?;
        if let Some((status, verification)) = &seen
            && let Some(outcome) = termination(status, verification)
        {
            return Ok(Next::Done(outcome));
        }
        if let Some((status, pass)) = &seen {
            self.progress.start(settled_in_sync(status, pass));
        }
        let to_verify = seen.as_ref().filter(|(status, pass)| pass.synced && status.tally().total > 0);
        let name = if to_verify.is_some() { Phase::Verify } else { Phase::Sync };
        let briefing = to_verify.map(|(status, pass)| briefing(status, Some(pass)));
        let text = self.instructions.resolve(name).await?;
        Ok(Next::Session(Instruction::briefed(name, text, briefing).into()))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault> {
        let Some((status, verification)) = self.look().await? else {
            return Ok(Verdict::Failed(nothing_created(finished.instruction.name.name())));
        };
        if status.tally().total == 0 {
            return Ok(Verdict::Failed(nothing_created(finished.instruction.name.name())));
        }
        if let Some(outcome) = termination(&status, &verification) {
            return Ok(Verdict::Done(outcome));
        }
        let settled = settled_in_sync(&status, &verification);
        let advanced = self.progress.advanced(settled, 3 * status.tally().total);
        Ok(if advanced { Verdict::Moved } else { Verdict::Idle })
    }

    fn standing(&self) -> Standing {
        self.standing.clone()
    }
}
