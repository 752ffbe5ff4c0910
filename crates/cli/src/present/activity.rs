//! The text of the activity line (seed 000, Presenter).

use std::time::{Duration, Instant};

use autonoe_core::duration::{format, format_clock};
use autonoe_core::money::Usd;
use jiff::Timestamp;

use super::time::local_time;

#[derive(Debug, Default)]
pub struct ActivityState {
    since: Option<Instant>,
    tools: u32,
    kind: ActivityKind,
    run: RunActivity,
}

/// What is known about the run as a whole.
#[derive(Debug, Default, Clone)]
struct RunActivity {
    spent: Usd,
    max_cost: Option<Usd>,
    session: u32,
    max_sessions: Option<u32>,
    deliverable: Option<String>,
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
    pub fn begin_run(&mut self, spent: Usd, max_cost: Option<Usd>, max_sessions: Option<u32>) {
        self.run = RunActivity { spent, max_cost, max_sessions, ..RunActivity::default() };
    }

    /// Starts a session: resets the clock and the tool count.
    pub fn begin(&mut self, session: u32, deliverable: Option<&str>) {
        let run = RunActivity { session, deliverable: deliverable.map(str::to_owned), ..self.run.clone() };
        let kind = ActivityKind::Working("Starting...".into());
        *self = Self { since: Some(Instant::now()), tools: 0, kind, run };
    }

    pub fn spent(&mut self, cost: Usd) {
        self.run.spent += cost;
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
                format!("⚡ {} {what}{}{}", format_clock(elapsed), tool_count(self.tools), self.run.summary())
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

impl RunActivity {
    /// ` · $0.41 of $5.00 · session 4 of 10 · TODO-002`, as far as it is known.
    fn summary(&self) -> String {
        let spent = match (self.spent, self.max_cost) {
            (Usd::ZERO, None) => None,
            (spent, None) => Some(spent.to_string()),
            (spent, Some(limit)) => Some(format!("{spent} of {limit}")),
        };
        let session = match (self.session, self.max_sessions) {
            (0, _) => None,
            (session, None) => Some(format!("session {session}")),
            (session, Some(limit)) => Some(format!("session {session} of {limit}")),
        };
        let parts = [spent, session, self.deliverable.clone()];
        parts.into_iter().flatten().map(|part| format!(" · {part}")).collect()
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
    use autonoe_core::money::Usd;
    use std::time::Duration;

    #[test]
    fn activity_line_examples_of_seed_000() {
        let mut state = ActivityState::default();
        assert_eq!(state.line(), "", "idle draws nothing");
        state.begin(0, None);
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
        state.begin(0, None);
        state.working("Thinking...");
        assert_eq!(state.line(), "⚡ 0:00 Thinking...", "a session starts its own count");
    }

    #[test]
    fn the_run_is_summed_up_behind_the_activity() {
        let mut state = ActivityState::default();
        state.begin_run(Usd(0.25), Some(Usd(5.0)), Some(10));
        state.begin(4, Some("TODO-002"));
        state.working("Thinking...");
        state.spent(Usd(0.16));
        assert_eq!(state.line(), "⚡ 0:00 Thinking... · $0.41 of $5.00 · session 4 of 10 · TODO-002");
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
