//! Several agents make an attempt at the same deliverable: how their sessions are called, what is held back meanwhile, and how it ended.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Follows the deliverable in the step of a session.
const ATTEMPT: &str = ", attempt";

/// The step of a session that makes an attempt.
pub fn attempt_step(deliverable: &str, number: usize, of: usize) -> String {
    format!("{deliverable}{ATTEMPT} {number} of {of}")
}

/// The step of a session that compares two attempts.
pub fn comparison_step(deliverable: &str, one: usize, other: usize) -> String {
    format!("{deliverable}{ATTEMPT}s {one} and {other}")
}

/// The deliverable in the step of a coding session or of a comparison.
pub fn deliverable_of_step(step: &str) -> &str {
    step.rsplit_once(ATTEMPT).map_or(step, |(deliverable, _)| deliverable)
}

/// The deliverable at which an attempt is being made. Until one of the attempts is chosen, claims are examined, but not recorded.
#[derive(Debug, Default)]
pub struct OpenAttempt(Mutex<Option<String>>);

impl OpenAttempt {
    /// `None` ends it.
    pub fn set(&self, deliverable: Option<&str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = deliverable.map(str::to_owned);
    }

    pub fn deliverable(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What became of the attempts at a deliverable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestOfResult {
    pub deliverable: String,
    pub attempts: Vec<AttemptResult>,
    /// Number of the attempt that continues; `None` if none is better than what there was.
    pub winner: Option<usize>,
    /// `None` without a winner.
    pub decided_by: Option<DecidedBy>,
    /// All of it in words.
    pub message: String,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptResult {
    /// Counted from 1.
    pub number: usize,
    pub backend: String,
    /// `None` is the backend's own.
    pub model: Option<String>,
    /// Whether no check of the deliverable fails.
    pub passed: bool,
    pub checks_passed: usize,
    /// Lines added and removed; `None` if there is no commit.
    pub changed_lines: Option<usize>,
    /// Comparisons in which it was found to be better.
    pub comparisons_won: usize,
    /// Why the agent could not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// In the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    Checks,
    /// Two at a time were compared by a model that made none of them.
    Tournament,
    SmallestDiff,
}

#[cfg(test)]
mod tests {
    use super::{attempt_step, comparison_step, deliverable_of_step};

    #[test]
    fn a_step_names_its_deliverable() {
        assert_eq!(attempt_step("A", 1, 3), "A, attempt 1 of 3");
        for step in [attempt_step("A-1", 2, 3), comparison_step("A-1", 1, 2), "A-1".to_owned()] {
            assert_eq!(deliverable_of_step(&step), "A-1");
        }
    }
}
