//! The end of a harness: what became of it, whether it is started again, and its commits.

use autonoe_harness::handle::{HarnessResult, HarnessStatus};
use jiff::Timestamp;
use serde_json::json;

use super::harness_output::error_in_output;
use super::home_coming::unfinished_on;
use super::running::{RunningHarness, StopReason};
use super::{FleetEvent, Supervisor, SupervisorError};
use crate::fleet_host::{AtHome, FleetPoint, HomeComing};
use crate::meta_state::{HarnessRow, Request};

impl Supervisor<'_> {
    /// A process has ended: the harness is over, or is started again.
    pub(super) fn process_ended(&mut self, mut running: RunningHarness) -> Result<(), SupervisorError> {
        self.checkpoint(FleetPoint::Ended)?;
        self.waits_for_space = false;
        running.handle.refresh();
        let limit = self.fleet.plan.settings.default_timeout;
        if let Some(limit) =
            limit.filter(|limit| running.died_without_result() && running.time_used() > *limit)
        {
            running.stop_reason.get_or_insert(StopReason::TooLong(limit));
        }
        let row = self.row(&running.handle.harness_id)?;
        let request = row.request.or(self.fleet.request).filter(|request| *request != Request::Pause);
        if running.died_without_result() && self.may_retry(&running, &row, request) {
            return self.start_again(&running, &row);
        }
        let (status, mut result) = outcome(&running, &row, request);
        if running.died_without_result() {
            result.cost_usd = self.host.spent(&running.handle.working_dir).map(|spent| spent.0);
        }
        let home = self.bring_home(&row.id)?;
        if let Ok(AtHome { unfinished: Some(branch), .. }) = &home {
            let error = result.error.iter().map(|error| format!("{}. ", error.trim_end_matches('.')));
            result.error = Some(error.collect::<String>() + &unfinished_on(branch));
        }
        self.checkpoint(FleetPoint::BroughtHome)?;
        self.settle(&row.id, status, result, home)
    }

    fn may_retry(&self, running: &RunningHarness, row: &HarnessRow, request: Option<Request>) -> bool {
        let is_stopped = running.stop_reason.is_some() || request.is_some() || self.stop.is_some();
        let settings = &self.fleet.plan.settings;
        settings.retry_failed && row.attempts <= settings.max_retries && !is_stopped
    }

    fn start_again(&mut self, running: &RunningHarness, row: &HarnessRow) -> Result<(), SupervisorError> {
        let why = running.handle.error.clone().unwrap_or_default();
        self.warn(format!("{} is started again: {why}", row.id));
        self.share("retry", Some(&row.id), &json!({ "why": why, "attempt": row.attempts + 1 }))?;
        let harness = self.plan_of(&row.id)?;
        // Without a usable one it finds out by itself, with what it has begun.
        let harness = self.with_usable_backends(&harness).unwrap_or(harness);
        self.spawn(&harness, &running.handle.working_dir, running.time_used())
    }

    fn settle(
        &mut self,
        id: &str,
        status: HarnessStatus,
        result: HarnessResult,
        home: HomeComing,
    ) -> Result<(), SupervisorError> {
        self.state.settle(status, &result, &home, Timestamp::now())?;
        self.checkpoint(FleetPoint::Settled)?;
        let event_type = if result.success { "complete" } else { "fail" };
        let left_behind = home.as_ref().err().cloned();
        let home = home.unwrap_or_default().passed;
        let branch = home.as_ref().map(|home| home.branch.as_str());
        self.share(
            event_type,
            Some(id),
            &json!({ "status": status.name(), "error": result.error, "branch": branch, "left_behind": left_behind }),
        )?;
        let error = result.error.clone();
        if let Some(member) = self.member(id) {
            (member.status, member.result) = (status, Some(result));
        }
        self.homes.extend(home.clone().map(|home| (id.to_owned(), home)));
        self.left_behind.extend(left_behind.clone().map(|why| (id.to_owned(), why)));
        self.ended.push_back(id.to_owned());
        self.emit(FleetEvent::HarnessEnded { id: id.to_owned(), status, error, home, left_behind });
        Ok(())
    }

    /// A harness that has no process.
    pub(super) fn settle_unstarted(
        &mut self,
        id: &str,
        status: HarnessStatus,
        why: &str,
    ) -> Result<(), SupervisorError> {
        let result =
            HarnessResult { cost_usd: Some(0.0), ..HarnessResult::unsuccessful(id, Some(why.to_owned())) };
        self.settle(id, status, result, Ok(AtHome::default()))
    }
}

/// How a harness ended that is not started again. Who has stopped it is known better here than by the harness.
fn outcome(
    running: &RunningHarness,
    row: &HarnessRow,
    request: Option<Request>,
) -> (HarnessStatus, HarnessResult) {
    let mut result = running.result();
    if result.error.is_some() && row.attempts > 0 {
        result.error = error_in_output(&running.handle.working_dir, &row.id).or(result.error);
    }
    let mut status = running.handle.status;
    if let Some(why) = &running.stop_reason
        && !result.success
    {
        (status, result.error) = (why.status(), Some(why.sentence()));
    } else if let Some(request) = request
        && !result.success
    {
        let how = match (request, status) {
            (Request::Kill, HarnessStatus::Failed) => "killed",
            _ => "stopped",
        };
        (status, result.error) = (HarnessStatus::Stopped, Some(format!("It was {how} on request.")));
    }
    (status, result)
}
