//! What a plan remembers about the attempts at a task, so that the view can be written anew from the journal.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::roadmap::Task;
use crate::schedule::TaskRecord;

/// Attempts of a task that are kept, the newest ones.
const MAX_ATTEMPTS: usize = 100;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskHistory {
    /// When the newest attempt began.
    pub started: Option<Timestamp>,
    pub completed: Option<Timestamp>,
    /// The newest last.
    pub attempts: Vec<EndedAttempt>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedAttempt {
    /// Counted from 1.
    pub number: u32,
    /// `None` if it succeeded.
    pub error: Option<String>,
    pub output: String,
    pub duration: Duration,
    pub ended: Timestamp,
}

impl TaskHistory {
    pub fn add(&mut self, attempt: EndedAttempt) {
        self.attempts.push(attempt);
        let too_many = self.attempts.len().saturating_sub(MAX_ATTEMPTS);
        self.attempts.drain(..too_many);
    }
}

/// A task as the journal knows it.
#[derive(Debug, Clone, Copy)]
pub struct RecalledTask<'a> {
    pub task: &'a Task,
    pub record: TaskRecord,
    /// Empty if it has said nothing.
    pub output: &'a str,
    pub error: Option<&'a str>,
    pub history: &'a TaskHistory,
}
