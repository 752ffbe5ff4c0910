//! The activity line: what the run works on, what it does, for how long, and at what cost.
//!
//! The specification of the activity line (seed 000) has elapsed time, activity and tool count. They are still there, after what a user looks for
//! first: the deliverable. On a narrow terminal the parts at the end are left out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use autonoe_core::duration::{format, format_clock};
use autonoe_core::event::{Activity, AgentEvent, RunEvent, WaitReason};
use autonoe_core::money::Usd;
use console::{measure_text_width, truncate_str};
use jiff::Timestamp;

use super::activity_words::activity_of;
use super::time::local_time;

#[derive(Debug, Default)]
pub struct ActivityState {
    since: Option<Instant>,
    tools: u32,
    kind: ActivityKind,
    run: RunActivity,
    /// What the sessions that are at work build, by their numbers.
    at_work: BTreeMap<u32, String>,
}

/// What is known about the run as a whole.
#[derive(Debug, Default, Clone)]
struct RunActivity {
    spent: Usd,
    max_cost: Option<Usd>,
    session: u32,
    max_sessions: Option<u32>,
    /// The deliverable that the session builds, or else its step or instruction.
    subject: String,
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
    pub fn begin(&mut self, session: u32, subject: &str, since: Instant) {
        let is_alone = self.at_work.is_empty();
        self.at_work.insert(session, subject.to_owned());
        self.run = RunActivity { session, subject: subject.to_owned(), ..self.run.clone() };
        self.kind = ActivityKind::Working("starting".into());
        if is_alone {
            (self.since, self.tools) = (Some(since), 0);
        }
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
        self.at_work.clear();
    }

    pub fn end_session(&mut self, session: u32) {
        self.at_work.remove(&session);
        match self.at_work.values().next_back() {
            Some(subject) => self.run.subject.clone_from(subject),
            None => self.end(),
        }
    }

    /// Of several sessions at work, all that they build; of one, what it builds and does.
    fn subjects(&self, what: &str) -> Vec<String> {
        if self.at_work.len() > 1 {
            let subjects: Vec<&str> = self.at_work.values().map(String::as_str).collect();
            return vec![format!("{} agents", subjects.len()), subjects.join(", ")];
        }
        let subject = Some(self.run.subject.clone()).filter(|subject| !subject.is_empty());
        subject.into_iter().chain([what.to_owned()]).collect()
    }

    /// The parts of the line, the most important first; none when idle.
    pub fn parts(&self) -> Vec<String> {
        match &self.kind {
            ActivityKind::Idle => Vec::new(),
            ActivityKind::Working(what) => {
                let elapsed = self.since.map(|since| since.elapsed()).unwrap_or_default();
                let begin = self.subjects(what).into_iter().chain([format_clock(elapsed)]);
                let end = [self.run.cost(), self.run.sessions(), tool_count(self.tools)];
                let mut parts: Vec<String> = begin.chain(end.into_iter().flatten()).collect();
                parts[0].insert_str(0, "⚡ ");
                parts[1..].iter_mut().for_each(|part| part.insert_str(0, " · "));
                parts
            }
            ActivityKind::WaitingForQuota { remaining, resets_at } => {
                let waiting = format!("⏳ Waiting... {} remaining", format(*remaining));
                let until = resets_at.map(|at| format!(" (resets at {})", local_time(at)));
                [waiting].into_iter().chain(until).collect()
            }
            ActivityKind::WaitingForService(remaining) => {
                let next = format!(" next try in {}", format(*remaining));
                vec!["⏳ Waiting for the model service...".to_owned(), next]
            }
        }
    }
}

/// As many parts as fit, from the first on. If the first two do not fit, the second is cut.
pub fn fitted(parts: &[String], width: usize) -> String {
    let Some((first, others)) = parts.split_first() else { return String::new() };
    let mut line = first.clone();
    for (index, part) in others.iter().enumerate() {
        let fits = measure_text_width(&line) + measure_text_width(part) <= width;
        if fits || index == 0 {
            line.push_str(part);
        }
        if !fits {
            break;
        }
    }
    truncate_str(&line, width, "…").into_owned()
}

