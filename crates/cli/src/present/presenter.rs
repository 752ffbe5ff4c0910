//! The presenter: a sink that tells a person what goes on, as much as they want to hear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::{Activity, AgentEvent, Event, RunEvent, WaitReason};
use autonoe_core::outcome::SessionEnd;
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;

use super::activity::ActivityState;
use super::console::{Console, Level};
use super::words;
use crate::stop::Stop;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Only warnings, errors and the end.
    Quiet,
    /// Sessions, status changes, the end.
    Normal,
    /// What the agent says, too.
    Verbose,
    /// Every event.
    Debug,
}

/// Tells a person what goes on.
pub struct Presenter {
    console: Arc<Console>,
    detail: Detail,
    command: String,
    stop: Stop,
    /// Set while the run waits for a quota, so that the wait is announced once.
    waiting: AtomicBool,
}

impl Presenter {
    /// A presenter of `command` on the console, for a run that `stop` stops.
    pub fn new(console: Arc<Console>, detail: Detail, command: String, stop: Stop) -> Self {
        Self { console, detail, command, stop, waiting: AtomicBool::new(false) }
    }

    fn info(&self, text: &str) {
        self.say(Level::Info, text);
    }

    fn say(&self, level: Level, text: &str) {
        if self.detail != Detail::Quiet {
            self.console.line(level, text);
        }
    }

    fn follow_activity(&self, event: &Event) {
        self.console.activity(|state| match event {
            Event::Agent(event) => agent_activity(state, event),
            Event::Run(event) => run_activity(state, event),
        });
    }
}

impl Presenter {
    fn on_agent(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Trouble { message } | AgentEvent::HostRefused { message, .. } => {
                self.console.line(Level::Warning, message);
            }
            AgentEvent::Text { text } if self.detail == Detail::Verbose => {
                self.console.line(Level::Debug, &format!("  {}", text.trim().replace('\n', "\n  ")));
            }
            AgentEvent::ToolCall(call) if self.detail == Detail::Verbose => {
                let line = words::tool_line(call, self.console.redactor());
                self.console.line(Level::Debug, &format!("    {line}"));
            }
            AgentEvent::Working { .. }
            | AgentEvent::ModelAsked { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelDone { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => {}
        }
    }

    fn on_run(&self, event: &RunEvent, was_waiting: bool) {
        match event {
            RunEvent::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } if !was_waiting => {
                self.say(Level::Setback, &words::waiting(*remaining, *resets_at));
            }
            RunEvent::RunStarted { sessions_before: 0, .. } => {}
            RunEvent::RunStarted { sessions_before, .. } => self.info(&format!(
                "Resuming a run whose process ended unexpectedly after {sessions_before} session(s)."
            )),
            RunEvent::SessionStarted { number, instruction, step, model, .. } => {
                let step = step.as_ref().map(|step| format!(" {step}")).unwrap_or_default();
                self.info(&format!("Session {number} started ({instruction}{step}, {model})"));
            }
            RunEvent::SessionEnded { number, outcome, cost_usd, duration } => {
                let ended = match outcome {
                    SessionEnd::Completed => String::new(),
                    other => format!(" {},", other.name()),
                };
                let (cost, duration) = (words::cost(*cost_usd), format_duration(*duration));
                self.info(&format!("Session {number}:{ended} cost={cost}, duration={duration}"));
            }
            RunEvent::StatusChanged(change) => {
                let level = match change.new {
                    DeliverableStatus::Passed => Level::Good,
                    DeliverableStatus::Blocked => Level::Setback,
                    DeliverableStatus::Pending => Level::Info,
                };
                self.say(level, &words::status_line(change.new, &change.description, &change.deliverable_id));
            }
            RunEvent::Checked { deliverable, check, purpose, passed, message } => {
                let (level, line) = words::checked(deliverable.as_deref(), check, *purpose, *passed, message);
                self.say(level, &line);
            }
            RunEvent::Disputed { path, message } => {
                self.console.line(Level::Warning, &format!("Disputed: {path}: {message}"));
            }
            RunEvent::StepEnded { step, passed, message, next } => {
                let (level, line) = words::step_ended(step, *passed, message, next.as_deref());
                self.say(level, &line);
            }
            RunEvent::Escalated { step, to, message } => {
                self.console.line(Level::Warning, &format!("Step {step} calls for help ({to}): {message}"));
            }
            RunEvent::BackendChanged { from, to, reason } => {
                let why = reason.replace('_', " ");
                self.console.line(Level::Warning, &format!("{from} cannot go on ({why}): {to} steps in."));
            }
            RunEvent::Retrying { errors, max_retries, pause, message } => self.console.line(
                Level::Warning,
                &format!(
                    "Session error ({errors}/{}), next try in {}: {message}",
                    max_retries + 1,
                    format_duration(*pause)
                ),
            ),
            RunEvent::Outage { tries, pause, gives_up_at, message, .. } => {
                self.console.line(Level::Warning, &words::outage(*tries, *pause, *gives_up_at, message));
            }
            RunEvent::Outcome(report) => {
                self.console.stop();
                self.info("");
                self.info(&words::overall(&self.command, report));
                let (level, text, hint) = match self.stop.closed_output(&report.outcome) {
                    Some(why) => words::output_closed(why),
                    None => words::ending(&report.outcome),
                };
                let prefix = if level == Level::Error { "error: " } else { "" };
                let assurance = match report.deliverables_passed {
                    0 => String::new(),
                    _ => format!(" {}.", words::assurance(report)),
                };
                self.console.line(level, &format!("{prefix}{text}{assurance}"));
                if let Some(hint) = hint {
                    self.console.line(Level::Hint, &format!("hint: {hint}"));
                }
            }
            RunEvent::Waiting { .. } | RunEvent::Instructed { .. } => {}
            RunEvent::Trouble { message } => self.console.line(Level::Warning, message),
        }
    }
}

