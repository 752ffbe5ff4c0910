//! A plan that unsticks itself: each session gets a score, and when several in a row made no progress, the next sessions try one remedy
//! after another. Their words are a paragraph of the inner plan's instruction.
//!
//! The inner plan decides what is progress for the run: if it says that a session was progress, it was. The score decides about the others.
//! Everything is saved before it is acted on, so that a process that was killed continues the remedy that it was at and repeats none.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::event::{ProgressVerdict, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{Iteration, NextAction, Plan, PlanMemory, PlanVerdict, RunState, StatusReader};
use autonoe_core::progress::settled;
use autonoe_core::status::ProjectStatus;
use serde::{Deserialize, Serialize};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::failed_checks::FailedChecks;
use crate::progress::{FailedCheck, ProgressDetector, SessionTrace, TreeSnapshot};
use crate::recovery::{LoopContext, NoRewriter, Recovery, RecoveryBudget, RecoveryState, RemedyStep};
use crate::roadmap::Task;
use crate::stuck::{StuckDetector, StuckState};

/// What a [`RecoveringPlan`] needs besides the plan.
pub struct RecoverySetup<'a> {
    /// The files that agents work on.
    pub root: PathBuf,
    pub memory: Arc<dyn PlanMemory>,
    /// `None` for plans without deliverables.
    pub status: Option<Arc<dyn StatusReader>>,
    pub failed_checks: Arc<FailedChecks>,
    /// Called for every event, after it is on record.
    pub on_event: &'a (dyn Fn(&RunEvent) + Send + Sync),
}

impl RecoverySetup<'_> {
    async fn load_status(&self) -> Result<Option<ProjectStatus>, Fault> {
        match &self.status {
            Some(status) => status.load().await,
            None => Ok(None),
        }
    }
}

pub struct RecoveringPlan<'a> {
    inner: &'a mut dyn Plan,
    setup: RecoverySetup<'a>,
    state: SavedRecovery,
    recovery: Recovery,
    /// Sessions of the run that counted before the current one.
    iterations: u32,
    start: Start,
}

/// Whether the first session is ahead.
enum Start {
    New,
    /// An earlier process has worked on this run.
    Resumed,
    /// The files before the first session are being read. With what was settled before it.
    Reading(JoinHandle<Option<TreeSnapshot>>, BTreeSet<String>),
    Done,
}

#[derive(Default, Serialize, Deserialize)]
struct SavedRecovery {
    /// Sessions of the run that counted, up to the last one that was judged.
    iterations: u32,
    /// Sessions since the inner plan last said that one was progress.
    idle_sessions: u32,
    progress: ProgressDetector,
    stuck: StuckDetector,
    recovery: RecoveryState,
    /// Nothing is left to try.
    has_given_up: bool,
}

impl<'a> RecoveringPlan<'a> {
    /// Continues where an earlier process of this run stopped.
    pub async fn resume(inner: &'a mut dyn Plan, setup: RecoverySetup<'a>) -> Result<Self, Fault> {
        let saved = setup.memory.recovery().await?;
        // What a version with another format has saved is not worth a failed run.
        let saved: Option<SavedRecovery> = saved.and_then(|saved| serde_json::from_value(saved).ok());
        let start = if saved.is_some() { Start::Resumed } else { Start::New };
        let state = saved.unwrap_or_default();
        let recovery = Recovery::new(RecoveryBudget::default(), state.recovery.clone());
        Ok(Self { inner, setup, iterations: state.iterations, state, recovery, start })
    }

    /// The first snapshot reads every file, so it is taken while the first session starts.
    async fn begin(&mut self, so_far: &RunState) -> Result<(), Fault> {
        match std::mem::replace(&mut self.start, Start::Done) {
            Start::New => {
                let before = self.setup.load_status().await?.as_ref().map(settled_names).unwrap_or_default();
                let root = self.setup.root.clone();
                let reading = spawn_blocking(move || TreeSnapshot::take(&root, None).ok());
                self.start = Start::Reading(reading, before);
            }
            Start::Resumed => {
                // A session of the remedy has ended, but its process was killed before it was judged.
                if so_far.iterations > self.state.iterations
                    && self.recovery.state().current().is_some()
                    && self.recovery.observe(ProgressVerdict::Idle, Usd::ZERO) == RemedyStep::Failed
                {
                    self.state.stuck.end_recovery(false);
                }
            }
            other @ (Start::Reading(..) | Start::Done) => self.start = other,
        }
        Ok(())
    }

