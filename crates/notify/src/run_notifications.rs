//! The sink that turns the events of a run into notifications and records them in the outbox.
//!
//! It never fails a run: an outbox that cannot be written is a warning. Recording is a small write on the spot, so that nothing is lost if
//! the process is killed right afterwards; there are few notifications in a run.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::{AgentEvent, Event, RunEvent, WaitReason};
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use autonoe_core::outcome::{RunOutcome, RunReport};
use autonoe_core::redact::Redactor;
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use autonoe_core::status::StatusChange;
use autonoe_store::Outbox;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::dispatcher::Warn;
use crate::target::NotifyTarget;
use crate::text::{one_line, plain};

/// The part of the budget that is notified when it is spent.
const BUDGET_PART: f64 = 0.8;

/// Consecutive sessions that must have found the model service unavailable: one may be a moment only.
const OUTAGE_TRIES: u32 = 2;

/// Characters of a title and of a text.
const MAX_TITLE: usize = 120;
const MAX_TEXT: usize = 3000;

/// The subject of a run's end, of which there is only one.
const END: &str = "end";

/// What is known about a run before it starts.
pub struct NotifiedRun {
    pub outbox: Arc<Outbox>,
    pub targets: Vec<NotifyTarget>,
    /// Name of the project's directory.
    pub project: String,
    pub project_path: String,
    /// The run's id in the journal.
    pub run: i64,
    /// How many denied tool calls are many.
    pub denied_threshold: NonZeroU32,
    pub redactor: Redactor,
    /// Is notified when something was recorded.
    pub wake: Arc<Notify>,
    /// How a run ended, in sentences.
    pub describe_end: fn(&RunReport) -> String,
    /// A time, for people.
    pub show_time: fn(Timestamp) -> String,
    pub warn: Warn,
}

pub struct RunNotifications {
    run: NotifiedRun,
    seen: Mutex<Seen>,
}

/// What the run has done so far.
#[derive(Default)]
struct Seen {
    spent: Usd,
    budget: Option<Usd>,
    is_budget_notified: bool,
    denied: u32,
    quota_until: Option<Timestamp>,
    has_ended: bool,
    /// Whether a warning says that the outbox cannot be written.
    has_warned: bool,
}

/// A notification before it has an id.
struct Draft {
    event: NotificationEvent,
    level: NotificationLevel,
    /// Follows the name of the project.
    title: String,
    text: String,
    /// Distinguishes events of the same kind in one run.
    subject: String,
}

impl RunNotifications {
    pub fn new(run: NotifiedRun) -> Self {
        Self { run, seen: Mutex::default() }
    }

    /// Records the ends of earlier runs whose processes were killed before they could.
    pub fn catch_up(&self, mut find_end: impl FnMut(i64) -> Option<(Timestamp, RunReport)>) {
        let open = self.run.outbox.open_runs(self.run.run);
        for run in self.usable(open).unwrap_or_default() {
            if let Some((at, report)) = find_end(run) {
                self.record_end(run, at, &report);
            }
        }
    }

    /// Records that the run ended with a fault outside of its loop, unless it has ended already.
    pub fn run_failed(&self, fault: &Fault) {
        if self.seen().has_ended {
            return;
        }
        self.record_end(
            self.run.run,
            Timestamp::now(),
            &RunReport::without_session(RunOutcome::Failed { fault: fault.clone() }),
        );
    }

