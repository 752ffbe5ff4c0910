//! The presenter: a sink that shows the events of a run to a person, at the chosen verbosity.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::{AgentEvent, AnnouncementSubject, Event, RunEvent, WaitReason};
use autonoe_core::file_names::shown_name;
use autonoe_core::notification::NotificationLevel;
use autonoe_core::outcome::{SessionEnd, no_progress};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use autonoe_report::{assurance, cost, one_line};
use jiff::Timestamp;

use super::activity::{agent_activity, run_activity};
use super::console::{Console, MessageLevel};
use super::messages;
use super::time;
use crate::stop::StopSignal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Warnings, errors and the outcome only.
    Quiet,
    /// Also sessions and status changes.
    Normal,
    /// Also the agent's messages and tool calls.
    Verbose,
    /// Every event.
    Debug,
}

/// Whether lines begin with the time of their event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTimes {
    OnTerminal,
    Always,
}

pub struct Presenter {
    times: LineTimes,
    /// When the event happened that is being shown; `None` means now.
    at: Mutex<Option<Timestamp>>,
    console: Arc<Console>,
    verbosity: Verbosity,
    stop: StopSignal,
    /// Set while the run waits, so that a wait is announced only once.
    waiting: AtomicBool,
    /// What the open tool calls are about, by call id.
    open_calls: Mutex<HashMap<String, Option<String>>>,
    /// What the sessions at work build, by their numbers.
    at_work: Mutex<BTreeMap<u32, String>>,
    /// What the session that has just ended was for, if others are at work.
    ended: Mutex<Option<String>>,
    /// Whose event is being shown, if several sessions are at work.
    speaker: Mutex<Option<String>>,
    /// Tool calls that a gate denied.
    denied: AtomicU32,
    /// Shown after the outcome.
    next_steps: Mutex<Vec<String>>,
}

impl Presenter {
    pub fn new(console: Arc<Console>, verbosity: Verbosity, stop: StopSignal, times: LineTimes) -> Self {
        Self {
            times,
            at: Mutex::default(),
            console,
            verbosity,
            stop,
            waiting: AtomicBool::new(false),
            open_calls: Mutex::default(),
            at_work: Mutex::default(),
            ended: Mutex::default(),
            speaker: Mutex::default(),
            denied: AtomicU32::new(0),
            next_steps: Mutex::default(),
        }
    }

