//! DeliverablePlan: the `run` command. Initializes once, then codes until everything achievable has passed.

use std::sync::Arc;

use async_trait::async_trait;

use super::nothing_created::nothing_created;
use super::workers::{Workers, assignment};
use crate::agent::Instruction;
use crate::check::Assurance;
use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::examiner::Examiner;
use crate::fault::{Fault, FaultLayer};
use crate::instruction::{Instructions, Phase, briefing};
use crate::outcome::{PlanReport, RunOutcome, SessionEnd};
use crate::plan::{Iteration, NextAction, NextSession, Plan, PlanVerdict, RunState, StatusReader};
use crate::progress::{ProgressTracker, settled};
use crate::status::{ProjectStatus, Tally};

/// Maximum number of consecutive review sessions that review nothing: one that leaves something out is repeated.
const MAX_REVIEWS: u32 = 3;

pub struct DeliverablePlan {
    status: Arc<dyn StatusReader>,
    instructions: Arc<dyn Instructions>,
    examiner: Option<Arc<dyn Examiner>>,
    is_strict: bool,
    /// Whether the run ends when there is a plan.
    only_plans: bool,
    /// Whether the specification has changed since the deliverables were planned.
    needs_sync: bool,
    /// Review sessions left; `None` if no review was asked for.
    reviews_left: Option<u32>,
    /// Deliverables that have been reviewed.
    reviewed: usize,
    /// Instructions for the next review session.
    review: Option<String>,
    progress: ProgressTracker,
    deliverables: Vec<Deliverable>,
    tally: Tally,
    /// Set if everything had passed but a recheck failed.
    recheck_failed: bool,
    /// Whether all that has passed was checked again since the last session.
    is_confirmed: bool,
    /// `None` if one deliverable is built after another.
    workers: Option<Workers>,
    /// Sessions that were begun and not judged yet.
    at_work: usize,
}

impl DeliverablePlan {
    pub fn new(status: Arc<dyn StatusReader>, instructions: Arc<dyn Instructions>) -> Self {
        Self {
            status,
            instructions,
            examiner: None,
            is_strict: false,
            only_plans: false,
            needs_sync: false,
            reviews_left: None,
            reviewed: 0,
            review: None,
            progress: ProgressTracker::default(),
            deliverables: Vec::new(),
            tally: Tally::default(),
            recheck_failed: false,
            is_confirmed: false,
            workers: None,
            at_work: 0,
        }
    }

    /// Has `examiner` run the checks. If strict, only verified deliverables count as done.
    #[must_use]
    pub fn examined_by(self, examiner: Arc<dyn Examiner>, is_strict: bool) -> Self {
        Self { examiner: Some(examiner), is_strict, ..self }
    }

    /// Ends the run when there is a plan.
    #[must_use]
    pub fn only_planning(self) -> Self {
        Self { only_plans: true, ..self }
    }

    /// Brings the deliverables in line with the specification first.
    #[must_use]
    pub fn syncing_first(self) -> Self {
        Self { needs_sync: true, ..self }
    }

    /// Adds a review by another agent at the end.
    #[must_use]
    pub fn with_review(self) -> Self {
        Self { reviews_left: Some(MAX_REVIEWS), ..self }
    }

    /// Builds several deliverables at the same time.
    #[must_use]
    pub fn built_by(self, workers: Workers) -> Self {
        Self { workers: Some(workers), ..self }
    }

    fn update(&mut self, status: &ProjectStatus) -> Tally {
        self.tally = status.tally();
        self.deliverables.clone_from(&status.deliverables);
        self.tally
    }

    async fn review_session(&self, briefing: String) -> Result<NextAction, Fault> {
        let name = Phase::Review;
        let text = self.instructions.resolve(name).await?;
        Ok(NextAction::Session(Instruction::briefed(name, text, Some(briefing)).into()))
    }

