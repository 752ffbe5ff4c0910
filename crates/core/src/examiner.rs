//! Examiner: runs the checks of deliverables and decides how well their status is supported.

use async_trait::async_trait;

use crate::check::{Assurance, Check, Finding};
use crate::deliverable::Deliverable;
use crate::fault::Fault;
use crate::status::ChangeError;

/// Result of running the checks of one deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    pub finding: Finding,
    /// Checks that passed.
    pub passed: usize,
    /// For the agent: on failure everything it needs to fix the problem, otherwise what was not checked.
    pub message: String,
}

impl Examination {
    /// Whether no check has looked at the work, so that what is not committed counts too.
    pub fn is_unchecked(&self) -> bool {
        self.finding.assurance == Assurance::Claimed && self.passed == 0
    }

    pub fn has_failed(&self) -> bool {
        self.finding.assurance == Assurance::Failed
    }
}

/// Result of running the checks of several claims, and of what was finished before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Of each claim, up to the first that has failed.
    pub examinations: Vec<Examination>,
    /// What was finished before, and fails now.
    pub broken: Vec<FailedRecheck>,
}

/// A deliverable whose checks fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRecheck {
    pub id: String,
    /// The checks that fail, with their output.
    pub message: String,
    /// All of them have passed and failed on the same files before, so that they say nothing about what was changed.
    pub is_flaky: bool,
}

/// Result of running all checks once more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// Deliverables that had passed and are pending again.
    pub regressed: Vec<String>,
    /// Failed checks of the project as a whole.
    pub project: Vec<String>,
}

impl Confirmation {
    pub fn is_clean(&self) -> bool {
        self.regressed.is_empty() && self.project.is_empty()
    }
}

/// A check proposed by an agent for a deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// Assigns a check of SPEC.md that names no deliverable.
    FromSpec {
        name: String,
        deliverable: String,
        /// Acceptance criteria covered, counted from 1.
        criteria: Vec<usize>,
    },
    /// A new check.
    New(Check),
}

/// Runs checks. Agents have no influence on how.
#[async_trait]
pub trait Examiner: Send + Sync {
    /// Called between sessions: freezes the checks that the last session proposed and runs each new check
    /// once, since it must fail before the work begins.
    async fn prepare(&self) -> Result<(), Fault>;

    /// Registers checks that an agent proposes with new deliverables. A refusal says what is wrong with them.
    async fn propose(&self, ids: &[String], proposals: Vec<Proposal>) -> Result<(), ChangeError>;

    /// The user's checks whose deliverable does not exist or is deprecated, a clause each.
    async fn checks_without_deliverable(&self) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    /// Runs the checks of one deliverable on the last commit.
    async fn examine(&self, deliverable: &Deliverable) -> Result<Examination, Fault>;

    /// Runs the checks of several claims on the last commit, up to the first that fails, and if all pass those of what is `finished` once more.
    async fn examine_all(&self, claimed: &[&Deliverable], finished: &[String]) -> Result<Look, Fault> {
        let mut examinations = Vec::new();
        for deliverable in claimed {
            let examination = self.examine(deliverable).await?;
            let has_failed = examination.has_failed();
            examinations.push(examination);
            if has_failed {
                return Ok(Look { examinations, broken: Vec::new() });
            }
        }
        Ok(Look { examinations, broken: self.recheck(finished).await? })
    }

    /// Runs the checks of these deliverables once more, and changes no status. Returns those that fail.
    async fn recheck(&self, ids: &[String]) -> Result<Vec<FailedRecheck>, Fault>;

    /// Runs the checks of everything that passed once more. Deliverables that fail become pending again.
    async fn confirm(&self) -> Result<Confirmation, Fault>;

    /// Instructions for a review session: the deliverables to review and what was changed. `None` if nothing
    /// needs a review.
    async fn review_briefing(&self) -> Result<Option<String>, Fault>;

    /// Records the result of a review.
    async fn review(&self, id: &str, holds: bool, reason: String) -> Result<(), ChangeError>;

    /// What a coding session needs to know about the checks.
    async fn briefing(&self) -> Result<Option<String>, Fault>;
}

/// Makes the work of an agent available to the [`Examiner`].
#[async_trait]
pub trait ClaimPreparation: Send + Sync {
    /// Called before a claim is examined.
    async fn before_claim(&self, deliverable: &Deliverable) -> Result<(), ChangeError>;

    /// Called for a claim that no check has looked at: keeps what is not committed, or refuses the claim.
    async fn keep_uncommitted(&self, deliverable: &Deliverable) -> Result<(), ChangeError>;
}
