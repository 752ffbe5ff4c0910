//! Writes what others read about a harness: its log, its alerts, its status and the view of its tasks. It is a sink of the run's events,
//! and the plan reports what becomes of tasks.
//!
//! None of these files decides anything, so one that cannot be written is reported once and does not stop the run.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use autonoe_core::ending::Ending;
use autonoe_core::event::{AgentEvent, Event, ProgressVerdict, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{RunOutcome, RunReport, SessionEnd, exit, no_progress};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use jiff::Timestamp;

use crate::alerts::{
    Alert, AlertManager, AlertType, NEAR_PERCENT, OnCritical, Severity, first_near, is_near, last_milestone,
};
use crate::control::{HarnessDirectory, LogLevel, LoopStatus, LostBackend, StatusFile, TaskAttempt};
use crate::kept_state::KeptState;
use crate::roadmap::Task;
use crate::runaway::RunawaySign;
use crate::schedule::{TaskRecord, TaskStatus};
use crate::state_view::Execution;
use crate::stuck::{StuckState, WARNING_AFTER};
use crate::task_history::RecalledTask;

/// Alerts of our own: about tasks, and that the run ended at a limit.
pub const TASK_COMPLETED: &str = "task_completed";
pub const TASK_BLOCKED: &str = "task_blocked";
pub const LIMIT_REACHED: &str = "limit_reached";

/// Scores that the average is made of.
const AVERAGED: usize = 10;

pub struct HarnessRecord {
    harness: Arc<HarnessDirectory>,
    started: Timestamp,
    written: Mutex<Written>,
    /// Is shown alerts that no other event of the run has.
    listener: OnceLock<AlertListener>,
    /// Pauses the run at once.
    pause: OnceLock<Box<dyn Fn() + Send + Sync>>,
    time_limit: OnceLock<TimeLimit>,
}

/// How long the run may take.
struct TimeLimit {
    limit: Duration,
    /// Used by earlier processes of the run.
    before: Duration,
    since: Instant,
}

pub type AlertListener = Box<dyn Fn(&RunEvent) + Send + Sync>;

struct Written {
    alerts: AlertManager,
    state: KeptState,
    status: StatusFile,
    /// By their ids.
    tasks: HashMap<String, TaskStatus>,
    scores: VecDeque<f64>,
    /// The run in the journal; 0 before it starts.
    run: i64,
    /// Limits of the run.
    max_sessions: Option<u32>,
    max_cost: Option<Usd>,
    /// By this process and earlier ones, as far as prices are known.
    spent: Usd,
    /// The first file that could not be written, as a sentence.
    problem: Option<String>,
    has_problem: bool,
}

impl HarnessRecord {
    /// Begins a harness or continues it. Also returns sentences for people about files that were found.
    pub fn open(
        harness: Arc<HarnessDirectory>,
        on_critical: OnCritical,
        now: Timestamp,
    ) -> Result<(Self, Vec<String>), Fault> {
        let mut said = harness.begin().map_err(fault)?;
        let alerts = AlertManager::open(Arc::clone(&harness), on_critical).map_err(fault)?;
        let (state, found) = KeptState::open(&harness).map_err(fault)?;
        said.extend(found);
        let earlier = harness.read_status().ok().flatten().filter(|earlier| !earlier.status.is_over());
        // What a process that died had counted; the log has all of its alerts.
        let status = StatusFile {
            status: LoopStatus::Running,
            alerts_issued: u32::try_from(alerts.count()).unwrap_or(u32::MAX),
            ..earlier.unwrap_or_else(|| StatusFile { cost_usd: Some(0.0), ..StatusFile::default() })
        };
        let written = Written {
            alerts,
            state,
            status,
            tasks: HashMap::new(),
            scores: VecDeque::new(),
            run: 0,
            max_sessions: None,
            max_cost: None,
            spent: Usd::default(),
            problem: None,
            has_problem: false,
        };
        let (listener, pause, time_limit) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let record =
            Self { harness, started: now, written: Mutex::new(written), listener, pause, time_limit };
        Ok((record, said))
    }

    pub fn harness(&self) -> &HarnessDirectory {
        &self.harness
    }

    /// Shows alerts to others, too. Only the first listener counts.
    pub fn announce_to(&self, listener: AlertListener) {
        // Ignored: there is one already.
        let _ = self.listener.set(listener);
    }

    /// For alerts that pause the run: the file is noticed only after a moment, and another session might begin.
    pub fn pause_with(&self, pause: impl Fn() + Send + Sync + 'static) {
        // Ignored: there is one already.
        let _ = self.pause.set(Box::new(pause));
    }

    /// The run ends after this time. Earlier processes of it have used `before`.
    pub fn limit_time(&self, limit: Duration, before: Duration) {
        // Ignored: there is one already.
        let _ = self.time_limit.set(TimeLimit { limit, before, since: Instant::now() });
    }

    /// Looks whether the time of the run is almost over. Called now and then.
    pub fn look_at_time(&self) {
        let Some(TimeLimit { limit, before, since }) = self.time_limit.get() else { return };
        if is_near((*before + since.elapsed()).as_secs_f64(), limit.as_secs_f64()) {
            let limit = autonoe_core::duration::format(*limit);
            self.approaching_limit(format!("{NEAR_PERCENT} % of the maximum duration of {limit} is used."));
        }
    }

    /// The run ends: looks at the view once more, since others may have damaged it.
    pub fn check_view(&self) {
        let mut written = self.written();
        let result = written.state.check();
        written.note(result);
    }

    /// Nothing is written to the view any more.
    pub fn close_view(&self) {
        self.written().state.close();
    }

    /// Sentences about a file that could not be written, or was written anew; each once.
    pub fn take_problem(&self) -> Option<String> {
        let mut written = self.written();
        written.state.take_notice().or_else(|| written.problem.take())
    }

    /// Writes the view anew.
    pub fn plan<'a>(&self, roadmap: &Path, tasks: impl Iterator<Item = (&'a Task, TaskRecord)>) {
        let tasks: Vec<(&Task, TaskRecord)> = tasks.collect();
        let mut written = self.written();
        written.tasks = tasks.iter().map(|(task, record)| (task.id.to_string(), record.status)).collect();
        written.count_tasks();
        let result = written.state.plan(roadmap, tasks.into_iter());
        written.note(result);
        self.write_status(&mut written);
    }

    /// Whether the view was written anew, so that it lacks what happened before this process.
    pub fn needs_history(&self) -> bool {
        self.written().state.needs_history()
    }

    /// Adds to the view what only the journal knows.
    pub fn recall<'a>(
        &self,
        tasks: impl Iterator<Item = RecalledTask<'a>>,
        growth_sessions: u32,
        began: Option<Timestamp>,
    ) {
        let mut written = self.written();
        let result = written.state.recall(tasks, growth_sessions, began);
        written.note(result);
    }

    /// A task has begun, or an attempt has ended. `since` is when its status became what it is.
    pub fn task_changed(
        &self,
        task: &Task,
        record: TaskRecord,
        output: &str,
        error: Option<&str>,
        since: Timestamp,
    ) {
        let mut written = self.written();
        let output = Some(output).filter(|text| !text.is_empty());
        let result = written.state.task_changed(task, record, output, error, since);
        let is_current = record.status == TaskStatus::InProgress;
        let was_current = written.status.task_id.as_deref() == Some(task.id.as_str());
        // A process that resumes says of every task again how far it is.
        if matches!(result, Ok(false)) && !is_current && !was_current {
            return;
        }
        written.note(result.map(drop));
        written.tasks.insert(task.id.to_string(), record.status);
        written.count_tasks();
        if is_current {
            let (task, number) = (task.id.to_string(), record.attempts);
            written.status.last_attempt = Some(TaskAttempt { task, number });
        }
        written.status.task_id = is_current.then(|| task.id.to_string());
        written.status.task_description = is_current.then(|| task.description.clone());
        written.status.max_iterations = task.max_iterations;
        self.write_status(&mut written);
    }

    /// The task that has begun and not ended.
    pub fn current_task(&self) -> Option<String> {
        self.written().status.task_id.clone()
    }

    /// Whether it is a task that is not completed.
    pub fn is_open(&self, id: &str) -> bool {
        self.written().tasks.get(id).is_some_and(|status| *status != TaskStatus::Completed)
    }

    /// A session looks for further tasks.
    pub fn growth_began(&self) {
        let mut written = self.written();
        let result = written.state.growth_began();
        written.note(result);
    }

    pub fn attempt_ended(&self, execution: &Execution<'_>, ended: Timestamp) {
        let mut written = self.written();
        let result = written.state.attempt_ended(execution, ended);
        written.note(result);
    }

    /// A task was completed or blocked after the session `iteration`. It is not raised twice.
    pub fn task_settled(&self, task: &Task, kind: &str, severity: Severity, message: &str, iteration: u32) {
        let kind = AlertType::Custom(kind.to_owned());
        let alert = Alert::new(kind, message, iteration, Timestamp::now()).with_severity(severity);
        self.alert(alert.with("task", task.id.as_str()));
    }

    pub fn log(&self, level: LogLevel, message: &str) {
        let mut written = self.written();
        let result = self.harness.log(level, written.status.current_iteration, message, Timestamp::now());
        written.note(result);
    }

    pub fn set_paused(&self, is_paused: bool) {
        let mut written = self.written();
        let status = if is_paused { LoopStatus::Paused } else { LoopStatus::Running };
        let is_running = matches!(written.status.status, LoopStatus::Running | LoopStatus::Paused);
        if is_running && written.status.status != status {
            written.status.status = status;
            self.write_status(&mut written);
        }
    }

    pub fn show_status(&self) {
        self.write_status(&mut self.written());
    }

    /// Returns whether it is new.
    fn alert(&self, alert: Alert) -> bool {
        let new = {
            let written = self.written();
            let run = written.run;
            written.alerts.new_alert(alert.with("run", run))
        };
        let Some(alert) = new else { return false };
        // First, since a process may be killed in between: who gets it twice knows it by its id.
        self.announce(&alert);
        let mut written = self.written();
        let level = match alert.severity {
            Severity::Info => LogLevel::Info,
            Severity::Warning => LogLevel::Warning,
            Severity::Success => LogLevel::Success,
            Severity::Critical | Severity::Error => LogLevel::Error,
        };
        match written.alerts.alert(alert) {
            Ok(None) => {}
            Ok(Some(raised)) => {
                written.status.alerts_issued += 1;
                let message = format!("{}: {}", raised.kind.name(), raised.message);
                let result = self.harness.log(level, raised.iteration, &message, raised.timestamp);
                written.note(result);
                if let Some(pause) = self.pause.get().filter(|_| self.harness.is_paused()) {
                    pause();
                }
            }
            Err(error) => written.note(Err::<(), _>(error)),
        }
        true
    }

    fn announce(&self, alert: &Alert) {
        let Some(listener) = self.listener.get().filter(|_| !has_event(&alert.kind)) else { return };
        listener(&RunEvent::Alert {
            id: alert.id.clone(),
            alert: alert.kind.name().to_owned(),
            level: alert.severity.level(),
            message: alert.message.clone(),
        });
    }

    /// A sign that the loop has got out of hand, in this session.
    pub fn runaway(&self, sign: &RunawaySign, iteration: u32) {
        let alert = Alert::new(AlertType::RunawayDetected, &*sign.message, iteration, Timestamp::now());
        self.alert(alert.with_severity(sign.severity));
    }

    fn write_status(&self, written: &mut Written) {
        let elapsed = Timestamp::now().duration_since(self.started);
        written.status.elapsed_seconds = elapsed.as_secs_f64();
        let result = self.harness.write_status(&written.status);
        written.note(result);
    }

    fn session_started(&self, number: u32, task: Option<&str>, backend: &str, model: &str) {
        let limit = {
            let mut written = self.written();
            written.status.current_iteration = number;
            (written.status.current_cli, written.status.current_model) =
                (Some(backend.to_owned()), Some(model.to_owned()));
            self.write_status(&mut written);
            written.max_sessions
        };
        let task = task.map(|task| format!(" of {task}")).unwrap_or_default();
        self.log(LogLevel::Info, &format!("Session {number}{task} started with {backend} {model}"));
        // A process that was killed may not have said it.
        if let Some(milestone) = last_milestone(number) {
            let message = format!("{milestone} sessions have begun.");
            self.alert(Alert::new(AlertType::IterationMilestone, message, milestone, Timestamp::now()));
        }
        let near = |limit| first_near(limit).filter(|near| number >= *near);
        if let Some((near, limit)) = limit.and_then(|limit| Some((near(limit)?, limit))) {
            self.approaching_limit(format!("{near} of {limit} sessions are used."));
        }
    }

    /// Once for each limit, also if it was near already when the process started.
    fn approaching_limit(&self, message: String) {
        let number = self.written().status.current_iteration;
        self.alert(Alert::new(AlertType::ApproachingLimit, message, number, Timestamp::now()));
    }

    fn spent(&self, cost: Usd) {
        let (spent, limit) = {
            let mut written = self.written();
            written.spent = Usd(written.spent.0 + cost.0);
            (written.spent, written.max_cost)
        };
        if let Some(limit) = limit.filter(|limit| is_near(spent.0, limit.0)) {
            self.approaching_limit(format!("{NEAR_PERCENT} % of the maximum cost of {limit} is used."));
        }
    }

    fn session_ended(&self, end: &SessionEnd, cost: Option<Usd>) {
        let mut written = self.written();
        if let Some(backend) = written.status.current_cli.clone() {
            let lost = LostBackend::of(&backend, end);
            if lost.is_some() || *end == SessionEnd::Completed {
                written.status.lost_backends.retain(|known| known.backend != backend);
            }
            written.status.lost_backends.extend(lost);
        }
        let before = written.status.cost_usd;
        written.status.cost_usd = before.zip(cost).map(|(before, cost)| before + cost.0);
        self.write_status(&mut written);
    }

    /// Of a session that has a score already, nothing is new: a process that was killed may have shown it.
    fn scored(&self, number: u32, score: f64, verdict: ProgressVerdict) {
        let idle = {
            let mut written = self.written();
            if number <= written.status.scored_iteration {
                return;
            }
            written.scores.push_back(score);
            if written.scores.len() > AVERAGED {
                written.scores.pop_front();
            }
            written.status.avg_progress = written.scores.iter().sum::<f64>() / written.scores.len() as f64;
            let (before, state) = (written.status.idle_sessions, written.status.stuck_state);
            let (idle, state) = match verdict {
                ProgressVerdict::Progressed => (0, StuckState::Progressing),
                ProgressVerdict::Idle if before + 1 == WARNING_AFTER => (WARNING_AFTER, StuckState::Warning),
                ProgressVerdict::Idle => (before + 1, state),
                ProgressVerdict::Waited => (before, state),
            };
            (written.status.idle_sessions, written.status.stuck_state) = (idle, state);
            written.status.scored_iteration = number;
            idle
        };
        self.log(LogLevel::of_progress(score), &format!("Session {number} scored {score:.2}"));
        if verdict == ProgressVerdict::Idle && idle == WARNING_AFTER {
            let message = format!("{}.", no_progress(WARNING_AFTER));
            let alert = Alert::new(AlertType::NoProgress, message, number, Timestamp::now());
            self.alert(self.of_last_attempt(alert));
        }
        // Last: a process that is killed before raises the same alert again, and it is known by its id.
        self.show_status();
    }

    fn remedy(&self, number: u32, name: &str, idle_sessions: u32, task: &str) {
        {
            let status = &mut self.written().status;
            status.stuck_state = StuckState::Recovering;
            // A process that was killed may have counted it.
            if number > status.remedy_iteration {
                status.remedy_iteration = number;
                status.recovery_attempts += 1;
            }
        }
        let message = format!("{}; trying: {name}.", no_progress(idle_sessions));
        let alert = Alert::new(AlertType::StuckRecovery, message, number, Timestamp::now());
        self.alert(self.of_last_attempt(alert).with("task", task));
    }

    /// With the task and the attempt that the last session belonged to.
    fn of_last_attempt(&self, alert: Alert) -> Alert {
        match &self.written().status.last_attempt {
            Some(TaskAttempt { task, number }) => alert.with("task", task.as_str()).with("attempt", *number),
            None => alert,
        }
    }

    fn ended(&self, report: &RunReport) {
        let (status, error) = match (&report.outcome, report.exit_code) {
            (_, exit::DONE) => (LoopStatus::Complete, None),
            (RunOutcome::Interrupted, _) => (LoopStatus::Stopped, None),
            (outcome, _) => (LoopStatus::Failed, Some(Ending::of(outcome, |_| String::new()).sentence)),
        };
        let kind = match (&report.outcome, status) {
            (_, LoopStatus::Complete) => Some(AlertType::GoalComplete),
            (RunOutcome::Stuck { .. } | RunOutcome::TasksBlocked { .. }, _) => {
                Some(AlertType::StuckUnrecoverable)
            }
            _ if report.exit_code == exit::LIMIT => Some(AlertType::Custom(LIMIT_REACHED.to_owned())),
            (_, LoopStatus::Failed) => Some(AlertType::FatalError),
            (_, LoopStatus::Stopped | LoopStatus::Running | LoopStatus::Paused) => None,
        };
        let message = error.clone().unwrap_or_else(|| "All tasks of the roadmap are completed.".to_owned());
        if let Some(kind) = kind {
            let is_limit = report.exit_code == exit::LIMIT;
            let severity = if is_limit { Severity::Warning } else { kind.severity() };
            let alert = Alert::new(kind, message, report.iterations, Timestamp::now());
            self.alert(alert.with_severity(severity));
        }
        let mut written = self.written();
        (written.status.status, written.status.error) = (status, error);
        written.status.outcome = Some(report.outcome.name().to_owned());
        written.status.tasks_verified = u32::try_from(report.plan.tally().verified).unwrap_or(u32::MAX);
        // A run that found nothing left to do has cost nothing; what is on record stays.
        if report.iterations > 0 {
            written.status.cost_usd = report.cost_usd.map(|cost| cost.0);
        }
        self.write_status(&mut written);
        // It was for this run: the next one would wait at once.
        let result = self.harness.end_pause_of_alert();
        written.note(result);
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn count_tasks(&mut self) {
        let count = |wanted: &dyn Fn(TaskStatus) -> bool| {
            u32::try_from(self.tasks.values().filter(|status| wanted(**status)).count()).unwrap_or(u32::MAX)
        };
        let total = count(&|status| status != TaskStatus::Growth);
        let completed = count(&|status| status == TaskStatus::Completed);
        let failed = count(&|status| status == TaskStatus::Blocked);
        (self.status.tasks_total, self.status.tasks_completed, self.status.tasks_failed) =
            (total, completed, failed);
    }

    fn note<E: std::fmt::Display>(&mut self, result: Result<(), E>) {
        if let Err(error) = result
            && !self.has_problem
        {
            (self.problem, self.has_problem) = (Some(error.to_string()), true);
        }
    }
}

