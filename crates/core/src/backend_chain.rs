//! BackendChain: the backends of a run, in the order in which they step in for one another.

use crate::agent::Backend;
use crate::fault::Layer;
use crate::instruction::Phase;
use crate::outcome::RunOutcome;

/// The model for planning sessions and the model for all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// For initializer and sync.
    pub plan: String,
    /// For coding and verify.
    pub work: String,
}

impl Models {
    /// The model for an instruction.
    pub fn choose(&self, name: Phase) -> String {
        if name.is_planning() { self.plan.clone() } else { self.work.clone() }
    }
}

/// A backend and the models that it works with.
#[derive(Clone)]
pub struct ChainEntry<'a> {
    /// Opens the agents.
    pub backend: &'a dyn Backend,
    /// Their models.
    pub models: Models,
}

/// The backends of a run; never empty.
pub struct BackendChain<'a> {
    current: ChainEntry<'a>,
    waiting: std::vec::IntoIter<ChainEntry<'a>>,
    reviewer: Option<ChainEntry<'a>>,
}

impl<'a> BackendChain<'a> {
    /// One who works, and others who wait to step in.
    pub fn new(first: ChainEntry<'a>, others: Vec<ChainEntry<'a>>) -> Self {
        Self { current: first, waiting: others.into_iter(), reviewer: None }
    }

    /// The same backend_chain, with one who looks at what the others have built.
    #[must_use]
    pub fn reviewed_by(self, reviewer: Option<ChainEntry<'a>>) -> Self {
        Self { reviewer, ..self }
    }

    /// The backend for a phase.
    pub fn choose(&self, name: Phase) -> &ChainEntry<'a> {
        match (name, &self.reviewer) {
            (Phase::Review, Some(reviewer)) => reviewer,
            (_, _) => &self.current,
        }
    }

    /// Who works.
    pub fn current(&self) -> &ChainEntry<'a> {
        &self.current
    }

    /// Whether somebody waits to step in.
    pub fn has_others(&self) -> bool {
        self.waiting.len() > 0
    }

    /// Has the next one step in, if the run would end for a reason that is not theirs. Returns who has stepped down.
    pub fn next_after(&mut self, outcome: &RunOutcome) -> Option<ChainEntry<'a>> {
        if !is_personal(outcome) {
            return None;
        }
        let next = self.waiting.next()?;
        Some(std::mem::replace(&mut self.current, next))
    }
}

/// True for an end that is due to one backend: its quota, its login, its failures.
fn is_personal(outcome: &RunOutcome) -> bool {
    match outcome {
        RunOutcome::QuotaExceeded { .. } | RunOutcome::Outage { .. } => true,
        RunOutcome::Failed { fault } | RunOutcome::MaxRetriesExceeded { fault, .. } => match fault.layer {
            Layer::Config | Layer::Model | Layer::Agent => true,
            Layer::Store
            | Layer::Plan
            | Layer::System
            | Layer::Lifecycle
            | Layer::Loop
            | Layer::Completion
            | Layer::Prompt => false,
        },
        _ => false,
    }
}