    /// A session that failed or was stopped is not a review; the loop decides whether it is repeated.
    fn count_review(&mut self, outcome: &SessionEnd) {
        let reviewed = self.deliverables.iter().filter(|item| item.review.is_some()).count();
        let before = std::mem::replace(&mut self.reviewed, reviewed);
        let left = match outcome {
            _ if reviewed > before => Some(MAX_REVIEWS),
            SessionEnd::Completed | SessionEnd::MaxTurns | SessionEnd::Stuck { .. } => {
                self.reviews_left.map(|left| left.saturating_sub(1))
            }
            SessionEnd::ExecutionError { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::QuotaExceeded { .. }
            | SessionEnd::Interrupted => self.reviews_left,
        };
        self.reviews_left = self.reviews_left.and(left);
    }

    /// The outcome, if the run is over. Passed deliverables are rechecked first.
    async fn ended(&mut self, tally: Tally) -> Result<Option<RunOutcome>, Fault> {
        let Some(outcome) = run_ended(tally) else {
            return Ok(None);
        };
        if outcome != RunOutcome::AllPassed {
            return Ok(Some(outcome));
        }
        if !self.is_confirmed {
            self.confirm_passed().await?;
        }
        if self.recheck_failed {
            return Ok(None);
        }
        let mut is_unreviewed = false;
        if let (Some(examiner), Some(left)) = (&self.examiner, self.reviews_left)
            && let Some(briefing) = examiner.review_briefing().await?
        {
            if left > 0 {
                self.review = Some(briefing);
                return Ok(None);
            }
            is_unreviewed = true;
        }
        let claimed = self.deliverables.iter().filter(|item| {
            item.is_active() && item.assurance() == Some(Assurance::Claimed) && self.is_strict
        });
        let claimed: Vec<String> = claimed.map(|item| item.id.clone()).collect();
        Ok(Some(match is_unreviewed {
            _ if !claimed.is_empty() => RunOutcome::Unverified { claimed },
            true => RunOutcome::Unreviewed,
            false => outcome,
        }))
    }
}

/// Added to the instruction of a session whose files are thrown away.
const ONLY_PLAN: &str = "## Only plan\n\nIn this session, create the deliverables with their checks and stop. Do not build, install or commit \
                         anything: files of this session are not kept. The first session of the run lays the foundation.";

/// The outcome of a run that only plans.
fn planned(tally: Tally) -> RunOutcome {
    RunOutcome::ConditionMet { reason: format!("the plan has {} deliverable(s).", tally.total) }
}

/// The outcome of a run with this tally, if it is over (seed 002 §3.4, priorities 2 and 3).
pub fn run_ended(tally: Tally) -> Option<RunOutcome> {
    if tally.all_achievable_passed() {
        Some(RunOutcome::AllPassed)
    } else if tally.all_blocked() {
        Some(RunOutcome::AllBlocked)
    } else {
        None
    }
}

impl DeliverablePlan {
    /// Another session while others are at work.
    async fn next_beside(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        let Some(status) = self.status.load().await?.filter(|_| self.workers.is_some()) else {
            return Ok(NextAction::Wait);
        };
        // What is not built by a worker has the run to itself.
        let is_alone = so_far.running.iter().any(|session| session.worker == 0);
        let assigned = self.workers.as_mut().filter(|_| !is_alone);
        match assigned.and_then(|workers| workers.assign(&status, &so_far.running)) {
            Some((worker, id)) => self.coding_session(&status, worker, Some(id)).await,
            None => Ok(NextAction::Wait),
        }
    }

    /// `worker` 0 works on its own.
    async fn coding_session(
        &self,
        status: &ProjectStatus,
        worker: usize,
        deliverable: Option<String>,
    ) -> Result<NextAction, Fault> {
        let mut text = briefing(status, None);
        if let Some(examiner) = &self.examiner
            && let Some(checks) = examiner.briefing().await?
        {
            text = format!("{text}\n{checks}");
        }
        let instructions = self.instructions.resolve(Phase::Coding).await?;
        let mut instruction = Instruction::briefed(Phase::Coding, instructions, Some(text.trim().to_owned()));
        if let Some(id) = deliverable.as_ref().filter(|_| worker > 0) {
            instruction = instruction.with_paragraph(&assignment(id));
        }
        let step = deliverable.clone().filter(|_| worker > 0);
        let instruction = Instruction { deliverable, step, ..instruction };
        Ok(NextAction::Session(NextSession { worker, ..instruction.into() }))
    }

