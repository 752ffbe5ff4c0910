//! What is tried when a task is stuck: one remedy after another, within one budget, none twice.
//!
//! The order is: a nudge, the task in other words, another model, three approaches at once, a person. What was tried is recorded before it
//! is acted on, so that a process that was killed continues the remedy that it was at.

mod escalation;
mod exploration;
mod mutation;
mod nudge;
mod person;
mod strategy;

use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;
use serde::{Deserialize, Serialize};

use crate::roadmap::Task;
use escalation::ESCALATION;

pub use escalation::{ModelEscalator, Rung};
pub use exploration::{BranchExplorer, BranchOutcome, Exploration, ExplorationBranch};
pub use mutation::{Mutation, PromptMutator};
pub use nudge::Nudge;
pub use person::AskPerson;
pub use strategy::{
    AppliedRemedy, LoopContext, NoRewriter, RecoveryResult, RecoveryStrategy, RemedyOutcome, RewriteRequest,
    Rewriter,
};

/// Sessions of all remedies of a task.
pub const RECOVERY_BUDGET: u32 = 20;

/// What all remedies of a task may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecoveryBudget {
    pub sessions: u32,
    /// `None` if only sessions count.
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

    /// Names of the remedies that were tried since the last one that worked, in order.
    pub fn tried(&self) -> impl Iterator<Item = &str> {
        let failed = self.applied.iter().rev().take_while(|remedy| remedy.outcome != RemedyOutcome::Worked);
        let names = failed.filter(|remedy| !remedy.result.needs_human).map(|remedy| remedy.name.as_str());
        names.collect::<Vec<_>>().into_iter().rev()
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
        let mut strategies: Vec<Box<dyn RecoveryStrategy>> = vec![Box::new(Nudge)];
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
    pub async fn next(
        &mut self,
        task: &Task,
        mut context: LoopContext,
        rewriter: &dyn Rewriter,
    ) -> RecoveryResult {
        if let Some(current) = self.state.current() {
            return current.result.clone();
        }
        context.applied = self.state.applied[self.state.since..].to_vec();
        context.sessions_left = self.sessions_left();
        let chosen = self.strategies.iter().find(|strategy| strategy.can_apply(&context));
        let Some(strategy) = chosen else {
            return RecoveryResult::person();
        };
        let result = strategy.apply(task, &context, rewriter).await;
        let sessions = strategy.sessions().min(context.sessions_left);
        let outcome = if result.needs_human { RemedyOutcome::Failed } else { RemedyOutcome::Open };
        let name = strategy.name().to_owned();
        self.state.applied.push(AppliedRemedy { name, result: result.clone(), sessions, used: 0, outcome });
        result
    }

    /// Records a session of the current remedy. The sessions of all branches count.
    pub fn observe(&mut self, verdict: ProgressVerdict, cost: Usd) -> RemedyStep {
        self.state.sessions_used = self.state.sessions_used.saturating_add(1);
        self.state.cost_used += cost;
        let is_used_up = self.sessions_left() == 0;
        let current = self.state.applied.last_mut().filter(|remedy| remedy.outcome == RemedyOutcome::Open);
        let Some(remedy) = current else {
            return RemedyStep::Failed;
        };
        remedy.used += 1;
        match verdict {
            ProgressVerdict::Progressed => {
                remedy.outcome = RemedyOutcome::Worked;
                self.state.since = self.state.applied.len();
                RemedyStep::Worked
            }
            ProgressVerdict::Waited | ProgressVerdict::Idle
                if remedy.used < remedy.sessions && !is_used_up =>
            {
                RemedyStep::Continue
            }
            ProgressVerdict::Waited | ProgressVerdict::Idle => {
                remedy.outcome = RemedyOutcome::Failed;
                RemedyStep::Failed
            }
        }
    }

    /// Another backend has taken over: everything may be tried again, within the same budget.
    pub fn escalated(&mut self) {
        let (name, result) = (ESCALATION.to_owned(), RecoveryResult { success: true, ..Default::default() });
        let outcome = RemedyOutcome::Failed;
        self.state.applied.push(AppliedRemedy { name, result, sessions: 0, used: 0, outcome });
        self.state.since = self.state.applied.len();
    }

    /// A person has taken care of it: everything may be tried again, with a new budget.
    pub fn start_over(&mut self) {
        self.state.since = self.state.applied.len();
        (self.state.sessions_used, self.state.cost_used) = (0, Usd::ZERO);
    }

    fn sessions_left(&self) -> u32 {
        let is_spent = self.budget.cost.is_some_and(|cost| self.state.cost_used >= cost);
        if is_spent { 0 } else { self.budget.sessions.saturating_sub(self.state.sessions_used) }
    }
}

#[cfg(test)]
mod tests;
