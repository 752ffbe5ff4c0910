//! DeliverablePlan: the `run` command. Initialize once, then code until everything achievable passed.

use std::sync::Arc;

use async_trait::async_trait;

use super::nothing_created;
use crate::agent::Instruction;
use crate::deliverable::Deliverable;
use crate::fault::{Fault, Layer};
use crate::instruction::{InstructionName, Instructions, briefing};
use crate::outcome::Outcome;
use crate::plan::{Iteration, Next, Plan, RunState, Standing, StatusReader, Verdict};
use crate::status::{ProjectStatus, Tally};

/// The plan of `run`.
pub struct DeliverablePlan {
    status: Arc<dyn StatusReader>,
    instructions: Arc<dyn Instructions>,
    seen: Vec<Deliverable>,
    standing: Standing,
}

impl DeliverablePlan {
    /// A plan over the given project.
    pub fn new(status: Arc<dyn StatusReader>, instructions: Arc<dyn Instructions>) -> Self {
        Self { status, instructions, seen: Vec::new(), standing: Standing::default() }
    }

    fn notice(&mut self, status: &ProjectStatus) -> Tally {
        self.standing.tally = status.tally();
        self.seen.clone_from(&status.deliverables);
        self.standing.tally
    }
}

/// How a run over deliverables that stand like this has ended, if it has (seed 002 §3.4, priorities 2 and 3).
pub fn run_ended(tally: Tally) -> Option<Outcome> {
    if tally.all_achievable_passed() {
        Some(Outcome::AllPassed)
    } else if tally.all_blocked() {
        Some(Outcome::AllBlocked)
    } else {
        None
    }
}

#[async_trait]
impl Plan for DeliverablePlan {
    async fn next(&mut self, _so_far: &RunState) -> Result<Next, Fault> {
        let (name, briefing) = match self.status.load().await? {
            None => (InstructionName::Initializer, None),
            Some(status) => {
                let tally = self.notice(&status);
                if let Some(outcome) = run_ended(tally) {
                    return Ok(Next::Done(outcome));
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
                (InstructionName::Coding, Some(briefing(&status, None)))
            }
        };
        let text = self.instructions.resolve(name).await?;
        Ok(Next::Session { instruction: Instruction::briefed(name, text, briefing) })
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault> {
        let before = std::mem::take(&mut self.seen);
        let Some(status) = self.status.load().await? else {
            return Ok(Verdict::Failed(nothing_created(finished.instruction.name.name())));
        };
        let tally = self.notice(&status);
        Ok(match run_ended(tally) {
            Some(outcome) => Verdict::Done(outcome),
            None if tally.total == 0 => Verdict::Failed(nothing_created(finished.instruction.name.name())),
            None if status.deliverables == before => Verdict::Idle,
            None => Verdict::Moved,
        })
    }

    fn standing(&self) -> Standing {
        self.standing
    }
}
