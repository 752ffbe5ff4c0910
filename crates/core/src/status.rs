//! The aggregate of all deliverables and the rules for changing it.
//!
//! Pure: a change takes the aggregate and today's date and either returns what changed or a
//! refusal and leaves everything as it was. Keeping it on disk is the store's work.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::check::{Assurance, Finding, Review};
use crate::deliverable::{Deliverable, DeliverableStatus, NewDeliverable};

/// All deliverables of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStatus {
    /// The day the file was first written, in UTC.
    pub created_at: Date,
    /// The day it was last written, in UTC.
    pub updated_at: Date,
    /// The deliverables, in the order of the specification's priorities.
    pub deliverables: Vec<Deliverable>,
}

/// A deliverable's status changed; what notifications and the journal tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    /// Which deliverable.
    pub deliverable_id: String,
    /// Its description.
    pub description: String,
    /// Where it stood; none if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<DeliverableStatus>,
    /// Where it stands now.
    pub new: DeliverableStatus,
}

/// Why a change was refused: the message is shown to the agent, the code is stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The input breaks a rule.
    #[error("{0}")]
    Validation(String),
    /// An id that exists already.
    #[error("{0}")]
    DuplicateId(String),
    /// Its checks do not pass.
    #[error("{0}")]
    ChecksFailed(String),
    /// No such deliverable.
    #[error("Deliverable with ID \"{0}\" not found")]
    NotFound(String),
}

impl Refusal {
    /// The stable code of this refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "VALIDATION_ERROR",
            Self::DuplicateId(_) => "DUPLICATE_ID",
            Self::ChecksFailed(_) => "CHECKS_FAILED",
            Self::NotFound(_) => "NOT_FOUND",
        }
    }
}

/// How many active deliverables stand where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Active deliverables.
    pub total: usize,
    /// Of these, passed.
    pub passed: usize,
    /// Of those that passed, verified: the others are claimed.
    #[serde(default)]
    pub verified: usize,
    /// Of those that passed, doubted by anyone who had an independent look.
    #[serde(default)]
    pub doubted: usize,
    /// Of these, blocked.
    pub blocked: usize,
}

impl Tally {
    /// True when something is achievable and all of it has passed (blocked ones aside).
    pub fn all_achievable_passed(self) -> bool {
        self.passed > 0 && self.passed + self.blocked == self.total
    }

    /// True when there is something and all of it is blocked.
    pub fn all_blocked(self) -> bool {
        self.total > 0 && self.blocked == self.total
    }

    /// Passed by an agent's word alone.
    pub fn claimed(self) -> usize {
        self.passed - self.verified
    }
}

impl ProjectStatus {
    /// A status with no deliverables yet.
    pub fn empty(today: Date) -> Self {
        Self { created_at: today, updated_at: today, deliverables: Vec::new() }
    }

    /// The deliverables the specification still asks for.
    pub fn active(&self) -> impl Iterator<Item = &Deliverable> {
        self.deliverables.iter().filter(|deliverable| deliverable.is_active())
    }

    /// Counts the active deliverables.
    pub fn tally(&self) -> Tally {
        self.active().fold(Tally::default(), |mut tally, deliverable| {
            tally.total += 1;
            match deliverable.status {
                DeliverableStatus::Pending => {}
                DeliverableStatus::Passed => {
                    tally.passed += 1;
                    tally.verified += usize::from(deliverable.assurance() == Some(Assurance::Verified));
                    tally.doubted +=
                        usize::from(deliverable.review.as_ref().is_some_and(|review| !review.holds));
                }
                DeliverableStatus::Blocked => tally.blocked += 1,
            }
            tally
        })
    }

    /// Finds a deliverable by id, deprecated or not.
    pub fn find(&self, id: &str) -> Option<&Deliverable> {
        self.deliverables.iter().find(|deliverable| deliverable.id == id)
    }

