//! Deliverable: a piece of the specification with acceptance criteria.

use std::fmt;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::{Assurance, Finding, Review};

// One field instead of two flags, so that `passed` and `blocked` cannot both be true.
/// Where a deliverable stands.
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
    /// All of them, in the order messages name them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Passed, Self::Blocked];

    /// Whether the agents are done with it, for better or worse.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Pending => false,
            Self::Passed | Self::Blocked => true,
        }
    }

    /// Its name in tools and messages.
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
    /// Unique, never changed, e.g. `UI-001`.
    pub id: String,
    /// What it is.
    pub description: String,
    /// What must hold for it to pass.
    pub acceptance_criteria: Vec<String>,
    /// Where it stands.
    pub status: DeliverableStatus,
    /// The day it left the specification; it stays on record but no longer counts.
    pub deprecated_at: Option<Date>,
    /// What was found when its checks were last run.
    pub finding: Option<Finding>,
    /// What somebody else than the builder thinks of it.
    pub review: Option<Review>,
}

impl Deliverable {
    /// True while the specification still asks for it.
    pub fn is_active(&self) -> bool {
        self.deprecated_at.is_none()
    }

    /// What stands behind its status; none while there is nothing to say.
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
}

/// What is given to create a deliverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeliverable {
    /// Unique, never changed, e.g. `UI-001`.
    pub id: String,
    /// What a user gets.
    pub description: String,
    /// What must hold for it to pass.
    pub acceptance_criteria: Vec<String>,
}
