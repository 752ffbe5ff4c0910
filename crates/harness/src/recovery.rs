//! What is tried when a task is stuck: one remedy after another, within one budget, none twice.
//!
//! The order is: an attempt by each of several agents, if the user asked for that, a nudge, the task in other words, another model, three approaches, a person. What was tried is recorded before it is acted
//! on, so that a process that was killed continues the remedy that it was at.

mod approaches;
mod best_of;
mod escalation;
mod exploration;
mod mutation;
mod nudge;
mod person;
mod rung;
mod sections;
mod strategy;

use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;
use serde::{Deserialize, Serialize};

use crate::roadmap::Task;
use escalation::ESCALATION;

pub use approaches::{
    BranchOutcome, Comparison, Exploration, ExplorationBranch, ExplorationKind, ExplorationState, KeptBranch,
};
pub(crate) use best_of::BEST_OF;
pub use best_of::{BestOf, BestOfAgents, Choice, choose, comparisons_won, leaders, next_pair};
pub use escalation::ModelEscalator;
pub use exploration::BranchExplorer;
pub use mutation::{Mutation, PromptMutator};
pub use nudge::Nudge;
pub use person::AskPerson;
pub use rung::Rung;
pub use strategy::{
    AppliedRemedy, LoopContext, RecoveryResult, RecoveryStrategy, RemedyOutcome, RewriteRequest,
};

/// Sessions of all remedies of a task.
pub const RECOVERY_BUDGET: u32 = 20;

/// The part of a run's cost limit that all remedies of the run may use, unless the user says otherwise.
pub const RECOVERY_SHARE: f64 = 0.25;

/// What remedies may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecoveryBudget {
    /// Of one task.
    pub sessions: u32,
    /// Of the whole run; `None` if only sessions count.
    pub cost: Option<Usd>,
}

impl Default for RecoveryBudget {
    fn default() -> Self {
        Self { sessions: RECOVERY_BUDGET, cost: None }
    }
}

/// What a session of a remedy has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemedyStep {
    /// The remedy has more sessions.
    Continue,
    /// There was progress: the task is not stuck any more.
    Worked,
    /// Its sessions are used up; [`Recovery::next`] says what is tried now.
    Failed,
}

/// What was tried for a task; goes to the journal after every change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryState {
    applied: Vec<AppliedRemedy>,
    /// Remedies before this place were for an earlier time of being stuck, and may be tried again.
    since: usize,
    sessions_used: u32,
    cost_used: Usd,
}

impl RecoveryState {
    /// Everything that was ever tried, in order.
    pub fn applied(&self) -> &[AppliedRemedy] {
        &self.applied
    }

    /// The remedy that is being tried; `None` if the task is not recovering.
    pub fn current(&self) -> Option<&AppliedRemedy> {
        self.applied.last().filter(|remedy| remedy.outcome == RemedyOutcome::Open)
    }

    fn current_mut(&mut self) -> Option<&mut AppliedRemedy> {
        self.applied.last_mut().filter(|remedy| remedy.outcome == RemedyOutcome::Open)
    }

    /// Names of the remedies that were tried since the last one that worked, in order.
    pub fn tried(&self) -> impl Iterator<Item = &str> {
        let failed = self.applied.iter().rev().take_while(|remedy| remedy.outcome != RemedyOutcome::Worked);
        let names = failed.filter(|remedy| !remedy.result.needs_human).map(|remedy| remedy.name.as_str());
        names.collect::<Vec<_>>().into_iter().rev()
    }

    /// The money is that of one run.
    #[must_use]
    pub fn for_next_run(&self) -> Self {
        Self { cost_used: Usd::default(), ..self.clone() }
    }

    pub fn sessions_used(&self) -> u32 {
        self.sessions_used
    }

    /// What was tried, a line each, for the person who is asked in the end.
    pub fn summary(&self) -> Vec<String> {
        let line = |remedy: &AppliedRemedy| {
            let model =
                remedy.result.escalated_to.as_ref().map(|rung| format!(" to {rung}")).unwrap_or_default();
            let sessions = if remedy.used == 1 { "session" } else { "sessions" };
            format!("{}{model}: {} {sessions}, {}", remedy.name, remedy.used, remedy.outcome.words())
        };
        self.applied.iter().map(line).collect()
    }
}

/// Chooses the remedies of a task.
pub struct Recovery {
    strategies: Vec<Box<dyn RecoveryStrategy>>,
    budget: RecoveryBudget,
    state: RecoveryState,
}

impl Recovery {
    /// With the usual remedies; `state` is the one in the journal.
    pub fn new(budget: RecoveryBudget, state: RecoveryState) -> Self {
        let mut strategies: Vec<Box<dyn RecoveryStrategy>> = vec![Box::new(BestOfAgents), Box::new(Nudge)];
        for mutation in Mutation::ALL {
            strategies.push(Box::new(PromptMutator { mutation }));
        }
        strategies.push(Box::new(ModelEscalator));
        strategies.push(Box::new(BranchExplorer));
        strategies.push(Box::new(AskPerson));
        Self { strategies, budget, state }
    }

    pub fn state(&self) -> &RecoveryState {
        &self.state
    }