impl Sink for Presenter {
    fn on(&self, _: &SpanContext, event: &Event) {
        self.follow_activity(event);
        let is_wait = matches!(event, Event::Run(RunEvent::Waiting { .. }));
        let was_waiting = self.waiting.swap(is_wait, Ordering::SeqCst);
        match event {
            Event::Agent(event) => self.on_agent(event),
            Event::Run(event) => self.on_run(event, was_waiting),
        }
        if self.detail == Detail::Debug
            && let Event::Agent(event) = event
            && let Some(line) = words::debug_line(event, self.console.redactor())
        {
            self.console.line(Level::Debug, &format!("[debug] {line}"));
        }
    }
}

fn agent_activity(state: &mut ActivityState, event: &AgentEvent) {
    match event {
        AgentEvent::Working { activity: Activity::Thinking } | AgentEvent::Thinking { .. } => {
            state.working("Thinking...")
        }
        AgentEvent::Working { activity: Activity::Responding } | AgentEvent::Text { .. } => {
            state.working("Responding...")
        }
        AgentEvent::ToolCall(call) => state.working(format!("Running {}...", call.name)),
        AgentEvent::ToolResult { .. } => state.tool_done(),
        AgentEvent::End { .. } => state.end(),
        AgentEvent::Usage(_)
        | AgentEvent::ModelAsked { .. }
        | AgentEvent::Chunk { .. }
        | AgentEvent::ModelDone { .. }
        | AgentEvent::Conversation { .. }
        | AgentEvent::Trouble { .. }
        | AgentEvent::HostRefused { .. }
        | AgentEvent::Answer { .. } => {}
    }
}

fn run_activity(state: &mut ActivityState, event: &RunEvent) {
    match event {
        RunEvent::SessionStarted { .. } => state.begin(),
        RunEvent::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } => {
            state.waiting(*remaining, *resets_at)
        }
        RunEvent::Waiting { reason: WaitReason::Service, remaining, .. } => {
            state.waiting_for_service(*remaining)
        }
        RunEvent::SessionEnded { .. } | RunEvent::Outcome(_) => state.end(),
        RunEvent::Instructed { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::BackendChanged { .. }
        | RunEvent::StatusChanged(_)
        | RunEvent::Checked { .. }
        | RunEvent::Disputed { .. }
        | RunEvent::StepEnded { .. }
        | RunEvent::Escalated { .. }
        | RunEvent::Outage { .. }
        | RunEvent::Retrying { .. } => {}
        RunEvent::Trouble { .. } => {}
    }
}
