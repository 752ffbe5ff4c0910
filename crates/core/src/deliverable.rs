//! Deliverable: a piece of the specification with acceptance criteria.

use std::fmt;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::{Assurance, Finding, Review};

// One field instead of two flags, so that `passed` and `blocked` cannot both be true.
/// The status of a deliverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliverableStatus {
    /// Not done yet, or found broken after it had passed.
    Pending,
    /// All acceptance criteria were verified.
    Passed,
    /// External constraints prevent completion: credentials, services, hardware, network.
    Blocked,
}

impl DeliverableStatus {
    /// In the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Passed, Self::Blocked];

    /// Whether no more work is planned on it.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Pending => false,
            Self::Passed | Self::Blocked => true,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Passed => "passed",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for DeliverableStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A piece of the specification with acceptance criteria.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliverable {
    /// Unique and never changed, e.g. `UI-001`.
    pub id: String,
    pub description: String,
    pub acceptance_criteria: Vec<String>,
    pub status: DeliverableStatus,
    /// What blocks it, who can resolve that, and how to continue then; `None` if the agent did not say, and unless it is blocked.
    pub blocked_reason: Option<String>,
    /// Date it left the specification. It stays on record but no longer counts.
    pub deprecated_at: Option<Date>,
    /// Result of the last run of its checks.
    pub finding: Option<Finding>,
    pub review: Option<Review>,
    pub order: BuildOrder,
}

/// When a deliverable can be built, as far as the planner said so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildOrder {
    /// Ids of the deliverables that must have passed before; `None` if nothing was said.
    pub depends: Option<Vec<String>>,
    /// Files and directories that it changes, such as `src/api`; empty if nothing was said.
    pub touches: Vec<String>,
}

impl Deliverable {
    pub fn is_active(&self) -> bool {
        self.deprecated_at.is_none()
    }

    /// `None` if there is nothing to report: pending without a failed check, or blocked.
    pub fn assurance(&self) -> Option<Assurance> {
        let found = self.finding.as_ref().map(|finding| finding.assurance);
        match self.status {
            DeliverableStatus::Passed => Some(match found {
                Some(Assurance::Verified) => Assurance::Verified,
                Some(Assurance::Claimed | Assurance::Failed) | None => Assurance::Claimed,
            }),
            DeliverableStatus::Pending => found.filter(|found| *found == Assurance::Failed),
            DeliverableStatus::Blocked => None,
        }
    }

    /// How well its status is supported, in words: "verified on Landlock". `None` as for [`Self::assurance`].
    pub fn assurance_words(&self) -> Option<String> {
        Some(match self.assurance()? {
            Assurance::Verified => {
                let qualification = self.finding.as_ref().map(Finding::qualification).unwrap_or_default();
                format!("{}{qualification}", Assurance::Verified)
            }
            assurance @ (Assurance::Claimed | Assurance::Failed) => assurance.to_string(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeliverable {
    /// Unique and never changed, e.g. `UI-001`.
    pub id: String,
    pub description: String,
    pub acceptance_criteria: Vec<String>,
    pub order: BuildOrder,
}