    /// The remedy that was being tried when the process ended, or the next one. Write the state to the journal before acting on it.
    pub fn next(&mut self, task: &Task, mut context: LoopContext) -> RecoveryResult {
        if let Some(current) = self.state.current() {
            return current.result.clone();
        }
        context.applied = self.state.applied[self.state.since..].to_vec();
        context.sessions_left = self.sessions_left();
        let chosen = self.strategies.iter().find(|strategy| strategy.can_apply(&context));
        let Some(strategy) = chosen else {
            return RecoveryResult::person();
        };
        let result = strategy.apply(task, &context);
        let sessions = strategy.sessions().min(context.sessions_left);
        let outcome = if result.needs_human { RemedyOutcome::Failed } else { RemedyOutcome::Open };
        let (name, exploration) = (strategy.name().to_owned(), ExplorationState::default());
        let applied = AppliedRemedy { name, result: result.clone(), sessions, used: 0, outcome, exploration };
        self.state.applied.push(applied);
        result
    }

    /// The words of the current remedy are final: those of a model, or our own if it has found none. What it cost counts; its session does
    /// not, since it did not work on the task.
    pub fn rewritten(&mut self, words: Option<&str>, cost: Usd) {
        self.state.cost_used += cost;
        if let Some(remedy) = self.state.current_mut() {
            remedy.result.rewritten(words);
        }
    }

    /// Records a session of the current remedy, if that is not an exploration.
    pub fn observe(&mut self, verdict: ProgressVerdict, cost: Usd) -> RemedyStep {
        self.count(cost);
        let is_used_up = self.sessions_left() == 0;
        let Some(remedy) = self.state.current_mut() else {
            return RemedyStep::Failed;
        };
        match verdict {
            ProgressVerdict::Progressed => self.end(RemedyOutcome::Worked),
            ProgressVerdict::Waited | ProgressVerdict::Idle
                if remedy.used < remedy.sessions && !is_used_up =>
            {
                RemedyStep::Continue
            }
            ProgressVerdict::Waited | ProgressVerdict::Idle => self.end(RemedyOutcome::Failed),
        }
    }

    /// Records a session of the branch that is being tried.
    pub fn observe_branch(&mut self, score: f64, cost: Usd) {
        self.count(cost);
        if let Some(remedy) = self.state.current_mut() {
            remedy.exploration.used += 1;
            remedy.exploration.score = remedy.exploration.score.max(score);
        }
    }

    /// The branch that is being tried cannot be tried any further.
    pub fn give_up_branch(&mut self) {
        if let Some(remedy) = self.state.current_mut() {
            remedy.exploration.used = u32::MAX;
        }
    }

    /// The approaches or attempts of the current remedy; `None` if it is another one.
    pub fn exploration(&self) -> Option<(&Exploration, &ExplorationState)> {
        let remedy = self.state.current()?;
        Some((remedy.result.branch.as_ref()?, &remedy.exploration))
    }

    pub fn exploration_mut(&mut self) -> Option<&mut ExplorationState> {
        self.state.current_mut().map(|remedy| &mut remedy.exploration)
    }

    /// The run has ended within an exploration: the next one tries the approaches that were not tried to their end, from the commits that it
    /// begins with. Returns whether there are sessions left for that.
    pub fn continue_exploration_later(&mut self) -> bool {
        let has_sessions = self.sessions_left() > 0 && !self.makes_attempts();
        let Some(remedy) = self.state.current_mut().filter(|_| has_sessions) else {
            return false;
        };
        let tried = std::mem::take(&mut remedy.exploration).outcomes.len();
        if let Some(exploration) = &mut remedy.result.branch {
            exploration.branches.drain(..tried.min(exploration.branches.len()));
        }
        true
    }

    /// Ends the current remedy.
    pub fn end(&mut self, outcome: RemedyOutcome) -> RemedyStep {
        if let Some(remedy) = self.state.current_mut() {
            remedy.outcome = outcome;
        }
        match outcome {
            RemedyOutcome::Open => RemedyStep::Continue,
            RemedyOutcome::Failed => RemedyStep::Failed,
            RemedyOutcome::Worked => {
                self.state.since = self.state.applied.len();
                RemedyStep::Worked
            }
        }
    }

    /// Another backend has taken over: everything may be tried again, within the same budget.
    pub fn escalated(&mut self) {
        let (name, result) = (ESCALATION.to_owned(), RecoveryResult { success: true, ..Default::default() });
        let (outcome, exploration) = (RemedyOutcome::Failed, ExplorationState::default());
        self.state.applied.push(AppliedRemedy { name, result, sessions: 0, used: 0, outcome, exploration });
        self.state.since = self.state.applied.len();
    }

    /// Other work begins, for which everything may be tried: the sessions are its own, the money is that of the run.
    pub fn start_over(&mut self) {
        self.state = RecoveryState { cost_used: self.state.cost_used, ..RecoveryState::default() };
    }

    pub fn sessions_left(&self) -> u32 {
        let is_spent = self.budget.cost.is_some_and(|cost| self.state.cost_used >= cost);
        if is_spent { 0 } else { self.budget.sessions.saturating_sub(self.state.sessions_used) }
    }

    fn count(&mut self, cost: Usd) {
        if let Some(remedy) = self.state.current_mut() {
            remedy.used += 1;
        }
        // Attempts that the user asked for have the limits of the run only.
        if !self.makes_attempts() {
            self.state.sessions_used = self.state.sessions_used.saturating_add(1);
            self.state.cost_used += cost;
        }
    }

    /// Whether several agents make an attempt each.
    pub fn makes_attempts(&self) -> bool {
        self.exploration().is_some_and(|(exploration, _)| exploration.kind == ExplorationKind::Attempts)
    }
}

#[cfg(test)]
mod tests;
