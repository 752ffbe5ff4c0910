//! The presenter: a sink that tells a person what goes on, as much as they want to hear.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::{Activity, Event, WaitReason};
use autonoe_core::outcome::Outcome;
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;

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
            Event::SessionStarted { .. } => state.begin(),
            Event::Working { activity: Activity::Thinking } | Event::Thinking { .. } => {
                state.working("Thinking...")
            }
            Event::Working { activity: Activity::Responding } | Event::Text { .. } => {
                state.working("Responding...")
            }
            Event::ToolCall(call) => state.working(format!("Running {}...", call.name)),
            Event::ToolResult { .. } => state.tool_done(),
            Event::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } => {
                state.waiting(*remaining, *resets_at)
            }
            Event::Waiting { reason: WaitReason::Service, remaining, .. } => {
                state.waiting_for_service(*remaining)
            }
            Event::End { .. } | Event::SessionEnded { .. } | Event::Outcome(_) => state.end(),
            Event::Usage(_)
            | Event::Instructed { .. }
            | Event::ModelAsked { .. }
            | Event::Chunk { .. }
            | Event::ModelDone { .. }
            | Event::Conversation { .. }
            | Event::Trouble { .. }
            | Event::HostRefused { .. }
            | Event::Answer { .. }
            | Event::RunStarted { .. }
            | Event::BackendChanged { .. }
            | Event::StatusChanged(_)
            | Event::Checked { .. }
            | Event::Disputed { .. }
            | Event::StepEnded { .. }
            | Event::Escalated { .. }
            | Event::Outage { .. }
            | Event::Retrying { .. } => {}
        });
    }
}

impl Sink for Presenter {
    fn on(&self, _: &SpanContext, event: &Event) {
        self.follow_activity(event);
        let is_wait = matches!(event, Event::Waiting { .. });
        let was_waiting = self.waiting.swap(is_wait, Ordering::SeqCst);
        match event {
            Event::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } if !was_waiting => {
                self.say(Level::Setback, &words::waiting(*remaining, *resets_at));
            }
            Event::RunStarted { sessions_before: 0, .. } => {}
            Event::RunStarted { sessions_before, .. } => self.info(&format!(
                "Going on with a run whose process ended unexpectedly after {sessions_before} session(s)."
            )),
            Event::SessionStarted { number, instruction, step, model, .. } => {
                let step = step.as_ref().map(|step| format!(" {step}")).unwrap_or_default();
                self.info(&format!("Session {number} started ({instruction}{step}, {model})"));
            }
            Event::SessionEnded { number, outcome, cost_usd, duration } => {
                let ended = match outcome {
                    Outcome::Completed => String::new(),
                    other => format!(" {},", other.name()),
                };
                let (cost, duration) = (words::cost(*cost_usd), format_duration(*duration));
                self.info(&format!("Session {number}:{ended} cost={cost}, duration={duration}"));
            }
            Event::StatusChanged(change) => {
                let level = match change.new {
                    DeliverableStatus::Passed => Level::Good,
                    DeliverableStatus::Blocked => Level::Setback,
                    DeliverableStatus::Pending => Level::Info,
                };
                self.say(level, &words::status_line(change.new, &change.description, &change.deliverable_id));
            }
            Event::Checked { deliverable, check, purpose, passed, message } => {
                let (level, line) = words::checked(deliverable.as_deref(), check, *purpose, *passed, message);
                self.say(level, &line);
            }
            Event::Disputed { path, message } => {
                self.console.line(Level::Warning, &format!("Disputed: {path}: {message}"));
            }
            Event::StepEnded { step, passed, message, next } => {
                let (level, line) = words::step_ended(step, *passed, message, next.as_deref());
                self.say(level, &line);
            }
            Event::Escalated { step, to, message } => {
                self.console.line(Level::Warning, &format!("Step {step} calls for help ({to}): {message}"));
            }
            Event::BackendChanged { from, to, reason } => {
                let why = reason.replace('_', " ");
                self.console.line(Level::Warning, &format!("{from} cannot go on ({why}): {to} steps in."));
            }
            Event::Retrying { errors, max_retries, pause, message } => self.console.line(
                Level::Warning,
                &format!(
                    "Session error ({errors}/{}), next try in {}: {message}",
                    max_retries + 1,
                    format_duration(*pause)
                ),
            ),
            Event::Outage { tries, pause, gives_up_at, message, .. } => {
                self.console.line(Level::Warning, &words::outage(*tries, *pause, *gives_up_at, message));
            }
            Event::Trouble { message } | Event::HostRefused { message, .. } => {
                self.console.line(Level::Warning, message);
            }
            Event::Outcome(report) => {
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
            Event::Text { text } if self.detail == Detail::Verbose => {
                self.console.line(Level::Debug, &format!("  {}", text.trim().replace('\n', "\n  ")));
            }
            Event::ToolCall(call) if self.detail == Detail::Verbose => {
                let line = words::tool_line(call, self.console.redactor());
                self.console.line(Level::Debug, &format!("    {line}"));
            }
            Event::Waiting { .. }
            | Event::Working { .. }
            | Event::Instructed { .. }
            | Event::ModelAsked { .. }
            | Event::Chunk { .. }
            | Event::ModelDone { .. }
            | Event::Conversation { .. }
            | Event::Text { .. }
            | Event::Thinking { .. }
            | Event::ToolCall(_)
            | Event::ToolResult { .. }
            | Event::Usage(_)
            | Event::Answer { .. }
            | Event::End { .. } => {}
        }
        if self.detail == Detail::Debug
            && let Some(line) = words::debug_line(event, self.console.redactor())
        {
            self.console.line(Level::Debug, &format!("[debug] {line}"));
        }
    }
}
