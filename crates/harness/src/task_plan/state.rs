//! What a process that continues a roadmap must know: which tasks have begun, and how far each is.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::roadmap::{AcceptedProposals, Task, TaskId};
use crate::runaway::RunawayDetector;
use crate::schedule::{TaskRecord, TaskStatus};
use crate::task_history::{EndedAttempt, RecalledTask, TaskHistory};

/// Characters of a session's output that are kept.
const KEPT_OUTPUT: usize = 2000;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedTasks {
    /// When the first run of the roadmap began, as far as runs have taken over from each other.
    #[serde(default)]
    pub began: Option<Timestamp>,
    /// Number of the last session that was judged.
    pub judged: u32,
    /// The task of the last session.
    pub current: Option<TaskId>,
    pub begun: BTreeMap<TaskId, BegunTask>,
    #[serde(default)]
    pub growth: GrowthState,
    #[serde(default)]
    pub runaway: RunawayDetector,
}

/// How far a search for further tasks is.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct GrowthState {
    /// Whether a session has looked for some.
    pub is_over: bool,
    /// Tasks that may not be in the roadmap yet.
    pub accepted: Option<AcceptedProposals>,
    /// The text that was inserted into the roadmap for them.
    #[serde(default)]
    pub added: Option<String>,
    /// Sessions that have looked for some.
    #[serde(default)]
    pub sessions: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BegunTask {
    /// As it was when it began; later edits of the roadmap do not change it.
    pub task: Task,
    pub record: TaskRecord,
    /// Of the current attempt.
    pub sessions: u32,
    /// Of the current attempt.
    pub time: Duration,
    /// Review sessions of the current attempt that gave no verdict.
    pub without_verdict: u32,
    /// The end of what its last session said.
    pub output: String,
    /// Of the attempt before; `None` in the first one.
    pub failure: Option<FailedAttempt>,
    /// Number of the session after which it was completed or blocked.
    pub settled_in: u32,
    /// What happened then, as a sentence.
    pub settled_because: String,
    /// Whether that was in an earlier run, which has raised the alert.
    #[serde(default)]
    pub was_settled_before: bool,
    /// Whether we have checked its box.
    pub has_box: bool,
    #[serde(default)]
    pub history: TaskHistory,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FailedAttempt {
    /// As a clause.
    pub why: String,
    /// What its checks said last, a sentence each.
    pub checks: Vec<String>,
    pub output: String,
}

impl BegunTask {
    pub fn new(task: &Task) -> Self {
        Self {
            task: task.clone(),
            record: TaskRecord::default(),
            sessions: 0,
            time: Duration::ZERO,
            without_verdict: 0,
            output: String::new(),
            failure: None,
            settled_in: 0,
            settled_because: String::new(),
            was_settled_before: false,
            has_box: false,
            history: TaskHistory::default(),
        }
    }

    pub fn begin_attempt(&mut self) {
        let attempts = self.record.attempts.saturating_add(1);
        self.record = TaskRecord { status: TaskStatus::InProgress, attempts };
        (self.sessions, self.time, self.without_verdict) = (0, Duration::ZERO, 0);
        self.history.started = Some(Timestamp::now());
    }

    pub fn heard(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let skipped = text.chars().count().saturating_sub(KEPT_OUTPUT);
            self.output = text.chars().skip(skipped).collect();
        }
    }

    pub fn fail(&mut self, why: String, checks: Vec<String>) {
        self.record.status = TaskStatus::Failed;
        self.end_attempt(Some(why.clone()));
        self.failure = Some(FailedAttempt { why, checks, output: self.output.clone() });
    }

    pub fn complete(&mut self) {
        self.record.status = TaskStatus::Completed;
        self.end_attempt(None);
        self.history.completed = Some(Timestamp::now());
    }

    fn end_attempt(&mut self, error: Option<String>) {
        self.history.add(EndedAttempt {
            number: self.record.attempts,
            error,
            output: self.output.clone(),
            duration: self.time,
            ended: Timestamp::now(),
        });
    }

    /// Why the newest attempt failed, or why it is blocked.
    pub fn error(&self) -> Option<&str> {
        match self.record.status {
            TaskStatus::Blocked => Some(self.settled_because.as_str()),
            _ => self.failure.as_ref().map(|failure| failure.why.as_str()),
        }
    }

    pub fn recalled(&self) -> RecalledTask<'_> {
        let Self { task, record, output, history, .. } = self;
        RecalledTask { task, record: *record, output, error: self.error(), history }
    }

    pub fn has_attempts_left(&self) -> bool {
        self.record.attempts < self.task.attempts()
    }

    /// Why the attempt is over although the task is not done, as a clause; `None` if it is not over.
    pub fn limit_reached(&self) -> Option<String> {
        if self.time >= self.task.timeout {
            let limit = autonoe_core::duration::format(self.task.timeout);
            return Some(format!("it was not done within its time limit of {limit}"));
        }
        let limit = self.task.max_iterations.filter(|limit| self.sessions >= *limit)?;
        Some(format!("it was not done after {limit} session(s)"))
    }
}
