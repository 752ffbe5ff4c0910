//! What a recovery remembers when its process dies.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use serde::{Deserialize, Serialize};

use super::RecoveringPlan;
use super::attempts::PendingClaim;
use crate::progress::ProgressDetector;
use crate::recovery::{RecoveryState, Rung};
use crate::stuck::StuckDetector;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct SavedRecovery {
    /// The last session that was judged.
    pub judged: u32,
    /// Sessions of the run that counted up to it, and what they cost.
    pub iterations: u32,
    pub spent: Usd,
    /// Sessions since the inner plan last said that one was progress.
    pub idle_sessions: u32,
    pub progress: ProgressDetector,
    pub stuck: StuckDetector,
    pub recovery: RecoveryState,
    /// The run's own backend and model.
    pub own: Rung,
    /// The commit of which the workspace must be made before the next session.
    pub go_to: Option<String>,
    /// Deliverables at which several agents have made attempts.
    #[serde(default)]
    pub attempted: BTreeSet<String>,
    /// Backends that can make no attempt any more, and why, as a sentence.
    #[serde(default)]
    pub unusable: BTreeMap<String, String>,
    /// What to claim when the workspace is that of the chosen attempt.
    #[serde(default)]
    pub claim: Option<PendingClaim>,
    /// The work of the last session, see [`work`](super::earlier_run::work); `None` before the first one.
    #[serde(default)]
    pub work: Option<String>,
    /// The deliverable of the current remedy; `None` if it is about other work.
    #[serde(default)]
    pub stuck_at: Option<String>,
    /// The newest score and remedy, which a killed process may not have shown.
    #[serde(default)]
    pub last: Vec<RunEvent>,
    /// Nothing is left to try.
    pub has_given_up: bool,
}

impl RecoveringPlan<'_> {
    /// Saves the state together with what has led to it, and then shows it.
    pub(super) async fn save_and_publish(&mut self, events: &[RunEvent]) -> Result<(), Fault> {
        self.state.recovery = self.recovery.state().clone();
        let counted =
            |event: &&RunEvent| matches!(event, RunEvent::Progress { .. } | RunEvent::Remedy { .. });
        if events.iter().any(|event| counted(&event)) {
            self.state.last = events.iter().filter(counted).cloned().collect();
        }
        let saved = serde_json::to_value(&self.state).map_err(|error| {
            let message = format!("The state of the recovery cannot be saved: {error}.");
            Fault::permanent(FaultLayer::Store, "recovery_state", message)
        })?;
        self.setup.memory.save_recovery(&saved, events).await?;
        events.iter().for_each(self.setup.on_event);
        Ok(())
    }
}
