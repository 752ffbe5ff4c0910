//! Shows the plan when the session that made it has ended, and asks for approval if the user wants to be asked.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_core::event::{Event, RunEvent};
use autonoe_core::instruction::Phase;
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use autonoe_core::steering::Steering;
use autonoe_store::{ControlDirectory, Project, StopRequest};

use super::estimate::estimate;
use crate::present::{Console, MessageLevel, plan_text};

pub struct PlanAnnouncer {
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

impl Sink for PlanAnnouncer {
    fn on(&self, _: &SpanContext, event: &Event) {
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
                    self.announce();
                }
            }
            Event::Run(_) | Event::Agent(_) => {}
        }
    }
}

impl PlanAnnouncer {
    /// Asks about a plan that was there before the run.
    pub fn ask_first(&self) {
        if self.approval.is_some() {
            self.announce();
        }
    }

    fn planning(&self) -> MutexGuard<'_, Option<Phase>> {
        self.planning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the plan, and asks if the user wants to be asked.
    fn announce(&self) {
        let estimate = estimate(&self.project).ok().flatten();
        // Without a plan there is nothing to show, and the loop reports why.
        let Ok(Some(text)) = plan_text(&self.project, estimate) else { return };
        if !self.is_quiet || self.approval.is_some() {
            text.lines().for_each(|line| self.console.line(MessageLevel::Info, line));
        }
        if let Some(steering) = &self.approval {
            self.ask(steering);
        }
    }

    /// Pauses the run. The answer comes from this terminal, or by `autonoe resume` and `autonoe stop` from another.
    fn ask(&self, steering: &Steering) {
        let control = ControlDirectory::of(&self.project);
        // If it cannot be written, the run would not wait.
        if control.set_paused(true).is_err() {
            steering.end_after_session();
            return;
        }
        steering.set_paused(true);
        if !io::stdin().is_terminal() {
            let hint = "`autonoe resume` approves the plan, `autonoe plan --edit` changes it first, `autonoe stop` ends the run.";
            return self.console.line(MessageLevel::Info, hint);
        }
        self.console.line(MessageLevel::Info, "Build this plan? [y/N]");
        let console = Arc::clone(&self.console);
        std::thread::spawn(move || {
            let mut answer = String::new();
            let is_yes = io::stdin().read_line(&mut answer).is_ok()
                && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
            // Ignored: the run then waits for another terminal.
            let _ = match is_yes {
                true => control.set_paused(false),
                false => {
                    console.line(MessageLevel::Info, "Not approved: `autonoe plan --edit` changes the plan.");
                    control.request_stop(StopRequest::AfterSession)
                }
            };
        });
    }
}
