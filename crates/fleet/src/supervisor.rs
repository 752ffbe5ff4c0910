//! The supervisor of a fleet: starts harnesses as processes of their own, notices their ends at once, and brings their commits home.
//!
//! It may be killed at any moment. Its harnesses work on meanwhile, and the next supervisor finds them by what [`MetaState`] has on record.
//! A new process waits until it is on record before it does anything, so none is ever started twice.

mod adoption;
mod budget;
mod ending;
mod fleet_end;
mod fleet_event;
mod harness_manager;
mod harness_output;
mod home_coming;
mod look_around;
mod running;
mod starting;
mod time_used;
mod usable_backends;
mod wake_up;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;
use serde_json::json;

use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::{FleetFile, SubHarness};
use crate::fleet_host::{FleetHost, FleetPoint, HomeBranch};
use crate::fleet_lock::{FleetLock, FleetLockError};
use crate::meta_state::{FleetRow, HarnessRow, MetaState, MetaStateError, Request};
use crate::shared_context::{SharedContext, SharedContextError};
use crate::strategies::strategy_for;
use crate::strategy::FleetMember;

pub use self::fleet_event::{FleetEvent, FleetOutcome};
use self::running::{RunningHarness, StopReason};
pub use self::starting::BEGIN;
pub use self::wake_up::WakeUp;

#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error(transparent)]
    Lock(#[from] FleetLockError),
    #[error(transparent)]
    State(#[from] MetaStateError),
    #[error(transparent)]
    Context(#[from] SharedContextError),
    #[error("{0}")]
    Host(String),
}

pub struct Supervisor<'a> {
    project: PathBuf,
    host: &'a dyn FleetHost,
    wake_up: &'a WakeUp,
    on_event: &'a dyn Fn(&FleetEvent),
    state: MetaState,
    context: SharedContext,
    fleet: FleetRow,
    members: Vec<FleetMember>,
    running: Vec<RunningHarness>,
    /// Over, but the strategy does not know yet.
    ended: VecDeque<String>,
    /// Commits that have come home.
    homes: Vec<(String, HomeBranch)>,
    /// Harnesses that are over and whose commits have not, with the reason.
    left_behind: BTreeMap<String, String>,
    stop: Option<StopReason>,
    is_paused: bool,
    /// No harness can begin before another one has ended.
    waits_for_space: bool,
    begun: Instant,
    last_progress: Instant,
    _lock: FleetLock,
}

impl<'a> Supervisor<'a> {
    /// Begins a fleet or continues it. `checked_tasks` are the numbers of tasks of each harness that checks decide about.
    pub fn open(
        project: &Path,
        plan: &FleetFile,
        checked_tasks: &[u32],
        host: &'a dyn FleetHost,
        wake_up: &'a WakeUp,
        on_event: &'a dyn Fn(&FleetEvent),
    ) -> Result<Self, SupervisorError> {
        let lock = FleetLock::take(project)?;
        let state = MetaState::open(project)?;
        let context = SharedContext::open(project)?;
        let fleet = state.begin(plan, checked_tasks, Timestamp::now())?;
        let rows = state.harnesses()?;
        let is_continued = rows.iter().any(|row| row.attempts > 0 || row.result.is_some());
        let members = rows.iter().zip(&fleet.plan.harnesses).map(|(row, harness)| FleetMember {
            id: row.id.clone(),
            depends: harness.depends.clone(),
            status: row.status,
            checked_tasks: row.checked_tasks,
            result: row.result.clone(),
        });
        let mut supervisor = Self {
            project: project.to_owned(),
            host,
            wake_up,
            on_event,
            members: members.collect(),
            running: Vec::new(),
            ended: VecDeque::new(),
            homes: Vec::new(),
            left_behind: BTreeMap::new(),
            stop: None,
            is_paused: fleet.request == Some(Request::Pause),
            waits_for_space: false,
            begun: Instant::now(),
            last_progress: Instant::now(),
            state,
            context,
            fleet,
            _lock: lock,
        };
        supervisor.emit(FleetEvent::FleetStarted {
            fleet: supervisor.fleet.plan.name.clone(),
            strategy: supervisor.fleet.plan.settings.coordination.name(),
            harnesses: supervisor.members.len(),
            is_continued,
        });
        supervisor.adopt(rows)?;
        Ok(supervisor)
    }

    /// Of the fleet, counted over all fleets of the project.
    pub fn number(&self) -> u32 {
        self.fleet.number
    }

    /// Runs the fleet to its end.
    pub fn run(mut self) -> Result<(FleetOutcome, AggregatedResult), SupervisorError> {
        let mut strategy = strategy_for(&self.fleet.plan.settings);
        let mut result = strategy.execute(&mut self)?;
        let mut outcome = self.outcome(&result)?;
        self.bring_rest_home(&mut result)?;
        if outcome == FleetOutcome::Succeeded && !result.success {
            outcome = FleetOutcome::Failed;
        }
        (result.started_at, result.completed_at) = (Some(self.fleet.started_at), Some(Timestamp::now()));
        let merged = self.merge_all(&result);
        self.write_result(&result);
        self.state.finish(&result, Timestamp::now())?;
        self.share("fleet_ended", None, &json!({ "success": result.success, "summary": result.summary }))?;
        self.emit(FleetEvent::FleetEnded { outcome, result: Box::new(result.clone()), merged });
        Ok((outcome, result))
    }

    fn plan_of(&self, id: &str) -> Result<SubHarness, SupervisorError> {
        let found = self.fleet.plan.harness(id).cloned();
        found.ok_or_else(|| SupervisorError::Host(format!("There is no harness '{id}' in the fleet.")))
    }

    fn row(&self, id: &str) -> Result<HarnessRow, SupervisorError> {
        let found = self.state.harnesses()?.into_iter().find(|row| row.id == id);
        found.ok_or_else(|| SupervisorError::Host(format!("There is no harness '{id}' in the fleet.")))
    }

    fn member(&mut self, id: &str) -> Option<&mut FleetMember> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    fn emit(&self, event: FleetEvent) {
        (self.on_event)(&event);
    }

    fn warn(&self, message: String) {
        self.emit(FleetEvent::Warning { message });
    }

    /// For the harnesses, and for those who read the state.
    fn share(
        &self,
        event_type: &str,
        harness: Option<&str>,
        details: &serde_json::Value,
    ) -> Result<(), SupervisorError> {
        self.state.record_event(event_type, harness, details, Timestamp::now())?;
        self.context.emit_event(event_type, harness, details)?;
        self.context.take_notices().into_iter().for_each(|notice| self.warn(notice));
        Ok(())
    }

    fn checkpoint(&self, point: FleetPoint) -> Result<(), SupervisorError> {
        self.host.checkpoint(point).map_err(SupervisorError::Host)
    }
}

#[cfg(test)]
mod tests;