    /// The loop goes on although nothing is left to try: another backend has taken over, which gets the remedies anew.
    async fn start_over(&mut self) -> Result<(), Fault> {
        self.recovery.escalated();
        self.state.stuck.end_recovery(true);
        (self.state.has_given_up, self.state.idle_sessions) = (false, 0);
        self.save().await
    }

    async fn save(&mut self) -> Result<(), Fault> {
        self.state.recovery = self.recovery.state().clone();
        let saved = serde_json::to_value(&self.state).map_err(|error| {
            let message = format!("The state of the recovery cannot be saved: {error}.");
            Fault::permanent(FaultLayer::Store, "recovery_state", message)
        })?;
        self.setup.memory.save_recovery(&saved).await
    }

    async fn trace(&mut self, finished: &Iteration, status: Option<&ProjectStatus>) -> SessionTrace {
        if let Start::Reading(reading, before) = std::mem::replace(&mut self.start, Start::Done) {
            self.state.progress.start(reading.await.ok().flatten(), before);
        }
        let (root, before) = (self.setup.root.clone(), self.state.progress.tree().cloned());
        let tree = spawn_blocking(move || TreeSnapshot::take(&root, before.as_ref()).ok()).await;
        SessionTrace {
            output: finished.output.text.clone(),
            tree: tree.ok().flatten(),
            verified: status.map(settled_names).unwrap_or_default(),
            failed_checks: self.setup.failed_checks.of_session(),
            commands: finished.output.commands.clone(),
            duration: finished.duration,
            in_commands: finished.output.in_commands.min(finished.duration),
        }
    }

    /// Judges a session that ended by itself, and decides what the next one tries.
    async fn judge_progress(
        &mut self,
        finished: &Iteration,
        verdict: PlanVerdict,
    ) -> Result<PlanVerdict, Fault> {
        let status = self.setup.load_status().await?;
        let trace = self.trace(finished, status.as_ref()).await;
        let failed_checks = trace.failed_checks.clone();
        let report = self.state.progress.observe(trace);
        let progress = match (&verdict, &finished.outcome) {
            (PlanVerdict::Progressed | PlanVerdict::Done(_), _) => ProgressVerdict::Progressed,
            (_, SessionEnd::Stuck { .. }) => ProgressVerdict::Idle,
            _ => report.verdict,
        };
        self.state.idle_sessions = match &verdict {
            PlanVerdict::Progressed | PlanVerdict::Done(_) => 0,
            _ => self.state.idle_sessions.saturating_add(1),
        };
        let mut events =
            vec![RunEvent::Progress { number: finished.number, score: report.score, verdict: progress }];
        let remedy = self.recovery.state().current().is_some();
        let step = remedy.then(|| self.recovery.observe(progress, finished.spent.cost));
        let stuck = self.state.stuck.observe(progress, &finished.output.text);
        let verdict = match (step, stuck) {
            _ if matches!(verdict, PlanVerdict::Done(_)) => verdict,
            (Some(RemedyStep::Continue), _) => PlanVerdict::Recovering,
            (Some(RemedyStep::Failed), _) | (None, StuckState::Stuck) => {
                self.state.stuck.end_recovery(false);
                let task = task(&finished.instruction, status.as_ref());
                self.next_remedy(&task, failed_checks, &mut events).await
            }
            (Some(RemedyStep::Worked), _)
            | (None, StuckState::Progressing | StuckState::Warning | StuckState::Recovering) => verdict,
        };
        self.save_and_publish(&events).await?;
        Ok(verdict)
    }

    async fn save_and_publish(&mut self, events: &[RunEvent]) -> Result<(), Fault> {
        self.save().await?;
        for event in events {
            self.setup.memory.record_event(event).await?;
            (self.setup.on_event)(event);
        }
        Ok(())
    }

    async fn next_remedy(
        &mut self,
        task: &Task,
        failed_checks: Vec<FailedCheck>,
        events: &mut Vec<RunEvent>,
    ) -> PlanVerdict {
        let tried = self.state.stuck.snippets().map(str::to_owned).collect();
        let context = LoopContext { tried, failed_checks, ..LoopContext::default() };
        self.recovery.next(task, context, &NoRewriter).await;
        let Some(remedy) = self.recovery.state().current() else {
            self.state.has_given_up = true;
            return PlanVerdict::Stuck { idle_sessions: self.state.idle_sessions, tried: self.tried() };
        };
        events.push(RunEvent::Remedy {
            name: remedy.name.clone(),
            idle_sessions: self.state.stuck.idle_sessions(),
            prompt: remedy.result.new_prompt.clone().unwrap_or_default(),
        });
        self.state.stuck.begin_recovery();
        PlanVerdict::Recovering
    }

