//! Where the tasks of a roadmap are kept: as deliverables of the same id, so that claims, checks and reports mean the same as in a run.

use std::collections::HashSet;

use async_trait::async_trait;
use autonoe_core::check::Assurance;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::fault::Fault;
use autonoe_core::plan::StatusReader;

use crate::roadmap::{Task, TaskId};

/// The deliverables of a roadmap's tasks.
#[async_trait]
pub trait TaskStore: StatusReader {
    /// Makes these tasks deliverables with their checks, or brings their deliverables up to date. `dropped` are tasks that are not to be
    /// done any more.
    async fn plan_tasks(&self, tasks: &[&Task], dropped: &[TaskId]) -> Result<(), Fault>;

    /// Replaces the checks of tasks that are not planned again, as far as the roadmap has others now. Returns these tasks.
    async fn renew_checks(&self, tasks: &[&Task]) -> Result<Vec<TaskId>, Fault>;

    /// Ids of all deliverables that have ever passed, also in earlier runs and those that are pending now.
    async fn ever_passed(&self) -> Result<HashSet<String>, Fault>;

    /// Makes a task pending again.
    async fn reopen(&self, id: &str) -> Result<(), Fault>;

    /// `reason` is a sentence.
    async fn block(&self, id: &str, reason: &str) -> Result<(), Fault>;

    /// Keeps agents from changing the roadmap. Called before each session.
    fn protect_roadmap(&self);
}

/// What a deliverable says about its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    /// Only an agent says that it is done, and there are criteria that a reviewer can judge.
    Unreviewed,
    /// A reviewer found that it is not done.
    Refuted,
    Completed,
    /// With the reason, if there is one.
    Blocked(Option<String>),
}

impl Standing {
    pub fn of(task: &Task, item: &Deliverable) -> Self {
        match item.status {
            DeliverableStatus::Pending => Self::Open,
            DeliverableStatus::Blocked => Self::Blocked(item.blocked_reason.clone()),
            DeliverableStatus::Passed => match &item.review {
                Some(review) if !review.holds => Self::Refuted,
                Some(_) => Self::Completed,
                None if needs_review(task, item) => Self::Unreviewed,
                None => Self::Completed,
            },
        }
    }
}

/// A task without checks and without criteria is done when its agent says so.
fn needs_review(task: &Task, item: &Deliverable) -> bool {
    let is_claimed = item.assurance() != Some(Assurance::Verified);
    is_claimed && task.checks.is_empty() && task.success_criteria.is_some()
}
