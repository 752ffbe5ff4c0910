//! Which deliverables have come how far.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::check::{Assurance, Finding};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::status::ProjectStatus;
use serde::{Deserialize, Serialize};

/// Ids of deliverables that have passed, and of those that were verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub passed: BTreeSet<String>,
    pub verified: BTreeSet<String>,
    /// The commits on which they were verified, by id.
    #[serde(skip)]
    pub verified_on: BTreeMap<String, String>,
    /// The ids of the others, with the commits on which they have failed.
    #[serde(skip)]
    pub not_passed: BTreeMap<String, Option<String>>,
}

impl Settled {
    pub fn of(status: &ProjectStatus) -> Self {
        let passed = || status.active().filter(|item| item.status == DeliverableStatus::Passed);
        let is_verified = |assurance: Option<Assurance>| assurance == Some(Assurance::Verified);
        let verified = || passed().filter(|item| is_verified(item.assurance()));
        let on = |finding: &Finding| finding.commit.clone();
        let failed = |finding: &&Finding| finding.assurance == Assurance::Failed;
        Self {
            passed: passed().map(|item| item.id.clone()).collect(),
            verified: verified().map(|item| item.id.clone()).collect(),
            verified_on: verified()
                .filter_map(|item| Some((item.id.clone(), item.finding.as_ref().and_then(on)?)))
                .collect(),
            not_passed: status
                .active()
                .filter(|item| item.status != DeliverableStatus::Passed)
                .map(|item| (item.id.clone(), item.finding.as_ref().filter(failed).and_then(on)))
                .collect(),
        }
    }

    /// What both have.
    pub(crate) fn common(&self, other: &Self) -> Self {
        Self {
            passed: &self.passed & &other.passed,
            verified: &self.verified & &other.verified,
            verified_on: BTreeMap::new(),
            not_passed: BTreeMap::new(),
        }
    }
}
