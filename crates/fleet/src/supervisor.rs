//! The supervisor of a fleet: starts harnesses as processes of their own, notices their ends at once, and brings their commits home.
//!
//! It may be killed at any moment. Its harnesses work on meanwhile, and the next supervisor finds them by what [`MetaState`] has on record.
//! A new process waits until it is on record before it does anything, so none is ever started twice.

mod adoption;
mod running;
mod wake_up;

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use autonoe_files::{UntrustedDir, Visibility};
use autonoe_harness::control::{HarnessDirectory, HarnessFileError};
use autonoe_harness::handle::{HarnessHandle, HarnessResult, HarnessStatus};
use autonoe_harness::process::process_identity;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::{FleetFile, OnComplete, SubHarness};
use crate::fleet_host::{FleetHost, FleetPoint, HomeBranch};
use crate::fleet_lock::{FleetLock, FleetLockError};
use crate::meta_state::{FleetRow, HarnessRow, MetaState, MetaStateError, Request};
use crate::shared_context::{SharedContext, SharedContextError};
use crate::strategy::{FleetMember, HarnessManager, StartSetup, strategy_for};

use self::running::{RunningHarness, StopReason};
pub use self::wake_up::WakeUp;

/// What a new process waits for: it is on record.
pub const BEGIN: &[u8] = b"begin\n";

/// Between two looks at requests, times and progress. Ends are noticed without looking.
const TICK: Duration = Duration::from_millis(500);

/// Between two records of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Name of the instruction with which a harness begins.
const CONTEXT_FILE: &str = "001-context.txt";

/// Output of the process itself, beside the log of the harness.
const OUTPUT: &str = "output.log";

/// Bytes at the end of the output in which an error is looked for.
const MAX_OUTPUT: u64 = 64 * 1024;

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

/// What happens in a fleet, for those who watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FleetEvent {
    FleetStarted {
        fleet: String,
        strategy: &'static str,
        harnesses: usize,
        is_continued: bool,
    },
    HarnessStarted {
        id: String,
        pid: u32,
        attempt: u32,
    },
    /// A harness that an earlier supervisor has started.
    HarnessAdopted {
        id: String,
        pid: u32,
    },
    HarnessStopping {
        id: String,
        why: String,
    },
    HarnessEnded {
        id: String,
        status: HarnessStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        home: Option<HomeBranch>,
    },
    Warning {
        message: String,
    },
    /// The last one.
    FleetEnded {
        outcome: FleetOutcome,
        result: Box<AggregatedResult>,
        #[serde(skip_serializing_if = "Option::is_none")]
        merged: Option<HomeBranch>,
    },
}