impl Sink for HarnessRecord {
    fn on(&self, span: &SpanContext, event: &Event) {
        let event = match event {
            Event::Run(event) => event,
            Event::Agent(AgentEvent::Usage(usage)) => return self.spent(usage.cost_usd.unwrap_or_default()),
            Event::Agent(_) => return,
        };
        match event {
            RunEvent::SessionStarted { number, step, backend, model, .. } => {
                self.session_started(*number, step.as_deref(), backend, model);
            }
            RunEvent::SessionEnded { number, outcome, cost_usd, .. } => {
                self.session_ended(outcome, *cost_usd);
                self.log(LogLevel::Info, &format!("Session {number} ended: {}", outcome.name()));
            }
            RunEvent::Progress { number, score, verdict } => self.scored(*number, *score, *verdict),
            RunEvent::Remedy { number, name, idle_sessions, deliverable, escalated_to, .. } => {
                let task = deliverable.as_deref().unwrap_or_default();
                self.remedy(*number, name, *idle_sessions, task);
                if let Some(to) = escalated_to {
                    let message = format!("{to} takes over for the next sessions (escalation).");
                    let alert = Alert::new(AlertType::ModelEscalation, message, *number, Timestamp::now());
                    self.alert(alert.with("task", task));
                }
            }
            RunEvent::BackendChanged { from, to, reason, .. } => {
                let iteration = span.session.unwrap_or_default();
                let message = format!("{to} takes over from {from} ({reason}).");
                self.alert(Alert::new(AlertType::ModelEscalation, message, iteration, Timestamp::now()));
            }
            RunEvent::RunStarted { max_sessions, max_cost_usd, sessions_before, cost_before_usd, .. } => {
                let mut written = self.written();
                (written.max_sessions, written.max_cost, written.run) =
                    (*max_sessions, *max_cost_usd, span.run);
                written.spent = *cost_before_usd;
                // The journal knows of what a process that died had not written yet.
                let status = &mut written.status;
                status.cost_usd = Some(status.cost_usd.unwrap_or_default().max(cost_before_usd.0));
                status.current_iteration = status.current_iteration.max(*sessions_before);
                // Of another run, if that has fewer.
                status.scored_iteration = status.scored_iteration.min(*sessions_before);
                status.remedy_iteration = status.remedy_iteration.min(*sessions_before);
            }
            RunEvent::Notice { message } => self.log(LogLevel::Info, message),
            RunEvent::Warning { message } => self.log(LogLevel::Warning, message),
            RunEvent::Outcome(report) => self.ended(report),
            _ => {}
        }
    }
}

/// Whether the run says it by another event: how it ended, or what is blocked.
fn has_event(kind: &AlertType) -> bool {
    match kind {
        AlertType::GoalComplete | AlertType::FatalError | AlertType::StuckUnrecoverable => true,
        AlertType::Custom(name) => [TASK_BLOCKED, LIMIT_REACHED].contains(&name.as_str()),
        AlertType::IterationMilestone
        | AlertType::NoProgress
        | AlertType::StuckRecovery
        | AlertType::ApproachingLimit
        | AlertType::ModelEscalation
        | AlertType::RunawayDetected => false,
    }
}

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::permanent(FaultLayer::System, "harness_files", error.to_string())
        .hint("Remove it, or choose another name for the files of this harness with --id.")
}

#[cfg(test)]
mod tests;