impl RunActivity {
    /// `$0.41 of $5.00`; `None` while there is neither a cost nor a limit.
    fn cost(&self) -> Option<String> {
        match (self.spent, self.max_cost) {
            (Usd::ZERO, None) => None,
            (spent, None) => Some(spent.to_string()),
            (spent, Some(limit)) => Some(format!("{spent} of {limit}")),
        }
    }

    fn sessions(&self) -> Option<String> {
        match (self.session, self.max_sessions) {
            (0, _) => None,
            (session, None) => Some(format!("session {session}")),
            (session, Some(limit)) => Some(format!("session {session} of {limit}")),
        }
    }
}

fn tool_count(tools: u32) -> Option<String> {
    match tools {
        0 => None,
        1 => Some("1 tool".into()),
        count => Some(format!("{count} tools")),
    }
}

pub fn agent_activity(state: &mut ActivityState, event: &AgentEvent) {
    match event {
        AgentEvent::Working { activity: Activity::Thinking } | AgentEvent::Thinking { .. } => {
            state.working("thinking")
        }
        AgentEvent::Working { activity: Activity::Responding } | AgentEvent::Text { .. } => {
            state.working("responding")
        }
        AgentEvent::ToolCall(call) => state.working(activity_of(call)),
        AgentEvent::ToolResult { .. } => state.tool_done(),
        AgentEvent::End { .. } => {}
        AgentEvent::Usage(usage) => state.spent(usage.cost_usd.unwrap_or_default()),
        AgentEvent::ModelCallStarted { .. }
        | AgentEvent::Chunk { .. }
        | AgentEvent::ModelCallEnded { .. }
        | AgentEvent::Conversation { .. }
        | AgentEvent::Warning { .. }
        | AgentEvent::UserMessage { .. }
        | AgentEvent::HostRefused { .. }
        | AgentEvent::Answer { .. } => {}
    }
}

/// `at` is when the event happened; `None` means now.
pub fn run_activity(state: &mut ActivityState, event: &RunEvent, at: Option<Timestamp>) {
    match event {
        RunEvent::RunStarted { cost_before_usd, max_cost_usd, max_sessions, .. } => {
            state.begin_run(*cost_before_usd, *max_cost_usd, *max_sessions);
        }
        RunEvent::SessionStarted { number, deliverable, step, instruction, .. } => {
            let subject = deliverable.clone().or_else(|| step.clone());
            state.begin(*number, &subject.unwrap_or_else(|| instruction.to_string()), instant_of(at));
        }
        RunEvent::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } => {
            state.waiting_for_quota(*remaining, *resets_at)
        }
        RunEvent::Waiting { reason: WaitReason::Service, remaining, .. } => {
            state.waiting_for_service(*remaining)
        }
        RunEvent::SessionEnded { number, .. } => state.end_session(*number),
        RunEvent::Outcome(_) => state.end(),
        RunEvent::Instructed { .. }
        | RunEvent::BackendChanged { .. }
        | RunEvent::StatusChanged(_)
        | RunEvent::UserMessage { .. }
        | RunEvent::RepetitionNoticed { .. }
        | RunEvent::Progress { .. }
        | RunEvent::Remedy { .. }
        | RunEvent::BestOf(_)
        | RunEvent::Alert { .. }
        | RunEvent::Landing { .. }
        | RunEvent::Checked { .. }
        | RunEvent::Disputed { .. }
        | RunEvent::StepEnded { .. }
        | RunEvent::Escalated { .. }
        | RunEvent::Outage { .. }
        | RunEvent::Retrying { .. }
        | RunEvent::Announcement { .. }
        | RunEvent::Notice { .. }
        | RunEvent::Warning { .. } => {}
    }
}