    /// Adds new deliverables as pending: all of them or none.
    pub fn create(&mut self, batch: Vec<NewDeliverable>) -> Result<Vec<StatusChange>, Refusal> {
        if batch.is_empty() {
            return Err(Refusal::Validation("At least one deliverable is required".into()));
        }
        for (position, item) in batch.iter().enumerate() {
            validate(item)?;
            if batch[..position].iter().any(|earlier| earlier.id == item.id) {
                return Err(Refusal::DuplicateId(format!("Duplicate ID \"{}\" in batch", item.id)));
            }
            if self.find(&item.id).is_some() {
                return Err(Refusal::DuplicateId(format!(
                    "Deliverable with ID \"{}\" already exists",
                    item.id
                )));
            }
        }
        let changes = batch.into_iter().map(|item| {
            let change = StatusChange {
                deliverable_id: item.id.clone(),
                description: item.description.clone(),
                previous: None,
                new: DeliverableStatus::Pending,
            };
            self.deliverables.push(Deliverable {
                id: item.id,
                description: item.description,
                acceptance_criteria: item.acceptance_criteria,
                status: DeliverableStatus::Pending,
                deprecated_at: None,
                finding: None,
                review: None,
            });
            change
        });
        Ok(changes.collect())
    }

    /// Writes down what was found when the checks of a deliverable were run.
    pub fn set_finding(&mut self, id: &str, finding: Finding) -> Result<(), Refusal> {
        self.find_mut(id)?.finding = Some(finding);
        Ok(())
    }

    /// Writes down what somebody else than the builder thinks of a deliverable.
    pub fn set_review(&mut self, id: &str, review: Review) -> Result<(), Refusal> {
        self.find_mut(id)?.review = Some(review);
        Ok(())
    }

    /// Sets the status of one active deliverable. What was found before is forgotten.
    pub fn set_status(&mut self, id: &str, status: DeliverableStatus) -> Result<StatusChange, Refusal> {
        let deliverable = self.find_mut(id)?;
        if !deliverable.is_active() {
            return Err(Refusal::Validation(format!(
                "Deliverable \"{id}\" is deprecated; its status no longer changes"
            )));
        }
        if deliverable.status == DeliverableStatus::Passed && status == DeliverableStatus::Blocked {
            return Err(Refusal::Validation(format!(
                "Deliverable \"{id}\" has passed and cannot be blocked; reset it to pending first"
            )));
        }
        let previous = std::mem::replace(&mut deliverable.status, status);
        deliverable.finding = None;
        deliverable.review = None;
        Ok(StatusChange {
            deliverable_id: deliverable.id.clone(),
            description: deliverable.description.clone(),
            previous: Some(previous),
            new: status,
        })
    }

    /// Marks a deliverable as gone from the specification. Its record and status stay.
    pub fn deprecate(&mut self, id: &str, today: Date) -> Result<&Deliverable, Refusal> {
        let deliverable = self.find_mut(id)?;
        if !deliverable.is_active() {
            return Err(Refusal::Validation(format!("Deliverable \"{id}\" is already deprecated")));
        }
        deliverable.deprecated_at = Some(today);
        Ok(deliverable)
    }

    fn find_mut(&mut self, id: &str) -> Result<&mut Deliverable, Refusal> {
        if id.trim().is_empty() {
            return Err(Refusal::Validation("Deliverable ID is required".into()));
        }
        self.deliverables
            .iter_mut()
            .find(|deliverable| deliverable.id == id)
            .ok_or_else(|| Refusal::NotFound(id.to_owned()))
    }
}

fn validate(item: &NewDeliverable) -> Result<(), Refusal> {
    let blank = |text: &str| text.trim().is_empty();
    let complaint = if blank(&item.id) {
        "Deliverable ID is required"
    } else if blank(&item.description) {
        "Deliverable description is required"
    } else if item.acceptance_criteria.is_empty() {
        "At least one acceptance criterion is required"
    } else if item.acceptance_criteria.iter().any(|criterion| blank(criterion)) {
        "Acceptance criteria cannot be empty"
    } else {
        return Ok(());
    };
    Err(Refusal::Validation(complaint.into()))
}

#[cfg(test)]
mod tests;
