//! The end of a fleet: how it ended, the branch with all commits, and the file with the result.

use autonoe_files::{UntrustedDir, Visibility};

use super::running::StopReason;
use super::{FleetOutcome, Supervisor, SupervisorError};
use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::OnComplete;
use crate::fleet_host::HomeBranch;
use crate::meta_state::Request;

impl Supervisor<'_> {
    pub(super) fn outcome(&self, result: &AggregatedResult) -> Result<FleetOutcome, SupervisorError> {
        Ok(match (&self.stop, result.success) {
            (_, true) => FleetOutcome::Succeeded,
            (Some(StopReason::Requested), false) => FleetOutcome::Interrupted,
            (Some(StopReason::TimeOver), false) => FleetOutcome::TimedOut,
            (None, false) if self.was_asked_to_end()? => FleetOutcome::Interrupted,
            (None | Some(StopReason::TooLong(_) | StopReason::Other(_)), false) => FleetOutcome::Failed,
        })
    }

    /// Whether a person has ended each harness that did not succeed.
    fn was_asked_to_end(&self) -> Result<bool, SupervisorError> {
        let rows = self.state.harnesses()?;
        let mut unsuccessful =
            rows.iter().filter(|row| row.result.as_ref().is_none_or(|result| !result.success));
        Ok(unsuccessful.all(|row| matches!(row.request, Some(Request::Stop | Request::Kill))))
    }

    pub(super) fn merge_all(&self, result: &AggregatedResult) -> Option<HomeBranch> {
        if self.fleet.plan.aggregation.on_complete != OnComplete::MergeAll {
            return None;
        }
        let wanted = |id: &String| match &result.winner {
            Some(winner) => winner.harness_id == *id,
            None => result.of(id).is_some_and(|result| result.success),
        };
        let branches: Vec<HomeBranch> =
            self.homes.iter().filter(|(id, _)| wanted(id)).map(|(_, home)| home.clone()).collect();
        if branches.is_empty() {
            return None;
        }
        match self.host.merge_all(&self.fleet, &branches) {
            Ok(merged) => Some(merged),
            Err(why) => {
                self.warn(why);
                None
            }
        }
    }

    pub(super) fn write_result(&self, result: &AggregatedResult) {
        let Some(output_dir) = &self.fleet.plan.aggregation.output_dir else { return };
        let text = serde_json::to_vec_pretty(result).unwrap_or_default();
        let written = UntrustedDir::open(&self.project)
            .and_then(|root| root.create_missing(output_dir, Visibility::Everyone))
            .and_then(|directory| directory.replace("result.json".as_ref(), &text, Visibility::Everyone));
        if let Err(error) = written {
            self.warn(format!("The result cannot be written to {}: {error}.", output_dir.display()));
        }
    }
}
