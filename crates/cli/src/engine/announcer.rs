//! Adds text for people to the events of a run: the plan when it is made, and what the user can do at the end. Asks for approval of the plan
//! if the user wants to be asked.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_core::event::{AnnouncementSubject, Event, RunEvent};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport};
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::SpanContext;
use autonoe_core::steering::{Pause, Steering};
use autonoe_store::{ControlDirectory, Project, StopRequest};

use super::estimate::estimate;
use super::next_steps::{after_review, next_steps};
use crate::present::{Console, MessageLevel, plan_text};

/// In front of all other sinks, so that those who follow the run get what its own terminal shows.
pub struct Announcer {
    pub sinks: Sinks,
    /// The command that continues the run, such as `run`.
    pub command: String,
    pub project: Project,
    pub console: Arc<Console>,
    pub is_quiet: bool,
    /// Hash of the specification; `None` for a declarative agent.
    pub planned_spec: Option<String>,
    /// Where the run is paused until the user approves the plan; `None` if nobody is asked.
    pub approval: Option<Steering>,
    /// Set while the session runs that makes or updates the plan.
    pub planning: Mutex<Option<Phase>>,
}

impl Sink for Announcer {
    fn on(&self, span: &SpanContext, event: &Event) {
        // The outcome is the last event.
        if let Event::Run(RunEvent::Outcome(report)) = event {
            self.announce_next_steps(span, report);
        }
        self.sinks.on(span, event);
        match event {
            Event::Run(RunEvent::SessionStarted { instruction, .. }) => {
                let plans = matches!(instruction, Phase::Initializer | Phase::Sync);
                *self.planning() = plans.then_some(*instruction);
            }
            Event::Run(RunEvent::SessionEnded { outcome, .. }) => {
                let (phase, is_done) =
                    (self.planning().take(), outcome.fault().is_none() && !outcome.was_cut_short());
                if let (Some(spec), Some(_), true) = (&self.planned_spec, phase, is_done) {
                    // Ignored: the next run then updates the deliverables once more.
                    let _ = self.project.set_planned_spec(spec);
                }
                // An updated plan is shown to those who want to be asked.
                if phase == Some(Phase::Initializer) || phase.is_some() && self.approval.is_some() {
                    self.announce_plan(span);
                }
            }
            Event::Run(_) | Event::Agent(_) => {}
        }
    }
}

impl Announcer {
    /// Asks about a plan that was there before the run.
    pub fn ask_first(&self, span: &SpanContext) {
        if self.approval.is_some() {
            self.announce_plan(span);
        }
    }

    fn planning(&self) -> MutexGuard<'_, Option<Phase>> {
        self.planning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, span: &SpanContext, about: AnnouncementSubject, lines: Vec<String>) {
        self.sinks.emit(span, RunEvent::Announcement { about, lines });
    }

    fn announce_next_steps(&self, span: &SpanContext, report: &RunReport) {
        let has_worked = !matches!(report.outcome, RunOutcome::ConditionMet { .. });
        // Without the journal there is nothing to say, and the outcome does not depend on it.
        let lines = match report.plan {
            PlanReport::Deliverables(tally) if has_worked && tally.total > 0 => {
                next_steps(&self.project, &self.command)
            }
            PlanReport::Sync { .. } => after_review(&self.project),
            PlanReport::Deliverables(_) | PlanReport::Steps(_) => return,
        };
        let lines = lines.unwrap_or_default();
        if !lines.is_empty() {
            self.announce(span, AnnouncementSubject::NextSteps, lines);
        }
    }

    /// Shows the plan, and asks if the user wants to be asked.
    fn announce_plan(&self, span: &SpanContext) {
        let estimate = estimate(&self.project).ok().flatten();
        // Without a plan there is nothing to show, and the loop reports why.
        let Ok(Some(text)) = plan_text(&self.project, estimate) else { return };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let asks_here = io::stdin().is_terminal();
        if self.approval.is_some() && !asks_here {
            let hint = "`autonoe resume` approves the plan, `autonoe plan --edit` changes it first, `autonoe stop` ends the run.";
            lines.push(hint.to_owned());
        }
        if self.is_quiet && self.approval.is_some() {
            // Who is asked has to see what about.
            lines.iter().for_each(|line| self.console.line(MessageLevel::Info, line));
        }
        self.announce(span, AnnouncementSubject::Plan, lines);
        if let Some(steering) = &self.approval
            && self.pause(steering)
            && asks_here
        {
            self.ask(span);
        }
    }

    /// Whether the run waits now, for an answer from this terminal or for `autonoe resume` and `autonoe stop` from another.
    fn pause(&self, steering: &Steering) -> bool {
        if ControlDirectory::of(&self.project).set_paused(true).is_err() {
            steering.end_after_session();
            return false;
        }
        steering.set_pause(Some(Pause::Requested));
        true
    }

    fn ask(&self, span: &SpanContext) {
        self.console.line(MessageLevel::Info, "Build this plan? [y/N]");
        let (control, sinks, span) = (ControlDirectory::of(&self.project), self.sinks.clone(), span.clone());
        std::thread::spawn(move || {
            let mut answer = String::new();
            let is_yes = io::stdin().read_line(&mut answer).is_ok()
                && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
            // Ignored: the run then waits for another terminal.
            let _ = match is_yes {
                true => control.set_paused(false),
                false => {
                    let message = "Not approved: `autonoe plan --edit` changes the plan.".to_owned();
                    sinks.emit(&span, RunEvent::Notice { message });
                    control.request_stop(StopRequest::AfterSession)
                }
            };
        });
    }
}
