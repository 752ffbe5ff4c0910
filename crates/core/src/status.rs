//! The aggregate of all deliverables and the rules for changing it.
//!
//! Pure: a change either returns what changed, or a refusal and leaves everything as it was. The store writes
//! it to disk.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::check::{Assurance, CheckAuthor, Finding, Review};
use crate::deliverable::{Deliverable, DeliverableStatus, NewDeliverable};
use crate::fault::Fault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStatus {
    /// Date of the first write, in UTC.
    pub created_at: Date,
    /// Date of the last write, in UTC.
    pub updated_at: Date,
    /// In order of priority.
    pub deliverables: Vec<Deliverable>,
}

/// A change of a deliverable's status, as reported in notifications and in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    pub deliverable_id: String,
    pub description: String,
    /// `None` for a new deliverable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<DeliverableStatus>,
    pub new: DeliverableStatus,
    /// What blocks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How well a status of passed is supported, in words. `None` where nothing examines claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<String>,
}

/// Why a change was refused. The message is shown to the agent; the code is stable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Validation(String),
    #[error("{0}")]
    DuplicateId(String),
    #[error("{0}")]
    ChecksFailed(String),
    #[error("Deliverable with ID \"{0}\" not found")]
    NotFound(String),
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Validation(_) => "VALIDATION_ERROR",
            Self::DuplicateId(_) => "DUPLICATE_ID",
            Self::ChecksFailed(_) => "CHECKS_FAILED",
            Self::NotFound(_) => "NOT_FOUND",
        }
    }
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Counts of active deliverables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub total: usize,
    pub passed: usize,
    /// Part of `passed` that our checks verified; the rest is claimed.
    #[serde(default)]
    pub verified: usize,
    /// Part of `verified` for which only checks of the builder count.
    #[serde(default)]
    pub verified_by_builder: usize,
    /// Part of `verified` on a sandbox layer that does not enforce everything.
    #[serde(default)]
    pub verified_partially: usize,
    /// Part of `verified` that has criteria which no check covers.
    #[serde(default)]
    pub with_unchecked_criteria: usize,
    /// Part of `passed` that a reviewer doubts.
    #[serde(default)]
    pub doubted: usize,
    pub blocked: usize,
}

impl Tally {
    /// True if at least one deliverable passed and all others passed or are blocked.
    pub fn all_achievable_passed(self) -> bool {
        self.passed > 0 && self.passed + self.blocked == self.total
    }

    /// True if there are deliverables and all of them are blocked.
    pub fn all_blocked(self) -> bool {
        self.total > 0 && self.blocked == self.total
    }

    /// Passed according to an agent only.
    pub fn claimed(self) -> usize {
        self.passed - self.verified
    }
}

impl ProjectStatus {
    pub fn empty(today: Date) -> Self {
        Self { created_at: today, updated_at: today, deliverables: Vec::new() }
    }

    /// Deliverables that are not deprecated.
    pub fn active(&self) -> impl Iterator<Item = &Deliverable> {
        self.deliverables.iter().filter(|deliverable| deliverable.is_active())
    }