    /// The remedies since the plan last made progress, by name.
    fn tried(&self) -> Vec<String> {
        self.recovery.state().tried().map(str::to_owned).collect()
    }

    fn stuck_outcome(&self) -> RunOutcome {
        RunOutcome::Stuck { idle_sessions: self.state.idle_sessions, tried: self.tried() }
    }
}

#[async_trait]
impl Plan for RecoveringPlan<'_> {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        let is_resumed = matches!(self.start, Start::Resumed);
        // Only where a process was killed before the plan could give the work up.
        if is_resumed && self.state.has_given_up {
            self.abandon().await?;
        }
        let mut session = match self.inner.next(so_far).await? {
            NextAction::Session(session) => session,
            done @ NextAction::Done(_) => return Ok(done),
        };
        if let Some(stuck_after) = session.stuck_after {
            self.state.stuck.set_stuck_after(stuck_after);
        }
        self.begin(so_far).await?;
        match (self.state.has_given_up, is_resumed) {
            (true, true) => return Ok(NextAction::Done(self.stuck_outcome())),
            (true, false) => self.start_over().await?,
            (false, _) => {}
        }
        self.iterations = so_far.iterations;
        // Only where a process was killed: otherwise the remedy was chosen when the session was judged.
        if self.state.stuck.state() == StuckState::Stuck {
            let task = task(&session.instruction, self.setup.load_status().await?.as_ref());
            let mut events = Vec::new();
            let verdict = self.next_remedy(&task, Vec::new(), &mut events).await;
            self.save_and_publish(&events).await?;
            if let PlanVerdict::Stuck { .. } = verdict {
                return Ok(NextAction::Done(self.stuck_outcome()));
            }
        }
        let remedy = self.recovery.state().current().and_then(|remedy| remedy.result.new_prompt.as_deref());
        if let Some(prompt) = remedy {
            session.instruction = session.instruction.with_paragraph(prompt);
        }
        Ok(NextAction::Session(session))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        let verdict = self.inner.judge(finished).await?;
        self.state.iterations = self.iterations + u32::from(finished.counts());
        match (&finished.outcome, &verdict) {
            (
                SessionEnd::Completed | SessionEnd::MaxTurns | SessionEnd::Stuck { .. },
                PlanVerdict::Progressed | PlanVerdict::Idle | PlanVerdict::Done(_),
            ) => self.judge_progress(finished, verdict).await,
            // It failed or was stopped, so it says nothing about the work; the remedy gets another session.
            _ if self.recovery.state().current().is_some() => self.save().await.map(|()| verdict),
            _ => Ok(verdict),
        }
    }

    /// Other work gets all remedies anew.
    async fn abandon(&mut self) -> Result<bool, Fault> {
        if !self.inner.abandon().await? {
            return Ok(false);
        }
        self.recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
        self.state.stuck.end_recovery(true);
        (self.state.has_given_up, self.state.idle_sessions) = (false, 0);
        self.save().await.map(|()| true)
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        self.inner.confirm_passed().await
    }

    async fn ended(&mut self) -> Result<(), Fault> {
        self.inner.ended().await
    }

    fn report(&self) -> PlanReport {
        self.inner.report()
    }
}

fn settled_names(status: &ProjectStatus) -> BTreeSet<String> {
    settled(status).into_iter().map(|(id, how)| format!("{id} {how}")).collect()
}

/// What the session was to do, in the terms of the remedies.
fn task(instruction: &Instruction, status: Option<&ProjectStatus>) -> Task {
    let id = instruction.deliverable.as_deref();
    let item = status.and_then(|status| status.active().find(|item| Some(item.id.as_str()) == id));
    match item {
        Some(item) => {
            let criteria = item.acceptance_criteria.join("; ");
            Task::of_session(
                &item.id,
                format!("{} ({})", item.description, item.id),
                Some(criteria).filter(|text| !text.is_empty()),
            )
        }
        None => Task::of_session(&instruction.label(), "what is asked for above is done.".to_owned(), None),
    }
}

#[cfg(test)]
mod tests;
