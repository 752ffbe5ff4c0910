//! A plan that unsticks itself: each session gets a score, and when several in a row made no progress, the next sessions try one remedy
//! after another. Their words are a paragraph of the inner plan's instruction, and a model is asked for them in a session of its own.
//!
//! The inner plan decides what is progress for the run: if it says that a session was progress, it was. The score decides about the others.
//! Everything is saved before it is acted on, so that a process that was killed continues the remedy that it was at and repeats none.

mod attempts;
mod branch_site;
mod comparing;
mod earlier_run;
mod exploring;
mod judging;
mod rewriting;
mod saved;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{
    Iteration, NextAction, NextSession, Plan, PlanMemory, PlanVerdict, RunState, StatusReader,
};
use autonoe_core::progress::settled;
use autonoe_core::status::ProjectStatus;
use tokio::task::{JoinHandle, spawn_blocking};

pub use self::branch_site::{BranchChecks, BranchDiff, BranchSite};
use self::saved::SavedRecovery;
use crate::failed_checks::FailedChecks;
use crate::progress::{FailedCheck, TreeSnapshot};
use crate::recovery::{BestOf, LoopContext, Recovery, RecoveryBudget, RemedyStep, Rung};
use crate::roadmap::Task;
use crate::stuck::StuckState;

/// What a [`RecoveringPlan`] needs besides the plan.
pub struct RecoverySetup<'a> {
    /// The files that agents work on.
    pub root: PathBuf,
    pub memory: Arc<dyn PlanMemory>,
    /// `None` for plans without deliverables.
    pub status: Option<Arc<dyn StatusReader>>,
    pub failed_checks: Arc<FailedChecks>,
    pub budget: RecoveryBudget,
    /// Backends and models of the user's configuration, the most capable last. The run has all of them.
    pub ladder: Vec<Rung>,
    /// Who makes an attempt at a deliverable that a session has failed at; `None` if nobody asked for that. The run has all of them.
    pub best_of: Option<BestOf>,
    /// Whether several workers build at the same time. What they do not get done is left to sessions of the run itself, and only these get
    /// remedies.
    pub has_workers: bool,
    /// `None` where agents work in the user's checkout, or nothing comes home.
    pub branches: Option<Arc<dyn BranchSite>>,
    /// Called for every event, after it is on record.
    pub on_event: &'a (dyn Fn(&RunEvent) + Send + Sync),
    /// Called for events of a process that was killed, which it may not have shown. Who keeps count must know them again.
    pub on_missed: &'a (dyn Fn(&RunEvent) + Send + Sync),
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
    /// Sessions of the run that counted before the current one, and what they cost.
    before: (u32, Usd),
    /// What the inner plan asks for in the current session, without any remedy.
    asked: String,
    /// Whether the inner plan limits the sessions of its work itself.
    has_own_limits: bool,
    start: Start,
    /// Of the run before, until it is known whether the same work is next.
    earlier: Option<SavedRecovery>,
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

impl<'a> RecoveringPlan<'a> {
    /// Continues where an earlier process of this run stopped, or the run before, if that did not finish.
    pub async fn resume(inner: &'a mut dyn Plan, setup: RecoverySetup<'a>) -> Result<Self, Fault> {
        let saved = setup.memory.recovery().await?;
        // What a version with another format has saved is not worth a failed run.
        let saved: Option<SavedRecovery> = saved.and_then(|saved| serde_json::from_value(saved).ok());
        let (start, earlier) = match saved.is_some() {
            true => (Start::Resumed, None),
            false => (Start::New, setup.memory.earlier_recovery().await?),
        };
        let earlier = earlier.and_then(|earlier| serde_json::from_value(earlier).ok());
        let state = saved.unwrap_or_default();
        let recovery = Recovery::new(setup.budget, state.recovery.clone());
        let before = (state.iterations, state.spent);
        let asked = String::new();
        Ok(Self { inner, setup, state, recovery, before, asked, has_own_limits: false, start, earlier })
    }

    /// The first snapshot reads every file, so it is taken while the first session starts.
    async fn begin(&mut self) -> Result<(), Fault> {
        if matches!(self.start, Start::New) {
            let before = self.setup.load_status().await?.as_ref().map(settled_names).unwrap_or_default();
            let root = self.setup.root.clone();
            let reading = spawn_blocking(move || TreeSnapshot::take(&root, None).ok());
            self.start = Start::Reading(reading, before);
        }
        Ok(())
    }