    pub fn tally(&self) -> Tally {
        self.active().fold(Tally::default(), |mut tally, deliverable| {
            tally.total += 1;
            match deliverable.status {
                DeliverableStatus::Pending => {}
                DeliverableStatus::Passed => {
                    tally.passed += 1;
                    let is_verified = deliverable.assurance() == Some(Assurance::Verified);
                    if let Some(finding) = deliverable.finding.as_ref().filter(|_| is_verified) {
                        tally.verified += 1;
                        tally.verified_partially += usize::from(finding.partial_layer.is_some());
                        tally.verified_by_builder += usize::from(finding.checks_by == CheckAuthor::Builder);
                        tally.with_unchecked_criteria += usize::from(finding.unchecked.is_some());
                    }
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
        for item in &batch {
            self.check_dependencies(item, &batch)?;
        }
        let changes = batch.into_iter().map(|item| {
            let change = StatusChange {
                deliverable_id: item.id.clone(),
                description: on_one_line(&item.description),
                previous: None,
                new: DeliverableStatus::Pending,
                reason: None,
                assurance: None,
            };
            self.deliverables.push(Deliverable {
                id: item.id,
                description: on_one_line(&item.description),
                acceptance_criteria: item.acceptance_criteria.iter().map(|text| on_one_line(text)).collect(),
                status: DeliverableStatus::Pending,
                blocked_reason: None,
                deprecated_at: None,
                finding: None,
                review: None,
                order: item.order,
            });
            change
        });
        Ok(changes.collect())
    }

    /// What a new deliverable depends on must be there, and must not wait for it in turn.
    fn check_dependencies(&self, item: &NewDeliverable, batch: &[NewDeliverable]) -> Result<(), Refusal> {
        let depends_of = |id: &str| {
            let new = batch.iter().find(|new| new.id == id).map(|new| &new.order);
            new.or_else(|| self.find(id).map(|known| &known.order))
                .map(|order| order.depends.iter().flatten())
        };
        let mut seen: Vec<&String> = Vec::new();
        let mut next: Vec<&String> = item.order.depends.iter().flatten().collect();
        while let Some(id) = next.pop() {
            if *id == item.id {
                let message = format!("Deliverable \"{id}\" depends on itself, directly or through others");
                return Err(Refusal::Validation(message));
            }
            let Some(further) = depends_of(id) else {
                let message =
                    format!("Deliverable \"{}\" depends on \"{id}\", which does not exist", item.id);
                return Err(Refusal::Validation(message));
            };
            if !seen.contains(&id) {
                seen.push(id);
                next.extend(further);
            }
        }
        Ok(())
    }

    pub fn set_finding(&mut self, id: &str, finding: Finding) -> Result<(), Refusal> {
        self.find_mut(id)?.finding = Some(finding);
        Ok(())
    }

    pub fn set_review(&mut self, id: &str, review: Review) -> Result<(), Refusal> {
        self.find_mut(id)?.review = Some(review);
        Ok(())
    }

    /// Sets the status of one active deliverable and clears its finding and review.
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
        deliverable.blocked_reason = None;
        Ok(StatusChange {
            deliverable_id: deliverable.id.clone(),
            description: deliverable.description.clone(),
            previous: Some(previous),
            new: status,
            reason: None,
            assurance: None,
        })
    }

    /// Marks a deliverable as blocked. Without a reason nobody could resolve it, so an empty one is refused; the status is to be discarded then.
    pub fn block(&mut self, id: &str, reason: &str) -> Result<StatusChange, Refusal> {
        let change = self.set_status(id, DeliverableStatus::Blocked)?;
        if reason.is_empty() {
            return Err(Refusal::Validation(format!(
                "To block \"{id}\", give a `reason`: what is missing, who can provide it, and what to do then"
            )));
        }
        self.find_mut(id)?.blocked_reason = Some(reason.to_owned());
        Ok(StatusChange { reason: Some(reason.to_owned()), ..change })
    }

    /// Marks a deliverable as removed from the specification. Its record and status stay.
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

/// A line break would let an agent write lines of its own where descriptions are shown.
fn on_one_line(text: &str) -> String {
    match text.contains(char::is_control) {
        true => text
            .split(|char: char| char.is_control() || char == ' ')
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        false => text.to_owned(),
    }
}

fn validate(item: &NewDeliverable) -> Result<(), Refusal> {
    let blank = |text: &str| text.trim().is_empty();
    let problem = if blank(&item.id) {
        "Deliverable ID is required"
    } else if item.id.contains(char::is_control) {
        "Deliverable ID cannot contain line breaks or other control characters"
    } else if blank(&item.description) {
        "Deliverable description is required"
    } else if item.acceptance_criteria.is_empty() {
        "At least one acceptance criterion is required"
    } else if item.acceptance_criteria.iter().any(|criterion| blank(criterion)) {
        "Acceptance criteria cannot be empty"
    } else {
        return Ok(());
    };
    Err(Refusal::Validation(problem.into()))
}

#[cfg(test)]
mod tests;
