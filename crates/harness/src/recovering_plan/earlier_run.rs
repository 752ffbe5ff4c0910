//! Remedies of the run before: if it did not finish and the same work is next, they continue, so that a restart repeats none and the sessions
//! that they may use stay used.

use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::plan::{NextAction, Plan as _, RunState};
use autonoe_core::status::ProjectStatus;

use super::saved::SavedRecovery;
use super::{RecoveringPlan, task};
use crate::progress::fingerprint;
use crate::recovery::{Recovery, RemedyOutcome};

impl RecoveringPlan<'_> {
    /// Takes over what the run before remembered. Returns what comes next, if the inner plan was asked and its answer still counts.
    pub(super) async fn take_over_earlier(&mut self, so_far: &RunState) -> Result<Option<NextAction>, Fault> {
        let Some(earlier) = self.earlier.take() else {
            return Ok(None);
        };
        let action = self.inner.next(so_far).await?;
        let NextAction::Session(session) = &action else {
            return Ok(Some(action));
        };
        if session.worker > 0 {
            self.earlier = Some(earlier);
            return Ok(Some(action));
        }
        let status = self.setup.load_status().await?;
        if earlier.work != Some(work(&session.instruction, status.as_ref())) {
            return Ok(Some(action));
        }
        let has_given_up = earlier.has_given_up;
        self.state = SavedRecovery {
            judged: 0,
            iterations: 0,
            spent: Usd::default(),
            go_to: None,
            claim: None,
            unusable: Default::default(),
            ..earlier
        };
        self.recovery = Recovery::new(self.setup.budget, self.state.recovery.for_next_run());
        // The commits that it started from are not those of this run.
        if self.exploration_start().is_some() && !self.recovery.continue_exploration_later() {
            self.recovery.end(RemedyOutcome::Failed);
            self.state.stuck.end_recovery(false);
        }
        if has_given_up {
            // The run ended before the plan could give the work up. If it does not, a person has started it again.
            if !self.abandon().await? {
                self.state = SavedRecovery::default();
                self.recovery = Recovery::new(self.setup.budget, Default::default());
            }
            return Ok(None);
        }
        let events: Vec<RunEvent> = self.continued().into_iter().collect();
        self.save_and_publish(&events).await?;
        Ok(Some(action))
    }

    fn continued(&self) -> Option<RunEvent> {
        let tried = self.tried();
        let message =
            format!("Continuing the recovery of the last run, which has tried: {}.", tried.join(", "));
        (!tried.is_empty()).then_some(RunEvent::Notice { message })
    }
}

/// Tells the work of a session from other work, also in another run.
pub(super) fn work(instruction: &Instruction, status: Option<&ProjectStatus>) -> String {
    let task = task(instruction, status);
    let about = format!("{}\n{}\n{:?}", task.id, task.goal, task.success_criteria);
    format!("{:016x}", fingerprint(about.as_bytes()))
}