    /// Shows an event of the past.
    pub fn replay(&self, at: Timestamp, span: &SpanContext, event: &Event) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        self.on(span, event);
    }

    /// Counts an event of the past without showing it.
    pub fn pass_over(&self, at: Timestamp, event: &Event) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        self.update_activity(event);
        if matches!(event, Event::Agent(AgentEvent::ToolResult { denied_by: Some(_), .. })) {
            self.denied.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn info(&self, text: &str) {
        self.print(MessageLevel::Info, text);
    }

    fn print(&self, level: MessageLevel, text: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.line(level, text);
        }
    }

    /// Prints a line with its time.
    fn line(&self, level: MessageLevel, text: &str) {
        let speaker = self.speaker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let named = speaker.map(|speaker| format!("{speaker}: {}", text.trim_start()));
        let text = named.as_deref().unwrap_or(text);
        if self.times == LineTimes::OnTerminal && !io::stdout().is_terminal() {
            return self.console.line(level, text);
        }
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Timestamp::now);
        self.console.timed_line(level, &time::time_of_day(at), text);
    }

    fn open_calls(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<String>>> {
        self.open_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update_activity(&self, event: &Event) {
        let at = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
        self.console.activity(|state| match event {
            Event::Agent(event) => agent_activity(state, event),
            Event::Run(event) => run_activity(state, event, at),
        });
    }

    fn announce(&self, about: AnnouncementSubject, lines: &[String]) {
        let level = match about {
            AnnouncementSubject::Warnings => MessageLevel::Warning,
            AnnouncementSubject::Start | AnnouncementSubject::Plan => MessageLevel::Info,
            AnnouncementSubject::NextSteps => {
                *self.next_steps.lock().unwrap_or_else(PoisonError::into_inner) = lines.to_vec();
                return;
            }
        };
        if level == MessageLevel::Warning || self.verbosity != Verbosity::Quiet {
            lines.iter().for_each(|line| self.console.line(level, line));
        }
    }
}

impl Presenter {
    fn on_agent(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Warning { message } | AgentEvent::HostRefused { message, .. } => {
                self.line(MessageLevel::Warning, message);
            }
            AgentEvent::UserMessage { text } => self.info(&messages::user_message(text)),
            AgentEvent::Text { text } if self.verbosity == Verbosity::Verbose => {
                self.line(MessageLevel::Debug, &format!("  {}", text.trim().replace('\n', "\n  ")));
            }
            AgentEvent::ToolCall(call) => {
                self.open_calls().insert(call.id.clone(), call.subject().map(str::to_owned));
                if self.verbosity != Verbosity::Verbose {
                    return;
                }
                let line = messages::tool_line(call, self.console.redactor());
                self.line(MessageLevel::Debug, &format!("    {line}"));
            }
            AgentEvent::ToolResult { id, name, content, denied_by, denied_reason, .. } => {
                let subject = self.open_calls().remove(id).flatten();
                if denied_by.is_some() {
                    self.denied.fetch_add(1, Ordering::SeqCst);
                    let reason = denied_reason.as_deref().unwrap_or(content);
                    let line = messages::denied(name, subject.as_deref(), reason, self.console.redactor());
                    self.print(MessageLevel::Setback, &line);
                }
            }
            AgentEvent::Working { .. }
            | AgentEvent::ModelCallStarted { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelCallEnded { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => {}
        }
    }

    fn on_run(&self, event: &RunEvent, was_waiting: bool) {
        match event {
            RunEvent::Waiting { reason: WaitReason::Quota, remaining, resets_at, .. } if !was_waiting => {
                self.print(MessageLevel::Setback, &messages::waiting(*remaining, *resets_at));
            }
            RunEvent::RunStarted { sessions_before: 0, .. } => {}
            RunEvent::RunStarted { sessions_before, .. } => self.info(&messages::resuming(*sessions_before)),
            RunEvent::SessionStarted { number, instruction, step, deliverable, model, .. } => {
                let is_one_of_several = self.at_work().len() > 1;
                let subject = step.as_ref().or(deliverable.as_ref().filter(|_| is_one_of_several));
                let step = subject.map(|subject| format!(" {subject}")).unwrap_or_default();
                self.info(&format!("Session {number} started ({instruction}{step}, {model})"));
            }
            RunEvent::SessionEnded { number, outcome, cost_usd, duration } => {
                let ended = match outcome {
                    SessionEnd::Completed => String::new(),
                    other => format!(" {},", other.name()),
                };
                let (cost, duration) = (cost(*cost_usd), format_duration(*duration));
                let subject = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
                let subject = subject.map(|subject| format!(" ({})", one_line(&subject))).unwrap_or_default();
                self.info(&format!("Session {number}{subject}:{ended} cost={cost}, duration={duration}"));
                if let SessionEnd::Stuck { reason } = outcome {
                    self.print(MessageLevel::Setback, &format!("[STUCK] {reason}"));
                }
            }
            RunEvent::StatusChanged(change) => {
                let level = match change.new {
                    DeliverableStatus::Passed => MessageLevel::Good,
                    DeliverableStatus::Blocked => MessageLevel::Setback,
                    DeliverableStatus::Pending => MessageLevel::Info,
                };
                self.print(level, &messages::status_line(change));
            }
            RunEvent::UserMessage { text } => self.info(&messages::user_message(text)),
            RunEvent::RepetitionNoticed { message } => {
                self.print(MessageLevel::Setback, &messages::repetition(message));
            }
            RunEvent::Checked { deliverable, check, purpose, passed, message } => {
                let (level, line) =
                    messages::checked(deliverable.as_deref(), check, *purpose, *passed, message);
                self.print(level, &line);
            }
            RunEvent::Landing { branch, commit, why, advice, ci_files, hook_files } => {
                match why {
                    None => {
                        self.print(MessageLevel::Good, &messages::landed(branch, commit));
                        if let Some(advice) = advice {
                            self.line(MessageLevel::Warning, advice);
                        }
                    }
                    Some(why) => {
                        let line = messages::not_landed(branch, commit, why, advice.as_deref());
                        self.print(MessageLevel::Setback, &line);
                    }
                }
                if !ci_files.is_empty() {
                    self.line(MessageLevel::Warning, &messages::ci_files(ci_files));
                }
                if !hook_files.is_empty() {
                    self.console.line(MessageLevel::Warning, &messages::hook_files(hook_files));
                }
            }
            RunEvent::Disputed { path, message } => {
                self.line(MessageLevel::Warning, &format!("Disputed: {}: {message}", shown_name(path)));
            }
            RunEvent::StepEnded { step, passed, message, next } => {
                let (level, line) = messages::step_ended(step, *passed, message, next.as_deref());
                self.print(level, &line);
            }
            RunEvent::Progress { number, score, verdict } => {
                if matches!(self.verbosity, Verbosity::Verbose | Verbosity::Debug) {
                    let verdict = verdict.name();
                    self.line(
                        MessageLevel::Debug,
                        &format!("[PROGRESS] Session {number}: score {score:.2}, {verdict}"),
                    );
                }
            }
            // Each attempt has a line of its own.
            RunEvent::Remedy { name, .. } if name == "best_of" => {}
            RunEvent::BestOf(result) => {
                let is_chosen = result.winner.is_some();
                let level = if is_chosen { MessageLevel::Good } else { MessageLevel::Setback };
                self.print(level, &format!("[BEST OF] {}", result.message));
            }
            RunEvent::Remedy { name, idle_sessions, escalated_to, .. } => {
                let to = escalated_to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
                self.line(
                    MessageLevel::Warning,
                    &format!("[STUCK] {}; trying: {name}{to}", no_progress(*idle_sessions)),
                );
            }
            RunEvent::Alert { alert, level, message, .. } => {
                // The line [STUCK] says the same.
                if *level > NotificationLevel::Success && alert != "stuck_recovery" {
                    self.line(MessageLevel::Warning, &format!("[ALERT] {message}"));
                }
            }
            RunEvent::Escalated { step, to, message } => {
                self.line(MessageLevel::Warning, &format!("Step {step} escalates to {to}: {message}"));
            }
            RunEvent::BackendChanged { from, to, from_model, to_model, reason } => {
                let (from, to) = (messages::agent(from, from_model), messages::agent(to, to_model));
                let why = reason.replace('_', " ");
                self.line(
                    MessageLevel::Warning,
                    &format!("{from} cannot continue ({why}); switching to {to}."),
                );
            }
            RunEvent::Retrying { errors, max_retries, pause, message } => self.line(
                MessageLevel::Warning,
                &format!(
                    "Session error ({errors}/{}), next try in {}: {message}",
                    max_retries + 1,
                    format_duration(*pause)
                ),
            ),
            RunEvent::Outage { tries, pause, gives_up_at, message, .. } => {
                self.line(MessageLevel::Warning, &messages::outage(*tries, *pause, *gives_up_at, message));
            }
            RunEvent::Outcome(report) => {
                self.console.end_activity();
                if self.verbosity != Verbosity::Quiet {
                    self.console.line(MessageLevel::Info, "");
                    let overall = messages::overall(report, self.denied.load(Ordering::SeqCst));
                    self.console.line(MessageLevel::Info, &overall);
                }
                let (level, text, hint) = match self.stop.closed_output(&report.outcome) {
                    Some(why) => messages::output_closed(why),
                    None => messages::ending(&report.outcome),
                };
                let prefix = if level == MessageLevel::Error { "error: " } else { "" };
                let assurance = match report.plan.tally().passed {
                    0 => String::new(),
                    _ => format!(" {}.", assurance(report.plan.tally())),
                };
                self.console.line(level, &format!("{prefix}{text}{assurance}"));
                if let Some(hint) = hint {
                    self.console.line(MessageLevel::Hint, &format!("hint: {hint}"));
                }
                if self.verbosity != Verbosity::Quiet {
                    let lines = self.next_steps.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.iter().for_each(|line| self.console.line(MessageLevel::Info, line));
                }
            }
            RunEvent::Announcement { about, lines } => self.announce(*about, lines),
            RunEvent::Waiting { .. } | RunEvent::Instructed { .. } => {}
            RunEvent::Notice { message } => {
                if self.verbosity != Verbosity::Quiet {
                    self.line(MessageLevel::Info, message);
                }
            }
            RunEvent::Warning { message } => self.line(MessageLevel::Warning, message),
        }
    }
}

impl Presenter {
    fn at_work(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, String>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers which sessions are at work, and whose event comes next.
    fn notice_sessions(&self, span: &SpanContext, event: &Event) {
        let mut at_work = self.at_work();
        match event {
            Event::Run(RunEvent::SessionStarted { number, deliverable, instruction, .. }) => {
                let subject = deliverable.clone().unwrap_or_else(|| instruction.to_string());
                at_work.insert(*number, subject);
            }
            Event::Run(RunEvent::SessionEnded { number, .. }) => {
                let subject = at_work.remove(number).filter(|_| !at_work.is_empty());
                *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = subject;
            }
            Event::Run(_) | Event::Agent(_) => {}
        }
        let is_agents = matches!(event, Event::Agent(_)) && at_work.len() > 1;
        let subject = span.session.filter(|_| is_agents).and_then(|number| at_work.get(&number));
        *self.speaker.lock().unwrap_or_else(PoisonError::into_inner) = subject.cloned();
    }
}

impl Sink for Presenter {
    fn on(&self, span: &SpanContext, event: &Event) {
        self.notice_sessions(span, event);
        self.update_activity(event);
        let is_wait = matches!(event, Event::Run(RunEvent::Waiting { .. }));
        let was_waiting = self.waiting.swap(is_wait, Ordering::SeqCst);
        match event {
            Event::Agent(event) => self.on_agent(event),
            Event::Run(event) => self.on_run(event, was_waiting),
        }
        if self.verbosity == Verbosity::Debug
            && let Event::Agent(event) = event
            && let Some(line) = messages::debug_line(event, self.console.redactor())
        {
            self.line(MessageLevel::Debug, &format!("[debug] {line}"));
        }
    }
}
