//! Carries out what the strategy decides.

use std::time::Duration;

use autonoe_harness::handle::HarnessStatus;

use super::running::{RunningHarness, StopReason};
use super::{FleetEvent, Supervisor, SupervisorError};
use crate::strategy::{FleetMember, HarnessManager, StartSetup};

/// Between two looks at requests, times and progress. Ends are noticed without looking.
const TICK: Duration = Duration::from_millis(500);

impl HarnessManager for Supervisor<'_> {
    type Error = SupervisorError;

    fn members(&self) -> &[FleetMember] {
        &self.members
    }

    fn has_place(&self) -> bool {
        let is_open = self.stop.is_none() && !self.is_paused && !self.waits_for_space;
        is_open && self.running.len() < self.fleet.plan.settings.max_concurrent
    }

    fn start(&mut self, id: &str, setup: StartSetup) -> Result<(), SupervisorError> {
        // A person may have asked for it meanwhile.
        self.look_around()?;
        let is_pending = self.members.iter().any(|member| member.id == id && member.result.is_none());
        match is_pending && self.has_place() {
            true => self.begin(id, &setup),
            false => Ok(()),
        }
    }

    fn skip(&mut self, id: &str, why: &str) -> Result<(), SupervisorError> {
        self.settle_unstarted(id, HarnessStatus::Stopped, &format!("It was not started: {why}."))
    }

    fn stop(&mut self, ids: &[String], why: &str) -> Result<(), SupervisorError> {
        for id in ids {
            if let Some(running) = self.running.iter_mut().find(|running| running.handle.harness_id == *id) {
                let is_new = running.stop(StopReason::Other(why.to_owned()));
                if is_new {
                    self.emit(FleetEvent::HarnessStopping { id: id.clone(), why: why.to_owned() });
                }
            } else if self.members.iter().any(|member| member.id == *id && member.result.is_none()) {
                let why = format!("It was not started: {why}.");
                self.settle_unstarted(id, HarnessStatus::Stopped, &why)?;
            }
        }
        Ok(())
    }

    fn take_ended(&mut self) -> Result<Option<String>, SupervisorError> {
        Ok(self.ended.pop_front())
    }

    fn wait(&mut self) -> Result<bool, SupervisorError> {
        if !self.ended.is_empty() {
            return Ok(true);
        }
        let waits_for_resume = self.is_paused && self.members.iter().any(|member| member.result.is_none());
        if self.running.is_empty() && !waits_for_resume {
            return Ok(false);
        }
        self.wake_up
            .wait(self.running.iter().filter_map(|running| running.handle.process().end_descriptor()), TICK);
        let (mut ended, running): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.running).into_iter().partition(RunningHarness::has_ended);
        self.running = running;
        // Several may have ended since the last look, above all while no supervisor was at work.
        ended.sort_by_key(RunningHarness::last_written);
        for running in ended {
            self.process_ended(running)?;
        }
        self.look_around()?;
        Ok(true)
    }
}