/// Why a fleet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetOutcome {
    Succeeded,
    Failed,
    /// A person has stopped it.
    Interrupted,
    /// Its time was over.
    TimedOut,
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
    stop: Option<StopReason>,
    is_paused: bool,
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
            stop: None,
            is_paused: fleet.request == Some(Request::Pause),
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
        let outcome = match (&self.stop, result.success) {
            (_, true) => FleetOutcome::Succeeded,
            (Some(StopReason::Requested), false) => FleetOutcome::Interrupted,
            (Some(StopReason::TimeOver), false) => FleetOutcome::TimedOut,
            (None, false) if self.was_asked_to_end()? => FleetOutcome::Interrupted,
            (None | Some(StopReason::TooLong(_) | StopReason::Other(_)), false) => FleetOutcome::Failed,
        };
        (result.started_at, result.completed_at) = (Some(self.fleet.started_at), Some(Timestamp::now()));
        let merged = self.merge_all(&result);
        self.write_result(&result);
        self.state.finish(&result, Timestamp::now())?;
        self.share("fleet_ended", None, &json!({ "success": result.success, "summary": result.summary }))?;
        self.emit(FleetEvent::FleetEnded { outcome, result: Box::new(result.clone()), merged });
        Ok((outcome, result))
    }

    /// Whether a person has ended each harness that did not succeed.
    fn was_asked_to_end(&self) -> Result<bool, SupervisorError> {
        let rows = self.state.harnesses()?;
        let mut unsuccessful =
            rows.iter().filter(|row| row.result.as_ref().is_none_or(|result| !result.success));
        Ok(unsuccessful.all(|row| matches!(row.request, Some(Request::Stop | Request::Kill))))
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

    /// Makes a directory for a harness and starts it there. What prevents that is the end of the harness, not of the fleet.
    fn begin(&mut self, id: &str, setup: &StartSetup) -> Result<(), SupervisorError> {
        let harness = self.plan_of(id)?;
        let commits: Vec<String> = setup
            .builds_on
            .iter()
            .filter_map(|other| {
                self.homes.iter().find(|(id, _)| id == other).map(|(_, home)| home.commit.clone())
            })
            .collect();
        let working_dir = match self.host.prepare(&self.fleet, &harness, &commits) {
            Ok(working_dir) => working_dir,
            Err(why) => return self.settle_unstarted(id, HarnessStatus::Failed, &why),
        };
        let branch = format!("autonoe/{}/{id}", self.fleet.plan.name);
        self.state.set_working_dir(id, &working_dir, &branch, Timestamp::now())?;
        self.checkpoint(FleetPoint::Prepared)?;
        if let Err(why) = send_context(&working_dir, id, setup.context.as_deref()) {
            return self.settle_unstarted(id, HarnessStatus::Failed, &why.to_string());
        }
        self.spawn(&harness, &working_dir)
    }

    /// Starts the process, puts it on record, and releases it.
    fn spawn(&mut self, harness: &SubHarness, working_dir: &Path) -> Result<(), SupervisorError> {
        let id = harness.id.as_str();
        let mut command = self.host.command(&self.fleet, harness, working_dir);
        let spawned = open_output(working_dir, id).and_then(|(output, errors)| {
            let spawned = command.stdin(Stdio::piped()).stdout(output).stderr(errors).spawn();
            spawned.map_err(|error| format!("The process cannot be started: {error}."))
        });
        let mut child = match spawned {
            Ok(child) => child,
            Err(why) => return self.settle_unstarted(id, HarnessStatus::Failed, &why),
        };
        self.checkpoint(FleetPoint::Spawned)?;
        let pid = child.id();
        self.state.record_process(id, pid, &process_identity(pid), Timestamp::now())?;
        self.checkpoint(FleetPoint::Recorded)?;
        let released = child.stdin.take().map(|mut stdin| stdin.write_all(BEGIN));
        let handle = match HarnessHandle::of_child(working_dir, id, child) {
            Ok(handle) => handle,
            Err(error) => return Err(SupervisorError::Host(error.to_string())),
        };
        // A process that cannot be released has ended, which is noticed like any other end.
        if let Some(Ok(())) = released {
            self.state.record_released(id)?;
        }
        self.checkpoint(FleetPoint::Released)?;
        let attempt = self.row(id)?.attempts;
        self.share("spawn", Some(id), &json!({ "pid": pid, "attempt": attempt }))?;
        if let Some(member) = self.member(id) {
            member.status = HarnessStatus::Running;
        }
        self.running.push(RunningHarness::new(handle));
        self.emit(FleetEvent::HarnessStarted { id: id.to_owned(), pid, attempt });
        Ok(())
    }

    /// A process has ended: the harness is over, or is started again.
    fn process_ended(&mut self, mut running: RunningHarness) -> Result<(), SupervisorError> {
        self.checkpoint(FleetPoint::Ended)?;
        let id = running.handle.harness_id.clone();
        running.handle.refresh();
        let row = self.row(&id)?;
        let request = row.request.or(self.fleet.request).filter(|request| *request != Request::Pause);
        let is_stopped = running.stop_reason.is_some() || request.is_some() || self.stop.is_some();
        let settings = &self.fleet.plan.settings;
        let may_retry = settings.retry_failed && row.attempts <= settings.max_retries && !is_stopped;
        if running.died_without_result() && may_retry {
            let why = running.handle.error.clone().unwrap_or_default();
            self.warn(format!("{id} is started again: {why}"));
            self.share("retry", Some(&id), &json!({ "why": why, "attempt": row.attempts + 1 }))?;
            let harness = self.plan_of(&id)?;
            let working_dir = running.handle.working_dir.clone();
            return self.spawn(&harness, &working_dir);
        }
        let mut result = running.result();
        if result.error.is_some() && row.attempts > 0 {
            result.error = error_in_output(&running.handle.working_dir, &id).or(result.error);
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
        let harness = self.plan_of(&id)?;
        let home = match self.host.bring_home(&self.fleet, &harness) {
            Ok(home) => home,
            // Its commits stay in its directory.
            Err(why) => {
                self.warn(format!(
                    "The commits of {id} are still in {}: {why}",
                    running.handle.working_dir.display()
                ));
                None
            }
        };
        self.checkpoint(FleetPoint::BroughtHome)?;
        self.settle(&id, status, result, home)
    }

    fn settle(
        &mut self,
        id: &str,
        status: HarnessStatus,
        result: HarnessResult,
        home: Option<HomeBranch>,
    ) -> Result<(), SupervisorError> {
        self.state.settle(status, &result, home.as_ref(), Timestamp::now())?;
        self.checkpoint(FleetPoint::Settled)?;
        let event_type = if result.success { "complete" } else { "fail" };
        let branch = home.as_ref().map(|home| home.branch.as_str());
        self.share(
            event_type,
            Some(id),
            &json!({ "status": status.name(), "error": result.error, "branch": branch }),
        )?;
        let error = result.error.clone();
        if let Some(member) = self.member(id) {
            (member.status, member.result) = (status, Some(result));
        }
        self.homes.extend(home.clone().map(|home| (id.to_owned(), home)));
        self.ended.push_back(id.to_owned());
        self.emit(FleetEvent::HarnessEnded { id: id.to_owned(), status, error, home });
        Ok(())
    }

    /// A harness that has no process.
    fn settle_unstarted(
        &mut self,
        id: &str,
        status: HarnessStatus,
        why: &str,
    ) -> Result<(), SupervisorError> {
        let result = HarnessResult {
            harness_id: id.to_owned(),
            success: false,
            tasks_completed: 0,
            tasks_failed: 0,
            tasks_verified: 0,
            progress: 0.0,
            execution_seconds: 0.0,
            cost_usd: Some(0.0),
            error: Some(why.to_owned()),
            output: String::new(),
        };
        self.settle(id, status, result, None)
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

    /// Requests of people, times, and harnesses that do not end when they are asked to.
    fn look_around(&mut self) -> Result<(), SupervisorError> {
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
        for running in &self.running {
            let progress = running.progress();
            self.state.record_progress(&running.handle.harness_id, &progress, Timestamp::now())?;
        }
        Ok(())
    }

    /// While a supervisor was at work; the clock may jump.
    fn elapsed(&self) -> Duration {
        self.fleet.elapsed + self.begun.elapsed()
    }

    fn merge_all(&self, result: &AggregatedResult) -> Option<HomeBranch> {
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

    fn write_result(&self, result: &AggregatedResult) {
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

impl HarnessManager for Supervisor<'_> {
    type Error = SupervisorError;

    fn members(&self) -> &[FleetMember] {
        &self.members
    }

    fn has_place(&self) -> bool {
        let is_open = self.stop.is_none() && !self.is_paused;
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

fn send_context(working_dir: &Path, id: &str, context: Option<&str>) -> Result<(), HarnessFileError> {
    let directory = HarnessDirectory::create(working_dir, id)?;
    context.map_or(Ok(()), |context| directory.send_once(CONTEXT_FILE, context))
}

/// Where standard output and standard error of a harness go.
fn open_output(working_dir: &Path, id: &str) -> Result<(std::fs::File, std::fs::File), String> {
    let wrong = |why: String| format!("The output of {id} cannot be written: {why}.");
    let directory = HarnessDirectory::create(working_dir, id).map_err(|error| wrong(error.to_string()))?;
    let directory = UntrustedDir::open(directory.path()).map_err(|error| wrong(error.to_string()))?;
    let output = directory.open_to_append(OUTPUT.as_ref(), Visibility::OwnerOnly);
    let output = output.map_err(|error| wrong(error.to_string()))?;
    let errors = output.try_clone().map_err(|error| wrong(error.to_string()))?;
    Ok((output, errors))
}

/// The last error that the process has printed.
fn error_in_output(working_dir: &Path, id: &str) -> Option<String> {
    use std::io::{Read, Seek, SeekFrom};
    let directory = HarnessDirectory::open(working_dir, id).ok()?;
    let mut file = UntrustedDir::open(directory.path()).ok()?.open_file(OUTPUT.as_ref()).ok()??;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(MAX_OUTPUT))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let error = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
    error.map(|error| error.trim().chars().take(500).collect())
}

#[cfg(test)]
mod tests;