    /// The loop goes on although nothing is left to try: another backend has taken over, which gets the remedies anew.
    async fn start_over(&mut self) -> Result<(), Fault> {
        self.recovery.escalated();
        self.state.stuck.end_recovery(true);
        (self.state.has_given_up, self.state.idle_sessions) = (false, 0);
        self.save_and_publish(&[]).await
    }

    fn next_remedy(
        &mut self,
        instruction: &Instruction,
        status: Option<&ProjectStatus>,
        failed_checks: Vec<FailedCheck>,
        events: &mut Vec<RunEvent>,
    ) -> PlanVerdict {
        self.state.stuck.end_recovery(false);
        let task = task(instruction, status);
        let is_deliverable = instruction.deliverable.as_deref() == Some(task.id.as_str());
        self.state.stuck_at = is_deliverable.then(|| task.id.to_string());
        let context = LoopContext {
            instruction: if is_deliverable { String::new() } else { self.asked.clone() },
            tried: self.state.stuck.snippets().map(str::to_owned).collect(),
            failed_checks,
            current: self.state.own.clone(),
            ladder: self.setup.ladder.clone(),
            can_branch: self.setup.branches.is_some() && is_deliverable,
            agents: if is_deliverable { self.agents_for(task.id.as_str()) } else { Vec::new() },
            ..LoopContext::default()
        };
        self.recovery.next(&task, context);
        self.note_attempts();
        if self.recovery.state().current().is_none() {
            self.state.has_given_up = true;
            return PlanVerdict::Stuck { idle_sessions: self.state.idle_sessions, tried: self.tried() };
        }
        events.extend(self.remedy_event());
        self.state.stuck.begin_recovery();
        PlanVerdict::Recovering
    }

    /// `None` while a model is being asked for its words.
    fn remedy_event(&self) -> Option<RunEvent> {
        let remedy = self.recovery.state().current()?;
        remedy.result.rewrite.is_none().then(|| RunEvent::Remedy {
            number: self.state.judged,
            name: remedy.name.clone(),
            idle_sessions: self.state.stuck.idle_sessions(),
            deliverable: self.state.stuck_at.clone(),
            prompt: remedy.result.new_prompt.clone().unwrap_or_default(),
            escalated_to: remedy.result.escalated_to.as_ref().map(ToString::to_string),
        })
    }

    /// Adds what the current remedy changes about a session.
    fn apply_remedy(&self, mut session: NextSession) -> NextSession {
        let Some(remedy) = self.recovery.state().current() else {
            return session;
        };
        let makes_attempts = self.recovery.makes_attempts();
        if makes_attempts {
            session = self.attempt_session(session);
        }
        let prompt = match self.branch().filter(|_| !makes_attempts) {
            Some(branch) => Some(&branch.prompt),
            None => remedy.result.new_prompt.as_ref(),
        };
        if let Some(prompt) = prompt {
            session.instruction = session.instruction.with_paragraph(prompt);
        }
        if let Some(Rung { backend, model }) = self.rung() {
            session.backends = vec![backend.clone()];
            session.model.clone_from(model);
            session.is_optional = true;
        }
        session
    }

