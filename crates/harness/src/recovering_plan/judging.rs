//! What a session was: progress, a step of a remedy, or the failure of a backend that is not the run's own.

use autonoe_core::event::{ProgressVerdict, RunEvent};
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::plan::{Iteration, PlanVerdict, RunState};
use autonoe_core::status::ProjectStatus;
use tokio::task::spawn_blocking;

use super::earlier_run::work;
use super::exploring::EndedBranch;
use super::{RecoveringPlan, Start, settled_names};
use crate::progress::{SessionTrace, TreeSnapshot};
use crate::recovery::{RemedyOutcome, RemedyStep, Rung};
use crate::stuck::StuckState;

impl RecoveringPlan<'_> {
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
    pub(super) async fn judge_progress(
        &mut self,
        finished: &Iteration,
        verdict: PlanVerdict,
    ) -> Result<PlanVerdict, Fault> {
        let status = self.setup.load_status().await?;
        self.state.work = Some(work(&finished.instruction, status.as_ref()));
        let trace = self.trace(finished, status.as_ref()).await;
        let failed_checks = trace.failed_checks.clone();
        let report = self.state.progress.observe(trace);
        let has_settled = matches!(verdict, PlanVerdict::Progressed | PlanVerdict::Done(_));
        let progress = match &finished.outcome {
            _ if has_settled => ProgressVerdict::Progressed,
            SessionEnd::Stuck { .. } => ProgressVerdict::Idle,
            _ => report.verdict,
        };
        self.state.idle_sessions = if has_settled { 0 } else { self.state.idle_sessions.saturating_add(1) };
        let mut events =
            vec![RunEvent::Progress { number: finished.number, score: report.score, verdict: progress }];
        let is_branch = self.recovery.exploration().is_some() && !has_settled;
        let step = if is_branch {
            let score = if progress == ProgressVerdict::Idle { 0.0 } else { report.score };
            self.recovery.observe_branch(score, finished.spent.cost);
            let ended = EndedBranch { said: &finished.output.text, problem: None };
            Some(self.advance_exploration(&ended, &mut events).await?)
        } else {
            events.extend(self.branch_won());
            let remedy = self.recovery.state().current().is_some();
            remedy.then(|| self.recovery.observe(progress, finished.spent.cost))
        };
        // Whether an approach has led to something is decided in the end.
        let observed = if is_branch { ProgressVerdict::Idle } else { progress };
        let stuck = self.state.stuck.observe(observed, &finished.output.text);
        // A claim that the checks refuse, or nothing new.
        let has_failed = !has_settled && (!failed_checks.is_empty() || progress == ProgressVerdict::Idle);
        let begins_attempts =
            step.is_none() && has_failed && self.begins_attempts(&finished.instruction, &mut events);
        let verdict = match (step, stuck) {
            _ if matches!(verdict, PlanVerdict::Done(_)) => verdict,
            (None, _) if begins_attempts => {
                self.next_remedy(&finished.instruction, status.as_ref(), failed_checks, &mut events)
            }
            (Some(RemedyStep::Continue), _) => PlanVerdict::Recovering,
            (Some(RemedyStep::Failed), _) | (None, StuckState::Stuck) => {
                self.next_remedy(&finished.instruction, status.as_ref(), failed_checks, &mut events)
            }
            (Some(RemedyStep::Worked), _) => {
                self.state.stuck.end_recovery(true);
                verdict
            }
            // Otherwise ten sessions that settle nothing end it, whatever they changed.
            (None, _) if self.has_own_limits && progress == ProgressVerdict::Progressed => {
                PlanVerdict::Progressed
            }
            (None, StuckState::Progressing | StuckState::Warning | StuckState::Recovering) => verdict,
        };
        if has_settled {
            self.recovery.start_over();
        }
        self.save_and_publish(&events).await?;
        Ok(verdict)
    }

    /// A worker's deliverable has a limit of its own, so its sessions are not counted as idle ones of the run.
    pub(super) async fn judge_worker(
        &mut self,
        finished: &Iteration,
        verdict: PlanVerdict,
    ) -> Result<PlanVerdict, Fault> {
        // What failed for a worker is nothing that a session of the run has been told.
        drop(self.setup.failed_checks.of_session());
        self.state.judged = self.state.judged.max(finished.number);
        self.state.iterations += u32::from(finished.counts());
        self.state.spent += finished.spent.cost;
        self.save_and_publish(&[]).await?;
        Ok(match verdict {
            PlanVerdict::Idle => PlanVerdict::Recovering,
            other => other,
        })
    }

    /// Another backend than the run's could not work. That is none of the run's failures, and the remedy has failed.
    pub(super) async fn judge_failed_rung(
        &mut self,
        finished: &Iteration,
        why: &str,
    ) -> Result<PlanVerdict, Fault> {
        let message =
            format!("{}/{} could not work, so it is skipped: {why}", finished.backend, finished.model);
        let mut events = vec![RunEvent::Warning { message }];
        let step = if self.recovery.exploration().is_some() {
            self.recovery.observe_branch(0.0, finished.spent.cost);
            self.recovery.give_up_branch();
            let ended = EndedBranch { said: &finished.output.text, problem: Some(why) };
            self.advance_exploration(&ended, &mut events).await?
        } else {
            self.recovery.observe(ProgressVerdict::Idle, finished.spent.cost);
            self.recovery.end(RemedyOutcome::Failed)
        };
        let verdict = match step {
            RemedyStep::Continue => PlanVerdict::Recovering,
            RemedyStep::Worked => {
                self.state.stuck.end_recovery(true);
                PlanVerdict::Recovering
            }
            RemedyStep::Failed => {
                let status = self.setup.load_status().await?;
                self.next_remedy(&finished.instruction, status.as_ref(), Vec::new(), &mut events)
            }
        };
        self.save_and_publish(&events).await?;
        Ok(verdict)
    }

    /// Judges what a killed process has left unjudged.
    pub(super) async fn catch_up(&mut self, so_far: &RunState) -> Result<(), Fault> {
        self.start = Start::Done;
        let cost = Usd((so_far.spent.cost.0 - self.state.spent.0).max(0.0));
        let is_unjudged = so_far.iterations > self.state.iterations;
        if self.take_earlier_words(so_far, cost).await? || self.take_earlier_comparison(so_far).await? {
            return Ok(());
        }
        if self.judge_earlier(so_far, cost).await? || self.recovery.state().current().is_none() {
            return Ok(());
        }
        let status = self.setup.load_status().await?;
        let settled = status.as_ref().map(settled_names).unwrap_or_default();
        let mut events = Vec::new();
        let step = if self.state.progress.has_more_verified(&settled) {
            events.extend(self.branch_won());
            self.recovery.observe(ProgressVerdict::Progressed, cost)
        } else if !is_unjudged {
            return Ok(());
        } else if self.recovery.exploration().is_some() {
            self.recovery.observe_branch(0.0, cost);
            let last = self.setup.memory.last_session().await?.filter(|last| last.number > self.state.judged);
            self.state.judged = last.as_ref().map_or(self.state.judged, |last| last.number);
            let said = last.map(|last| last.output.text).unwrap_or_default();
            self.advance_exploration(&EndedBranch { said: &said, problem: None }, &mut events).await?
        } else {
            self.recovery.observe(ProgressVerdict::Idle, cost)
        };
        match step {
            RemedyStep::Continue => {}
            RemedyStep::Worked => {
                self.state.stuck.end_recovery(true);
                self.recovery.start_over();
            }
            RemedyStep::Failed => self.state.stuck.end_recovery(false),
        }
        (self.state.iterations, self.state.spent) = (so_far.iterations, so_far.spent.cost);
        self.save_and_publish(&events).await
    }

    /// Judges a session that ended just before its process was killed. Returns whether there was one, as far as its output is known.
    pub(super) async fn judge_earlier(&mut self, so_far: &RunState, cost: Usd) -> Result<bool, Fault> {
        let last = self.setup.memory.last_session().await?.filter(|last| last.number > self.state.judged);
        let ended_by_itself = |last: &Iteration| {
            matches!(last.outcome, SessionEnd::Completed | SessionEnd::MaxTurns | SessionEnd::Stuck { .. })
        };
        let is_of_run = |last: &Iteration| !self.setup.has_workers || last.instruction.step.is_none();
        let Some(mut last) = last.filter(ended_by_itself).filter(is_of_run) else {
            return Ok(false);
        };
        let status = self.setup.load_status().await?;
        let is_item = |id: &String| status.as_ref().is_some_and(|status| status.find(id).is_some());
        last.instruction.deliverable = last.instruction.step.clone().filter(is_item);
        last.spent.cost = cost;
        let settled = status.as_ref().map(settled_names).unwrap_or_default();
        if self.state.judged == 0 {
            // What was settled before is not known any more, but the session can only have settled its own work.
            let own = last.instruction.deliverable.as_ref().map(|id| format!("{id} "));
            let is_other = |name: &&String| own.as_ref().is_none_or(|own| !name.starts_with(own));
            self.state.progress.start(None, settled.iter().filter(is_other).cloned().collect());
        }
        let verdict = match self.state.progress.has_more_verified(&settled) {
            true => PlanVerdict::Progressed,
            false => PlanVerdict::Idle,
        };
        self.note(&last);
        (self.state.iterations, self.state.spent) = (so_far.iterations, so_far.spent.cost);
        self.judge_progress(&last, verdict).await.map(|_| true)
    }

    /// Remembers what a session means for the ones that follow.
    pub(super) fn note(&mut self, finished: &Iteration) {
        self.state.judged = finished.number;
        self.state.iterations = self.before.0 + u32::from(finished.counts());
        self.state.spent = self.before.1 + finished.spent.cost;
        let phase = finished.instruction.name;
        let is_work = !phase.is_planning() && !phase.only_asks() && phase != Phase::Review;
        if is_work && self.rung().is_none() {
            let (backend, model) = (finished.backend.clone(), Some(finished.model.clone()));
            self.state.own = Rung { backend, model };
        }
    }
}
