//! A harness whose process runs, and how it is made to end.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use autonoe_harness::control::LoopStatus;
use autonoe_harness::handle::{HarnessHandle, HarnessResult, HarnessStatus, KILL_TIMEOUT};
use rustix::process::Signal;

use crate::meta_state::HarnessProgress;

/// Exit code of a process that cannot use what it was given, so that starting it again would not help.
const WRONG_USAGE: i32 = 2;

/// Why a harness or the fleet is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopReason {
    Requested,
    /// The time of the fleet.
    TimeOver,
    /// The time of the harness.
    TooLong(Duration),
    Other(String),
}

impl StopReason {
    pub(super) fn status(&self) -> HarnessStatus {
        match self {
            Self::TooLong(_) => HarnessStatus::Failed,
            Self::Requested | Self::TimeOver | Self::Other(_) => HarnessStatus::Stopped,
        }
    }

    /// For the result of the harness.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::TooLong(_) => format!("It was stopped, since {self}."),
            Self::Requested | Self::TimeOver | Self::Other(_) => format!("It was stopped: {self}."),
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("the fleet was stopped"),
            Self::TimeOver => f.write_str("the time of the fleet is over"),
            Self::TooLong(limit) => write!(f, "it did not end within {} s", limit.as_secs()),
            Self::Other(why) => f.write_str(why),
        }
    }
}

/// How insistently it was asked to end.
#[derive(Debug, Clone, Copy)]
enum Ending {
    NotAsked,
    /// By its control file.
    Asked(Instant),
    /// By SIGTERM.
    Terminated(Instant),
    Killed,
}

pub(super) struct RunningHarness {
    pub(super) handle: HarnessHandle,
    pub(super) stop_reason: Option<StopReason>,
    /// As it was last told to others; `None` before that.
    pub(super) shown: Option<HarnessProgress>,
    /// How long it was at work before: earlier processes, and this one under another supervisor.
    before: Duration,
    since: Instant,
    ending: Ending,
}

impl RunningHarness {
    pub(super) fn new(handle: HarnessHandle, before: Duration) -> Self {
        Self {
            handle,
            stop_reason: None,
            shown: None,
            before,
            since: Instant::now(),
            ending: Ending::NotAsked,
        }
    }

    /// Since the harness was first started.
    pub(super) fn time_used(&self) -> Duration {
        self.before + self.since.elapsed()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.handle.process().has_ended(Duration::ZERO)
    }

    /// When it last wrote its status.
    pub(super) fn last_written(&self) -> Option<SystemTime> {
        let status = self.handle.directory().path().join("status.json");
        status.symlink_metadata().and_then(|metadata| metadata.modified()).ok()
    }

    /// Asks it to end now; whether it had not been asked before.
    pub(super) fn stop(&mut self, reason: StopReason) -> bool {
        if !matches!(self.ending, Ending::NotAsked) {
            return false;
        }
        self.stop_reason = Some(reason);
        self.ending = match self.handle.request_abort() {
            Ok(()) => Ending::Asked(Instant::now()),
            // It is not let run only because a file cannot be written.
            Err(_) => {
                self.handle.process().signal(Signal::TERM);
                Ending::Terminated(Instant::now())
            }
        };
        true
    }

    pub(super) fn kill(&mut self) {
        if !matches!(self.ending, Ending::Killed) {
            self.handle.process().signal(Signal::KILL);
            self.stop_reason.get_or_insert(StopReason::Requested);
            self.ending = Ending::Killed;
        }
    }

    /// Ends what takes longer than `limit`, and asks more insistently what does not end.
    pub(super) fn enforce(&mut self, limit: Option<Duration>) {
        if let Some(limit) = limit.filter(|limit| self.time_used() > *limit) {
            self.stop(StopReason::TooLong(limit));
        }
        match self.ending {
            Ending::Asked(since) if since.elapsed() > KILL_TIMEOUT => {
                self.handle.process().signal(Signal::TERM);
                self.ending = Ending::Terminated(Instant::now());
            }
            Ending::Terminated(since) if since.elapsed() > KILL_TIMEOUT => self.kill(),
            Ending::NotAsked | Ending::Asked(_) | Ending::Terminated(_) | Ending::Killed => {}
        }
    }

    /// Whether the process ended in the middle of its work, so that another one may continue it.
    pub(super) fn died_without_result(&self) -> bool {
        let file = self.handle.directory().read_status().ok().flatten();
        let has_said = file.is_some_and(|file| file.status.is_over());
        let is_failed = self.handle.status == HarnessStatus::Failed;
        is_failed && !has_said && self.handle.exit_code() != Some(WRONG_USAGE)
    }

    pub(super) fn result(&self) -> HarnessResult {
        self.handle.result.clone().unwrap_or_else(|| HarnessResult {
            progress: self.handle.progress,
            ..HarnessResult::unsuccessful(&self.handle.harness_id, self.handle.error.clone())
        })
    }

    /// From the status file alone, which is quick to read.
    pub(super) fn progress(&self) -> HarnessProgress {
        let Some(file) = self.handle.directory().read_status().ok().flatten() else {
            return HarnessProgress::default();
        };
        let is_paused = self.handle.directory().is_paused() || file.status == LoopStatus::Paused;
        let part = if file.tasks_total == 0 {
            0.0
        } else {
            f64::from(file.tasks_completed) / f64::from(file.tasks_total)
        };
        HarnessProgress {
            status: Some(if is_paused { HarnessStatus::Paused } else { HarnessStatus::Running }),
            progress: part,
            current_task: file.task_description,
            current_iteration: file.current_iteration,
            tasks_completed: file.tasks_completed,
            tasks_failed: file.tasks_failed,
        }
    }
}