    /// What works instead of the run's own backend and model; `None` if they work themselves.
    fn rung(&self) -> Option<&Rung> {
        let remedy = self.recovery.state().current()?;
        if self.recovery.makes_attempts() {
            return self.branch().map(|branch| &branch.rung);
        }
        let rung = self.branch().map(|branch| &branch.rung).or(remedy.result.escalated_to.as_ref())?;
        Some(rung).filter(|rung| **rung != self.state.own && self.setup.ladder.contains(rung))
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
        if !so_far.running.is_empty() {
            return self.inner.next(so_far).await;
        }
        let is_resumed = matches!(self.start, Start::Resumed);
        // Killed before its first session was judged.
        let is_unjudged = matches!(self.start, Start::New) && so_far.sessions > 0;
        if is_unjudged && self.judge_earlier(so_far, so_far.spent.cost).await? {
            self.earlier = None;
        }
        if is_resumed {
            self.state.last.iter().for_each(self.setup.on_missed);
            self.catch_up(so_far).await?;
        }
        // Only where a process was killed before the plan could give the work up.
        if is_resumed && self.state.has_given_up {
            self.abandon().await?;
        }
        let action = self.take_over_earlier(so_far).await?;
        self.before = (so_far.iterations, so_far.spent.cost);
        if let Some(session) = self.rewriting_session() {
            return Ok(NextAction::Session(session));
        }
        if let Some(session) = self.comparing_session().await? {
            return Ok(NextAction::Session(session));
        }
        self.prepare_workspace().await?;
        self.claim_chosen().await?;
        let action = match action {
            Some(action) => action,
            None => self.inner.next(so_far).await?,
        };
        let session = match action {
            NextAction::Session(session) => session,
            other @ (NextAction::Done(_) | NextAction::Wait) => return Ok(other),
        };
        if session.worker > 0 {
            return Ok(NextAction::Session(session));
        }
        self.asked.clone_from(&session.instruction.text);
        self.has_own_limits = session.stuck_after.is_some();
        if let Some(stuck_after) = session.stuck_after {
            self.state.stuck.set_stuck_after(stuck_after);
        }
        self.begin().await?;
        match (self.state.has_given_up, is_resumed) {
            (true, true) => return Ok(NextAction::Done(self.stuck_outcome())),
            (true, false) => self.start_over().await?,
            (false, _) => {}
        }
        // Only where a process was killed: otherwise the remedy was chosen when the session was judged.
        if self.state.stuck.state() == StuckState::Stuck {
            let (status, mut events) = (self.setup.load_status().await?, Vec::new());
            let verdict = self.next_remedy(&session.instruction, status.as_ref(), Vec::new(), &mut events);
            self.save_and_publish(&events).await?;
            if let PlanVerdict::Stuck { .. } = verdict {
                // As if the process had been killed now.
                self.start = Start::Resumed;
                return self.next(so_far).await;
            }
            if let Some(session) = self.rewriting_session() {
                return Ok(NextAction::Session(session));
            }
            self.prepare_workspace().await?;
        }
        self.hold_claims();
        Ok(NextAction::Session(self.apply_remedy(session)))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        if finished.instruction.name == Phase::Rewriting {
            return self.judge_rewriting(finished).await;
        }
        if finished.instruction.name == Phase::Comparison {
            return self.judge_comparison(finished).await;
        }
        let verdict = self.inner.judge(finished).await?;
        if finished.worker > 0 {
            return self.judge_worker(finished, verdict).await;
        }
        self.note(finished);
        let is_of_rung = self.rung().is_some();
        if is_of_rung {
            self.note_unusable(finished);
        }
        match (&finished.outcome, &verdict) {
            (
                SessionEnd::Completed | SessionEnd::MaxTurns | SessionEnd::Stuck { .. },
                PlanVerdict::Progressed | PlanVerdict::Idle | PlanVerdict::Done(_),
            ) => self.judge_progress(finished, verdict).await,
            (SessionEnd::ExecutionError { fault }, _) if is_of_rung => {
                self.judge_failed_rung(finished, &fault.message).await
            }
            (SessionEnd::QuotaExceeded { .. }, _) if is_of_rung => {
                self.judge_failed_rung(finished, "its quota is used up.").await
            }
            // It failed or was stopped, so it says nothing about the work; the remedy gets another session.
            _ if self.recovery.state().current().is_some() => {
                self.save_and_publish(&[]).await.map(|()| verdict)
            }
            _ => Ok(verdict),
        }
    }

    /// Other work gets all remedies anew.
    async fn abandon(&mut self) -> Result<bool, Fault> {
        if !self.inner.abandon().await? {
            return Ok(false);
        }
        self.recovery.start_over();
        self.state.stuck.end_recovery(true);
        (self.state.has_given_up, self.state.idle_sessions) = (false, 0);
        self.save_and_publish(&[]).await.map(|()| true)
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        self.leave_exploration().await?;
        self.claim_chosen().await?;
        self.inner.confirm_passed().await
    }

    async fn ended(&mut self) -> Result<(), Fault> {
        self.leave_exploration().await?;
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
