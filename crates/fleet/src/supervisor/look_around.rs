//! What a supervisor looks after while harnesses work: requests of people, times, and progress.

use std::time::{Duration, Instant};

use autonoe_harness::handle::HarnessStatus;
use jiff::Timestamp;
use serde_json::json;

use super::running::{RunningHarness, StopReason};
use super::{Supervisor, SupervisorError};
use crate::meta_state::Request;
use crate::strategy::{FleetMember, HarnessManager};

/// Between two records of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5000 });

impl Supervisor<'_> {
    /// Requests of people, times, and harnesses that do not end when they are asked to.
    pub(super) fn look_around(&mut self) -> Result<(), SupervisorError> {
        if let Some(fleet) = self.state.fleet()? {
            self.is_paused = fleet.request == Some(Request::Pause);
            self.fleet.request = fleet.request;
        }
        let is_asked =
            matches!(self.fleet.request, Some(Request::Stop | Request::Kill)) || self.wake_up.stops() > 0;
        if is_asked && self.stop.is_none() {
            self.stop_everything(StopReason::Requested)?;
        }
        if self.wake_up.stops() > 1 || self.fleet.request == Some(Request::Kill) {
            self.running.iter_mut().for_each(RunningHarness::kill);
        }
        let settings = &self.fleet.plan.settings;
        if self.elapsed() > settings.max_total_time && self.stop.is_none() {
            self.stop_everything(StopReason::TimeOver)?;
        }
        self.look_at_requests()?;
        let limit = self.fleet.plan.settings.default_timeout;
        for running in &mut self.running {
            running.enforce(limit);
        }
        if self.last_progress.elapsed() >= PROGRESS_INTERVAL {
            self.record_progress()?;
        }
        Ok(())
    }

    /// Requests for single harnesses that have not started. One that runs gets them directly.
    fn look_at_requests(&mut self) -> Result<(), SupervisorError> {
        let is_pending =
            |member: &FleetMember| member.result.is_none() && member.status == HarnessStatus::Pending;
        if !self.members.iter().any(is_pending) {
            return Ok(());
        }
        for row in self.state.harnesses()? {
            let is_asked = matches!(row.request, Some(Request::Stop | Request::Kill));
            if is_asked && self.members.iter().any(|member| member.id == row.id && is_pending(member)) {
                self.settle_unstarted(&row.id, HarnessStatus::Stopped, "It was stopped on request.")?;
            }
        }
        Ok(())
    }

    fn record_progress(&mut self) -> Result<(), SupervisorError> {
        self.last_progress = Instant::now();
        self.state.record_elapsed(self.elapsed())?;
        let mut changed = Vec::new();
        for running in &mut self.running {
            let (id, progress) = (running.handle.harness_id.clone(), running.progress());
            self.state.record_progress(&id, &progress, Timestamp::now())?;
            if running.shown.as_ref() != Some(&progress) {
                running.shown = Some(progress.clone());
                changed.push((id, progress));
            }
        }
        for (id, progress) in changed {
            let details = json!({
                "status": progress.status,
                "progress": progress.progress,
                "task": progress.current_task,
                "session": progress.current_iteration,
                "tasks_completed": progress.tasks_completed,
                "tasks_failed": progress.tasks_failed,
            });
            self.share("progress", Some(&id), &details)?;
        }
        Ok(())
    }

    /// Stops what runs, and ends what has not started.
    fn stop_everything(&mut self, reason: StopReason) -> Result<(), SupervisorError> {
        let why = reason.to_string();
        self.stop.get_or_insert(reason);
        let ids: Vec<String> = self
            .members
            .iter()
            .filter(|member| member.result.is_none())
            .map(|member| member.id.clone())
            .collect();
        self.stop(&ids, &why)
    }

    /// While a supervisor was at work; the clock may jump.
    fn elapsed(&self) -> Duration {
        self.fleet.elapsed + self.begun.elapsed()
    }
}
