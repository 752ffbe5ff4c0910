//! Examiner: runs the checks of deliverables, and says what stands behind them.

use async_trait::async_trait;

use crate::check::{Check, Finding};
use crate::deliverable::Deliverable;
use crate::fault::Fault;
use crate::status::Refusal;

/// What came of the checks of one deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// What was found.
    pub finding: Finding,
    /// What the agent is told: of a failure everything it needs to fix it, else what was not checked.
    pub message: String,
}

/// What came of looking at everything once more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// Deliverables that had passed and are pending again.
    pub regressed: Vec<String>,
    /// Checks of the project as a whole that do not pass.
    pub project: Vec<String>,
}

impl Confirmation {
    /// Whether everything holds.
    pub fn is_clean(&self) -> bool {
        self.regressed.is_empty() && self.project.is_empty()
    }
}

/// What an agent proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// A check of SPEC.md that names no deliverable belongs to this one.
    FromSpec {
        /// The check's name.
        name: String,
        /// The deliverable.
        deliverable: String,
        /// The acceptance criteria that it covers, counted from 1.
        criteria: Vec<usize>,
    },
    /// A check of its own.
    New(Check),
}

/// Runs checks. Nobody who is judged by them has a hand in it.
#[async_trait]
pub trait Examiner: Send + Sync {
    /// Between sessions: what the last one proposed is frozen, and a check that is new is run once: it has to fail.
    async fn prepare(&self) -> Result<(), Fault>;

    /// Takes the checks that an agent proposes with new deliverables, or says what is wrong with them.
    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<Result<(), String>, Fault>;

    /// Runs the checks of one deliverable on what is committed.
    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault>;

    /// Looks at everything that passed once more. What does not hold is pending again.
    async fn confirm(&self) -> Result<Confirmation, Fault>;

    /// What a session of an independent look is told: the deliverables that want one, and what was changed. None if none does.
    async fn wants_review(&self) -> Result<Option<String>, Fault>;

    /// Writes down what came of an independent look, or says why not.
    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<Result<(), Refusal>, Fault>;

    /// What a session should know of the checks.
    async fn briefing(&self) -> Result<Option<String>, Fault>;
}
