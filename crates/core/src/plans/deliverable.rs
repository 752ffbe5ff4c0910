//! DeliverablePlan: the `run` command. Initialize once, then code until everything achievable passed.

use std::sync::Arc;

use async_trait::async_trait;

use super::nothing_created;
use crate::agent::Instruction;
use crate::check::Assurance;
use crate::deliverable::Deliverable;
use crate::examiner::Examiner;
use crate::fault::{Fault, Layer};
use crate::instruction::{Instructions, Phase, briefing};
use crate::outcome::RunOutcome;
use crate::plan::{Iteration, Next, Plan, RunState, Standing, StatusReader, Verdict};
use crate::progress::{ProgressTracker, settled};
use crate::status::{ProjectStatus, Tally};

/// Sessions of an independent look, at most: one that leaves something out is held again.
const MAX_REVIEWS: u32 = 3;

/// The plan of `run`.
pub struct DeliverablePlan {
    status: Arc<dyn StatusReader>,
    instructions: Arc<dyn Instructions>,
    examiner: Option<Arc<dyn Examiner>>,
    is_strict: bool,
    /// How many sessions of an independent look may still be held.
    reviews: u32,
    /// What the next one is told.
    review: Option<String>,
    progress: ProgressTracker,
    seen: Vec<Deliverable>,
    standing: Standing,
    /// Set when everything had passed and did not hold.
    is_refuted: bool,
}

impl DeliverablePlan {
    /// A plan over the given project.
    pub fn new(status: Arc<dyn StatusReader>, instructions: Arc<dyn Instructions>) -> Self {
        Self {
            status,
            instructions,
            examiner: None,
            is_strict: false,
            reviews: 0,
            review: None,
            progress: ProgressTracker::default(),
            seen: Vec::new(),
            standing: Standing::default(),
            is_refuted: false,
        }
    }

    /// The same plan with checks that are run by `examiner`; strict, it accepts nothing but what is verified.
    #[must_use]
    pub fn examined_by(self, examiner: Arc<dyn Examiner>, is_strict: bool) -> Self {
        Self { examiner: Some(examiner), is_strict, ..self }
    }

    /// The same plan, in which somebody else has a look in the end.
    #[must_use]
    pub fn with_review(self) -> Self {
        Self { reviews: MAX_REVIEWS, ..self }
    }

    fn notice(&mut self, status: &ProjectStatus) -> Tally {
        self.standing.tally = status.tally();
        self.seen.clone_from(&status.deliverables);
        self.standing.tally
    }

    async fn have_reviewed(&mut self, briefing: String) -> Result<Next, Fault> {
        self.reviews -= 1;
        let name = Phase::Review;
        let text = self.instructions.resolve(name).await?;
        Ok(Next::Session(Instruction::briefed(name, text, Some(briefing)).into()))
    }

    /// How the run has ended, if it has: what passed is looked at once more before that is believed.
    async fn ended(&mut self, tally: Tally) -> Result<Option<RunOutcome>, Fault> {
        let Some(outcome) = run_ended(tally) else {
            return Ok(None);
        };
        if outcome != RunOutcome::AllPassed {
            return Ok(Some(outcome));
        }
        self.confirm_passed().await?;
        if self.is_refuted {
            return Ok(None);
        }
        if let Some(examiner) = self.examiner.as_ref().filter(|_| self.reviews > 0) {
            self.review = examiner.wants_review().await?;
            if self.review.is_some() {
                return Ok(None);
            }
        }
        let claimed = self.seen.iter().filter(|item| {
            item.is_active() && item.assurance() == Some(Assurance::Claimed) && self.is_strict
        });
        let claimed: Vec<String> = claimed.map(|item| item.id.clone()).collect();
        Ok(Some(if claimed.is_empty() { outcome } else { RunOutcome::Unverified { claimed } }))
    }
}

/// How a run over deliverables that stand like this has ended, if it has (seed 002 §3.4, priorities 2 and 3).
pub fn run_ended(tally: Tally) -> Option<RunOutcome> {
    if tally.all_achievable_passed() {
        Some(RunOutcome::AllPassed)
    } else if tally.all_blocked() {
        Some(RunOutcome::AllBlocked)
    } else {
        None
    }
}

#[async_trait]
impl Plan for DeliverablePlan {
    async fn next(&mut self, _so_far: &RunState) -> Result<Next, Fault> {
        self.status.ensure_writable().await?;
        if let Some(examiner) = &self.examiner {
            examiner.prepare().await?;
        }
        if let Some(briefing) = self.review.take() {
            return self.have_reviewed(briefing).await;
        }
        let (name, mut text) = match self.status.load().await? {
            None => (Phase::Initializer, String::new()),
            Some(status) => {
                self.progress.start(settled(&status));
                let tally = self.notice(&status);
                // What was refuted a moment ago needs a session, not another look.
                let is_refuted = std::mem::take(&mut self.is_refuted);
                if !is_refuted && let Some(outcome) = self.ended(tally).await? {
                    return Ok(Next::Done(outcome));
                }
                if let Some(briefing) = self.review.take() {
                    return self.have_reviewed(briefing).await;
                }
                if tally.total == 0 {
                    return Err(Fault::lasting(
                        Layer::Plan,
                        "no_active_deliverables",
                        ".autonoe/status.json holds no active deliverables, so there is nothing to work on.",
                    )
                    .hint(
                        "Run `autonoe sync` to add what SPEC.md asks for, or delete the file to start over.",
                    ));
                }
                let status = self.status.load().await?.unwrap_or(status);
                (Phase::Coding, briefing(&status, None))
            }
        };
        if let Some(examiner) = &self.examiner
            && let Some(checks) = examiner.briefing().await?
        {
            text = format!("{text}\n{checks}");
        }
        let briefing = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let text = self.instructions.resolve(name).await?;
        Ok(Next::Session(Instruction::briefed(name, text, briefing).into()))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault> {
        let Some(status) = self.status.load().await? else {
            return Ok(Verdict::Failed(nothing_created(finished.instruction.name.name())));
        };
        let tally = self.notice(&status);
        let advanced = self.progress.advanced(settled(&status), 2 * tally.total);
        Ok(match self.ended(tally).await? {
            Some(outcome) => Verdict::Done(outcome),
            None if self.is_refuted => Verdict::Idle,
            None if self.review.is_some() => Verdict::Moved,
            None if tally.total == 0 => Verdict::Failed(nothing_created(finished.instruction.name.name())),
            None if advanced => Verdict::Moved,
            None => Verdict::Idle,
        })
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        let Some(examiner) = &self.examiner else {
            return Ok(());
        };
        self.is_refuted = !examiner.confirm().await?.is_clean();
        if let Some(status) = self.status.load().await? {
            self.notice(&status);
        }
        Ok(())
    }

    fn standing(&self) -> Standing {
        self.standing.clone()
    }
}
