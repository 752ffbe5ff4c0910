//! The text of the activity line (seed 000, Presenter).

use std::time::{Duration, Instant};

use autonoe_core::duration::{format, format_clock};
use jiff::Timestamp;

use super::time::local_time;

#[derive(Debug, Default)]
pub struct ActivityState {
    since: Option<Instant>,
    tools: u32,
    kind: ActivityKind,
}

#[derive(Debug, Default, PartialEq)]
enum ActivityKind {
    #[default]
    Idle,
    Working(String),
    WaitingForQuota {
        remaining: Duration,
        resets_at: Option<Timestamp>,
    },
    /// Time until the next try.
    WaitingForService(Duration),
}

impl ActivityState {
    /// Starts a session: resets the clock and the tool count.
    pub fn begin(&mut self) {
        *self =
            Self { since: Some(Instant::now()), tools: 0, kind: ActivityKind::Working("Starting...".into()) };
    }

    pub fn working(&mut self, what: impl Into<String>) {
        self.kind = ActivityKind::Working(what.into());
    }

    pub fn tool_done(&mut self) {
        self.tools += 1;
    }

    pub fn waiting_for_quota(&mut self, remaining: Duration, resets_at: Option<Timestamp>) {
        self.kind = ActivityKind::WaitingForQuota { remaining, resets_at };
    }

    pub fn waiting_for_service(&mut self, remaining: Duration) {
        self.kind = ActivityKind::WaitingForService(remaining);
    }

    pub fn end(&mut self) {
        self.kind = ActivityKind::Idle;
    }

    /// Empty when idle.
    pub fn line(&self) -> String {
        match &self.kind {
            ActivityKind::Idle => String::new(),
            ActivityKind::Working(what) => {
                let elapsed = self.since.map(|since| since.elapsed()).unwrap_or_default();
                format!("⚡ {} {what}{}", format_clock(elapsed), tool_count(self.tools))
            }
            ActivityKind::WaitingForQuota { remaining, resets_at } => {
                let until =
                    resets_at.map(|at| format!(" (resets at {})", local_time(at))).unwrap_or_default();
                format!("⏳ Waiting... {} remaining{until}", format(*remaining))
            }
            ActivityKind::WaitingForService(remaining) => {
                format!("⏳ Waiting for the model service... next try in {}", format(*remaining))
            }
        }
    }
}

fn tool_count(tools: u32) -> String {
    match tools {
        0 => String::new(),
        1 => " (1 tool)".into(),
        count => format!(" ({count} tools)"),
    }
}

#[cfg(test)]
mod tests {
    use super::ActivityState;
    use std::time::Duration;

    #[test]
    fn activity_line_examples_of_seed_000() {
        let mut state = ActivityState::default();
        assert_eq!(state.line(), "", "idle draws nothing");
        state.begin();
        state.working("Thinking...");
        assert_eq!(state.line(), "⚡ 0:00 Thinking...");
        state.working("Running Bash...");
        state.tool_done();
        assert_eq!(state.line(), "⚡ 0:00 Running Bash... (1 tool)");
        state.tool_done();
        state.working("Responding...");
        assert_eq!(state.line(), "⚡ 0:00 Responding... (2 tools)");
        state.end();
        assert_eq!(state.line(), "");
        state.begin();
        state.working("Thinking...");
        assert_eq!(state.line(), "⚡ 0:00 Thinking...", "a session starts its own count");
    }

    #[test]
    fn waiting_line_of_seed_000() {
        let mut state = ActivityState::default();
        state.waiting_for_quota(Duration::from_secs(9_840), None);
        assert_eq!(state.line(), "⏳ Waiting... 2h 44m remaining");
        let six_pm = "2026-01-10T18:00:00Z".parse().expect("timestamp");
        state.waiting_for_quota(Duration::from_secs(9_840), Some(six_pm));
        assert!(state.line().starts_with("⏳ Waiting... 2h 44m remaining (resets at "), "{}", state.line());
    }
}