    fn on_agent(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Usage(usage) => self.count_cost(usage.cost_usd.unwrap_or_default()),
            AgentEvent::ToolResult { denied_by: Some(_), .. } => self.count_denied(),
            AgentEvent::ToolResult { denied_by: None, .. }
            | AgentEvent::Working { .. }
            | AgentEvent::ModelCallStarted { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelCallEnded { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall(_)
            | AgentEvent::Warning { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::HostRefused { .. }
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => {}
        }
    }

    fn on_run(&self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { cost_before_usd, max_cost_usd, .. } => {
                {
                    let mut seen = self.seen();
                    (seen.spent, seen.budget) = (*cost_before_usd, *max_cost_usd);
                }
                let begun = self.run.outbox.begin_run(self.run.run);
                self.usable(begun);
            }
            RunEvent::StatusChanged(change) if change.new == DeliverableStatus::Blocked => {
                self.blocked(change)
            }
            RunEvent::Waiting { reason: WaitReason::Quota, until, .. } => self.waits_for_quota(*until),
            RunEvent::Outage { since, tries, gives_up_at, message, .. } if *tries >= OUTAGE_TRIES => {
                self.record(Draft {
                    event: NotificationEvent::Outage,
                    level: NotificationLevel::Warning,
                    title: "waiting for the model service".to_owned(),
                    text: format!("{message} The run gives up at {}.", (self.run.show_time)(*gives_up_at)),
                    subject: since.to_string(),
                });
            }
            RunEvent::Alert { id, alert, level, message } => self.alert(id, alert, *level, message),
            RunEvent::Outcome(report) => {
                self.seen().has_ended = true;
                self.record_end(self.run.run, Timestamp::now(), report);
            }
            RunEvent::Instructed { .. }
            | RunEvent::SessionStarted { .. }
            | RunEvent::SessionEnded { .. }
            | RunEvent::BackendChanged { .. }
            | RunEvent::StatusChanged(_)
            | RunEvent::UserMessage { .. }
            | RunEvent::Landing { .. }
            | RunEvent::Checked { .. }
            | RunEvent::Disputed { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::Escalated { .. }
            | RunEvent::Retrying { .. }
            | RunEvent::Outage { .. }
            | RunEvent::Waiting { reason: WaitReason::Service, .. }
            | RunEvent::RepetitionNoticed { .. }
            | RunEvent::Progress { .. }
            | RunEvent::Remedy { .. }
            | RunEvent::BestOf(_)
            | RunEvent::Announcement { .. }
            | RunEvent::Notice { .. }
            | RunEvent::Warning { .. } => {}
        }
    }

    /// An alert of a harness. It has the same id after a crash.
    fn alert(&self, id: &str, alert: &str, level: NotificationLevel, message: &str) {
        use NotificationLevel::{Critical, Error, Info, Success, Warning};
        let event = match level {
            Info | Success => NotificationEvent::Progress,
            Warning | Error | Critical => NotificationEvent::Alert,
        };
        let (title, text, subject) = (alert.replace('_', " "), message.to_owned(), id.to_owned());
        self.record(Draft { event, level, title, text, subject });
    }

    fn count_cost(&self, cost: Usd) {
        let (spent, budget) = {
            let mut seen = self.seen();
            seen.spent = Usd(seen.spent.0 + cost.0);
            let Some(budget) = seen.budget.filter(|budget| seen.spent.0 >= budget.0 * BUDGET_PART) else {
                return;
            };
            if std::mem::replace(&mut seen.is_budget_notified, true) {
                return;
            }
            (seen.spent, budget)
        };
        self.record(Draft {
            event: NotificationEvent::Budget,
            level: NotificationLevel::Warning,
            title: format!("{:.0} % of the budget is spent", BUDGET_PART * 100.0),
            text: format!("The run has spent {spent} of {budget}, and stops there."),
            subject: String::new(),
        });
    }

    fn count_denied(&self) {
        let denied = {
            let mut seen = self.seen();
            seen.denied += 1;
            seen.denied
        };
        if denied == self.run.denied_threshold.get() {
            self.record(Draft {
                event: NotificationEvent::DeniedOften,
                level: NotificationLevel::Warning,
                title: format!("{denied} tool calls were denied"),
                text: "Agents of this run often want what they may not do. `autonoe report` lists the calls with what would allow them."
                    .to_owned(),
                subject: String::new(),
            });
        }
    }

    fn blocked(&self, change: &StatusChange) {
        let StatusChange { deliverable_id: id, description, reason, .. } = change;
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        self.record(Draft {
            event: NotificationEvent::Blocked,
            level: NotificationLevel::Warning,
            title: format!("{id} is blocked"),
            text: format!(
                "{description}{reason}\nOnce that is resolved: `autonoe unblock {id}`, then run again."
            ),
            // It may be blocked again later, and is not reported again after a restart.
            subject: format!("{id} {}", Timestamp::now()),
        });
    }

    /// Repeated every second of a wait.
    fn waits_for_quota(&self, until: Timestamp) {
        if self.seen().quota_until.replace(until) == Some(until) {
            return;
        }
        self.record(Draft {
            event: NotificationEvent::Quota,
            level: NotificationLevel::Warning,
            title: "waiting for the quota".to_owned(),
            text: format!("The quota is used up. The run continues at {}.", (self.run.show_time)(until)),
            subject: until.to_string(),
        });
    }

    fn record_end(&self, run: i64, at: Timestamp, report: &RunReport) {
        if let Some((event, level, title)) = end(&report.outcome) {
            let text = (self.run.describe_end)(report);
            let draft = Draft { event, level, title: title.to_owned(), text, subject: END.to_owned() };
            self.record_of(run, at, draft);
        }
        let ended = self.run.outbox.end_run(run);
        self.usable(ended);
    }

    fn record(&self, draft: Draft) {
        self.record_of(self.run.run, Timestamp::now(), draft);
    }

    fn record_of(&self, run: i64, at: Timestamp, draft: Draft) {
        let NotifiedRun { outbox, targets, project, project_path, redactor, wake, .. } = &self.run;
        let targets: Vec<&NotifyTarget> = targets.iter().filter(|target| target.wants(draft.event)).collect();
        if targets.is_empty() {
            return;
        }
        let Some(id) = self.usable(outbox.id(run, draft.event, &draft.subject)) else { return };
        let notification = UserNotification {
            id,
            event: draft.event,
            level: draft.level,
            title: one_line(&redactor.text(&format!("{project}: {}", draft.title)), MAX_TITLE),
            text: plain(&redactor.text(&draft.text), MAX_TEXT),
            project: project.clone(),
            project_path: project_path.clone(),
            run: Some(run),
            // As precise as the outbox.
            at: Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at),
        };
        let deliveries: Vec<_> =
            targets.iter().map(|target| (target.name.as_str(), target.expires_at(&notification))).collect();
        if self.usable(outbox.record(&notification, &deliveries)) == Some(true) {
            wake.notify_one();
        }
    }

    /// `None`, with one warning, if the outbox cannot be used.
    fn usable<T>(&self, result: Result<T, Fault>) -> Option<T> {
        result
            .inspect_err(|fault| {
                if !std::mem::replace(&mut self.seen().has_warned, true) {
                    (self.run.warn)(&format!("{fault} Nobody is notified of what cannot be recorded."));
                }
            })
            .ok()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // A panic cannot leave it half changed.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for RunNotifications {
    fn on(&self, _: &SpanContext, event: &Event) {
        match event {
            Event::Agent(event) => self.on_agent(event),
            Event::Run(event) => self.on_run(event),
        }
    }
}

/// `None` for an interrupt, which the user made.
fn end(outcome: &RunOutcome) -> Option<(NotificationEvent, NotificationLevel, &'static str)> {
    use {NotificationEvent as On, NotificationLevel as Level};
    Some(match outcome {
        RunOutcome::AllPassed | RunOutcome::AllVerified | RunOutcome::ConditionMet { .. } => {
            (On::Done, Level::Success, "done")
        }
        RunOutcome::AllBlocked => (On::Blocked, Level::Critical, "everything is blocked"),
        RunOutcome::TasksBlocked { .. } => (On::Blocked, Level::Critical, "tasks are blocked"),
        RunOutcome::Stuck { .. } => (On::Stuck, Level::Critical, "stuck"),
        RunOutcome::Unverified { .. } => (On::Stuck, Level::Critical, "passed, but not verified"),
        RunOutcome::Unreviewed => (On::Stuck, Level::Critical, "passed, but not reviewed"),
        RunOutcome::MaxIterations { .. }
        | RunOutcome::BudgetExceeded { .. }
        | RunOutcome::DurationExceeded { .. } => (On::Limit, Level::Warning, "stopped at a limit"),
        RunOutcome::QuotaExceeded { .. } => (On::Quota, Level::Error, "stopped: the quota is used up"),
        RunOutcome::Outage { .. } => (On::Outage, Level::Error, "stopped: the model service is unavailable"),
        RunOutcome::MaxRetriesExceeded { .. } | RunOutcome::Failed { .. } => {
            (On::Failed, Level::Error, "failed")
        }
        RunOutcome::Interrupted => return None,
    })
}

#[cfg(test)]
mod tests;
