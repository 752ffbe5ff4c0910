//! Sessions without progress, one after another: first a warning, then stuck, then recovering.

use std::collections::VecDeque;

use autonoe_core::event::ProgressVerdict;
use serde::{Deserialize, Serialize};

/// Sessions without progress before the warning.
pub const WARNING_AFTER: u32 = 2;

/// Sessions without progress before recovery, unless the task says otherwise.
pub const STUCK_AFTER: u32 = 3;

/// Characters of an output that are remembered.
const SNIPPET: usize = 200;

/// Sessions that are remembered.
const REMEMBERED: usize = 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckState {
    #[default]
    Progressing,
    Warning,
    Stuck,
    /// A remedy is being tried.
    Recovering,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckDetector {
    warning_after: u32,
    stuck_after: u32,
    state: StuckState,
    /// Sessions without progress in a row.
    idle: u32,
    /// The ends of the last outputs without progress, the newest last.
    snippets: VecDeque<String>,
}

impl Default for StuckDetector {
    fn default() -> Self {
        Self::new(STUCK_AFTER)
    }
}

impl StuckDetector {
    pub fn new(stuck_after: u32) -> Self {
        let (warning_after, state, snippets) = (WARNING_AFTER, StuckState::default(), VecDeque::new());
        let mut detector = Self { warning_after, stuck_after, state, idle: 0, snippets };
        detector.set_stuck_after(stuck_after);
        detector
    }

    /// For the sessions that follow.
    pub fn set_stuck_after(&mut self, stuck_after: u32) {
        self.stuck_after = stuck_after.max(1);
        // A task that may be idle for long is warned one session before.
        self.warning_after =
            if self.stuck_after == STUCK_AFTER { WARNING_AFTER } else { self.stuck_after.max(2) - 1 };
    }

    pub fn state(&self) -> StuckState {
        self.state
    }

    /// Sessions without progress in a row.
    pub fn idle_sessions(&self) -> u32 {
        self.idle
    }

    /// What the agent said in the sessions without progress, the newest last.
    pub fn snippets(&self) -> impl Iterator<Item = &str> {
        self.snippets.iter().map(String::as_str)
    }

    /// Records a session. Any progress resets; a session that waited changes nothing.
    pub fn observe(&mut self, verdict: ProgressVerdict, output: &str) -> StuckState {
        match verdict {
            ProgressVerdict::Progressed => self.reset(),
            ProgressVerdict::Waited => {}
            ProgressVerdict::Idle => {
                self.idle = self.idle.saturating_add(1);
                self.snippets.push_back(snippet(output));
                if self.snippets.len() > REMEMBERED {
                    self.snippets.pop_front();
                }
                if self.state != StuckState::Recovering {
                    self.state = self.state_of(self.idle);
                }
            }
        }
        self.state
    }

    pub fn begin_recovery(&mut self) {
        self.state = StuckState::Recovering;
    }

    /// A remedy that worked resets; after one that did not the work is still stuck.
    pub fn end_recovery(&mut self, worked: bool) {
        match worked {
            true => self.reset(),
            false => self.state = StuckState::Stuck,
        }
    }

    fn reset(&mut self) {
        (self.idle, self.state) = (0, StuckState::Progressing);
        self.snippets.clear();
    }

    fn state_of(&self, idle: u32) -> StuckState {
        if idle >= self.stuck_after {
            StuckState::Stuck
        } else if idle >= self.warning_after {
            StuckState::Warning
        } else {
            StuckState::Progressing
        }
    }
}

/// The end of an output, where agents say what they did.
fn snippet(output: &str) -> String {
    let text = output.trim();
    let start = text.char_indices().rev().nth(SNIPPET - 1).map_or(0, |(start, _)| start);
    text[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{StuckDetector, StuckState};
    use autonoe_core::event::ProgressVerdict;

    #[test]
    fn two_sessions_are_a_warning_and_three_are_stuck() {
        let mut detector = StuckDetector::default();
        let states: Vec<_> = (0..4).map(|_| detector.observe(ProgressVerdict::Idle, "no")).collect();
        let expected = [StuckState::Progressing, StuckState::Warning, StuckState::Stuck, StuckState::Stuck];
        assert_eq!(states, expected);
        assert_eq!(detector.observe(ProgressVerdict::Progressed, "yes"), StuckState::Progressing);
        assert_eq!((detector.idle_sessions(), detector.snippets().count()), (0, 0));
    }

    #[test]
    fn waiting_is_neither_and_recovery_lasts_until_it_is_decided() {
        let mut detector = StuckDetector::new(2);
        detector.observe(ProgressVerdict::Idle, "one");
        assert_eq!(detector.observe(ProgressVerdict::Waited, "still building"), StuckState::Warning);
        assert_eq!(detector.observe(ProgressVerdict::Idle, "two"), StuckState::Stuck);
        detector.begin_recovery();
        assert_eq!(detector.observe(ProgressVerdict::Idle, "three"), StuckState::Recovering);
        detector.end_recovery(false);
        assert_eq!(detector.state(), StuckState::Stuck);
        assert_eq!(detector.snippets().collect::<Vec<_>>(), ["one", "two", "three"]);
        detector.end_recovery(true);
        assert_eq!((detector.state(), detector.idle_sessions()), (StuckState::Progressing, 0));
    }

    #[test]
    fn snippets_are_short_and_at_character_boundaries() {
        let mut detector = StuckDetector::default();
        detector.observe(ProgressVerdict::Idle, &"ä".repeat(500));
        assert_eq!(detector.snippets().next().map(|text| text.chars().count()), Some(200));
    }
}