/// The moment on our own clock, as well as it is known.
fn instant_of(at: Option<Timestamp>) -> Instant {
    let ago = at.and_then(|at| Duration::try_from(Timestamp::now().duration_since(at)).ok());
    let now = Instant::now();
    ago.and_then(|ago| now.checked_sub(ago)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::{ActivityState, fitted};
    use autonoe_core::money::Usd;
    use std::time::{Duration, Instant};

    fn line(state: &ActivityState, width: usize) -> String {
        fitted(&state.parts(), width)
    }

    fn ago(seconds: u64) -> Instant {
        Instant::now().checked_sub(Duration::from_secs(seconds)).expect("a moment")
    }

    #[test]
    fn the_deliverable_comes_first_and_a_narrow_line_loses_its_end() {
        let mut state = ActivityState::default();
        assert_eq!(line(&state, 80), "", "idle draws nothing");
        state.begin_run(Usd(0.25), Some(Usd(5.0)), Some(10));
        state.begin(4, "TODO-002", ago(192));
        state.working("running tests");
        state.spent(Usd(0.16));
        state.tool_done();
        state.tool_done();
        let whole = "⚡ TODO-002 · running tests · 3:12 · $0.41 of $5.00 · session 4 of 10 · 2 tools";
        for (width, shown) in [
            (80, whole),
            (79, whole),
            (77, "⚡ TODO-002 · running tests · 3:12 · $0.41 of $5.00 · session 4 of 10"),
            (60, "⚡ TODO-002 · running tests · 3:12 · $0.41 of $5.00"),
            (40, "⚡ TODO-002 · running tests · 3:12"),
            (28, "⚡ TODO-002 · running tests"),
            (20, "⚡ TODO-002 · runni…"),
            (8, "⚡ TODO…"),
        ] {
            assert_eq!(line(&state, width), shown, "at {width}");
        }
    }

    #[test]
    fn each_session_has_its_own_clock_and_count() {
        let mut state = ActivityState::default();
        state.begin(1, "initializer", ago(5));
        state.working("thinking");
        assert_eq!(line(&state, 80), "⚡ initializer · thinking · 0:05 · session 1");
        state.tool_done();
        assert_eq!(line(&state, 80), "⚡ initializer · thinking · 0:05 · session 1 · 1 tool");
        state.end();
        assert_eq!(line(&state, 80), "");
        state.begin(2, "A", ago(0));
        assert_eq!(line(&state, 80), "⚡ A · starting · 0:00 · session 2");
    }

    #[test]
    fn several_sessions_are_shown_together() {
        let mut state = ActivityState::default();
        state.begin(2, "API-001", ago(65));
        state.begin(3, "UI-001", ago(0));
        state.tool_done();
        assert_eq!(line(&state, 80), "⚡ 2 agents · API-001, UI-001 · 1:05 · session 3 · 1 tool");
        assert_eq!(line(&state, 20), "⚡ 2 agents · API-0…");
        state.end_session(3);
        state.working("running tests");
        assert_eq!(line(&state, 80), "⚡ API-001 · running tests · 1:05 · session 3 · 1 tool");
        state.end_session(2);
        assert_eq!(line(&state, 80), "");
    }

    #[test]
    fn waiting_line_of_seed_000() {
        let mut state = ActivityState::default();
        state.waiting_for_quota(Duration::from_secs(9_840), None);
        assert_eq!(line(&state, 80), "⏳ Waiting... 2h 44m remaining");
        let six_pm = "2026-01-10T18:00:00Z".parse().expect("timestamp");
        state.waiting_for_quota(Duration::from_secs(9_840), Some(six_pm));
        let shown = line(&state, 80);
        assert!(shown.starts_with("⏳ Waiting... 2h 44m remaining (resets at "), "{shown}");
    }
}
