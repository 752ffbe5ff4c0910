//! BackendChain: the backends of a run, in fallback order.

use crate::agent::Backend;
use crate::fault::FaultLayer;
use crate::instruction::Phase;
use crate::outcome::RunOutcome;

/// Models per kind of phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseModels {
    /// For initializer and sync.
    pub plan: String,
    /// For all other phases.
    pub work: String,
}

impl PhaseModels {
    pub fn choose(&self, phase: Phase) -> String {
        if phase.is_planning() { self.plan.clone() } else { self.work.clone() }
    }
}

/// A backend and its models.
#[derive(Clone)]
pub struct ChainEntry<'a> {
    pub backend: &'a dyn Backend,
    /// The same backend for each worker after the first one.
    pub others: Vec<&'a dyn Backend>,
    pub models: PhaseModels,
}

impl<'a> ChainEntry<'a> {
    pub fn new(backend: &'a dyn Backend, models: PhaseModels) -> Self {
        Self { backend, others: Vec::new(), models }
    }

    /// See [`crate::plan::NextSession::worker`].
    pub fn of_worker(&self, worker: usize) -> &'a dyn Backend {
        std::iter::once(self.backend).chain(self.others.iter().copied()).nth(worker).unwrap_or(self.backend)
    }
}

/// The backends of a run; never empty.
pub struct BackendChain<'a> {
    current: ChainEntry<'a>,
    fallbacks: std::vec::IntoIter<ChainEntry<'a>>,
    reviewer: Option<ChainEntry<'a>>,
    /// For sessions that ask for them by name.
    named: Vec<ChainEntry<'a>>,
}

impl<'a> BackendChain<'a> {
    pub fn new(first: ChainEntry<'a>, fallbacks: Vec<ChainEntry<'a>>) -> Self {
        Self { current: first, fallbacks: fallbacks.into_iter(), reviewer: None, named: Vec::new() }
    }

    /// Adds a backend for the review phase, which also finds other words when the run is stuck.
    #[must_use]
    pub fn reviewed_by(self, reviewer: Option<ChainEntry<'a>>) -> Self {
        Self { reviewer, ..self }
    }

    /// Adds backends for sessions that ask for them.
    #[must_use]
    pub fn with_named(self, named: Vec<ChainEntry<'a>>) -> Self {
        Self { named, ..self }
    }

    /// `preferred` are names in order of preference; without any that is known, the current backend works.
    pub fn choose(&self, phase: Phase, preferred: &[String]) -> &ChainEntry<'a> {
        let find = |name: &String| {
            let mut known = std::iter::once(&self.current).chain(&self.named).chain(&self.reviewer);
            known.find(|entry| entry.backend.name() == name)
        };
        let preferred = || preferred.iter().find_map(find);
        self.reviewer_in(phase).or_else(preferred).unwrap_or(&self.current)
    }

    fn reviewer_in(&self, phase: Phase) -> Option<&ChainEntry<'a>> {
        self.reviewer.as_ref().filter(|_| matches!(phase, Phase::Review | Phase::Rewriting))
    }

    pub fn current(&self) -> &ChainEntry<'a> {
        &self.current
    }

    /// The reviewer has no fallback: the others are the ones whose work it reviews.
    pub fn has_fallback(&self, phase: Phase) -> bool {
        self.reviewer_in(phase).is_none() && self.fallbacks.len() > 0
    }

    /// Switches to the next backend if the run would end for a reason that is specific to the one of this phase.
    /// Returns the backend that was replaced.
    pub fn fail_over(&mut self, phase: Phase, outcome: &RunOutcome) -> Option<ChainEntry<'a>> {
        if !self.has_fallback(phase) || !is_backend_specific(outcome) {
            return None;
        }
        let next = self.fallbacks.next()?;
        Some(std::mem::replace(&mut self.current, next))
    }
}

/// True if the outcome is caused by one backend: its quota, its login, its failures, being stuck.
pub(crate) fn is_backend_specific(outcome: &RunOutcome) -> bool {
    match outcome {
        // Another agent may find what this one does not.
        RunOutcome::QuotaExceeded { .. } | RunOutcome::Outage { .. } | RunOutcome::Stuck { .. } => true,
        RunOutcome::Failed { fault } | RunOutcome::MaxRetriesExceeded { fault, .. } => match fault.layer {
            FaultLayer::Config | FaultLayer::Model | FaultLayer::Agent => true,
            FaultLayer::Store
            | FaultLayer::Plan
            | FaultLayer::System
            | FaultLayer::Lifecycle
            | FaultLayer::Loop
            | FaultLayer::Completion
            | FaultLayer::Prompt => false,
        },
        _ => false,
    }
}