    async fn choose(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        if !so_far.running.is_empty() {
            return self.next_beside(so_far).await;
        }
        self.status.ensure_writable().await?;
        if let Some(examiner) = &self.examiner {
            examiner.prepare().await?;
        }
        if let Some(briefing) = self.review.take() {
            return self.review_session(briefing).await;
        }
        let (name, mut text) = match self.status.load().await? {
            None => (Phase::Initializer, String::new()),
            Some(status) => {
                self.progress.start(settled(&status));
                let tally = self.update(&status);
                if self.only_plans && tally.total > 0 {
                    return Ok(NextAction::Done(planned(tally)));
                }
                if self.needs_sync {
                    let text = self.instructions.resolve(Phase::Sync).await?;
                    return Ok(NextAction::Session(Instruction::briefed(Phase::Sync, text, None).into()));
                }
                // A failed recheck needs a session now, not another recheck.
                let recheck_failed = std::mem::take(&mut self.recheck_failed);
                if !recheck_failed && let Some(outcome) = self.ended(tally).await? {
                    return Ok(NextAction::Done(outcome));
                }
                if let Some(briefing) = self.review.take() {
                    return self.review_session(briefing).await;
                }
                if tally.total == 0 {
                    return Err(Fault::permanent(
                        FaultLayer::Plan,
                        "no_active_deliverables",
                        ".autonoe/status.json has no active deliverables, so there is nothing to work on.",
                    )
                    .hint(
                        "Run `autonoe sync` to add what SPEC.md asks for, or delete the file to start over.",
                    ));
                }
                let status = self.status.load().await?.unwrap_or(status);
                let open = status.active().find(|item| item.status == DeliverableStatus::Pending);
                let open = open.map(|item| item.id.clone());
                let assigned = self.workers.as_mut().and_then(|workers| workers.assign(&status, &[]));
                return match assigned {
                    Some((worker, id)) => self.coding_session(&status, worker, Some(id)).await,
                    // Where there are workers, they do not get on with what is left.
                    None => self.coding_session(&status, 0, open).await,
                };
            }
        };
        if let Some(examiner) = &self.examiner
            && let Some(checks) = examiner.briefing().await?
        {
            text = format!("{text}\n{checks}");
        }
        let briefing = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let text = self.instructions.resolve(name).await?;
        let mut instruction = Instruction::briefed(name, text, briefing);
        if self.only_plans {
            instruction = instruction.with_paragraph(ONLY_PLAN);
        }
        Ok(NextAction::Session(instruction.into()))
    }
}

#[async_trait]
impl Plan for DeliverablePlan {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        let action = self.choose(so_far).await?;
        if let NextAction::Session(_) = action {
            self.at_work += 1;
            self.is_confirmed = false;
        }
        Ok(action)
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        self.at_work = self.at_work.saturating_sub(1);
        // It may have been checked after the session was chosen.
        self.is_confirmed = false;
        let Some(status) = self.status.load().await? else {
            return Ok(PlanVerdict::Failed(nothing_created(finished.instruction.name.name())));
        };
        let tally = self.update(&status);
        if finished.instruction.name == Phase::Review {
            self.count_review(&finished.outcome);
        }
        if self.only_plans && tally.total > 0 {
            return Ok(PlanVerdict::Done(planned(tally)));
        }
        let advanced = self.progress.advanced(settled(&status), 2 * tally.total);
        if finished.instruction.name == Phase::Sync {
            let has_synced = matches!(finished.outcome, SessionEnd::Completed | SessionEnd::MaxTurns);
            self.needs_sync &= !has_synced;
            return Ok(if has_synced { PlanVerdict::Progressed } else { PlanVerdict::Idle });
        }
        // What is at work may still change everything.
        let ended = if self.at_work == 0 { self.ended(tally).await? } else { None };
        Ok(match ended {
            Some(outcome) => PlanVerdict::Done(outcome),
            None if self.recheck_failed => PlanVerdict::Idle,
            None if self.review.is_some() => PlanVerdict::Progressed,
            None if tally.total == 0 => {
                PlanVerdict::Failed(nothing_created(finished.instruction.name.name()))
            }
            None if advanced => PlanVerdict::Progressed,
            None => PlanVerdict::Idle,
        })
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        let Some(examiner) = &self.examiner else {
            return Ok(());
        };
        let confirmed = examiner.confirm().await;
        // Whatever the confirmation ended with, it may have changed the status.
        if let Some(status) = self.status.load().await? {
            self.update(&status);
        }
        self.is_confirmed = confirmed?.is_clean();
        self.recheck_failed = !self.is_confirmed;
        Ok(())
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(self.tally)
    }
}
