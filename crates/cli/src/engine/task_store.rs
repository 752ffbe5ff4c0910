//! The tasks of a roadmap as deliverables of the project: in status.json, with their checks in the registry, through the usual writers.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use autonoe_core::check::CheckOrigin;
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus, NewDeliverable};
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::ProtectedFiles;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal, StatusChange};
use autonoe_harness::harness_record::HarnessRecord;
use autonoe_harness::roadmap::{Task, TaskId};
use autonoe_harness::task_plan::TaskStore;
use autonoe_store::{CheckRegistry, Project, StatusStore};
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Recorded as what the deliverables were planned from, so that a later `autonoe run` plans SPEC.md.
const FROM_ROADMAP: &str = "roadmap";

pub struct RoadmapTasks {
    pub project: Project,
    pub status: Arc<StatusStore>,
    pub clock: Arc<dyn Clock>,
    /// Files that agents must not modify.
    pub guarded: ProtectedFiles,
    /// The roadmap where agents see it.
    pub roadmap: PathBuf,
    /// Whether blocked tasks begin anew with the first plan, as with `--fresh`.
    pub forgets_blocked: AtomicBool,
    /// Called for every change of a status.
    pub on_event: Box<dyn Fn(&RunEvent) + Send + Sync>,
}

/// The deliverables as far as they may land: a task that has passed is not done before its reviewer agrees.
pub struct LandableTasks {
    pub status: Arc<StatusStore>,
    pub harness: Arc<HarnessRecord>,
}

#[async_trait]
impl StatusReader for LandableTasks {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        let mut status = self.status.load().await?;
        let items = status.iter_mut().flat_map(|status| &mut status.deliverables);
        for item in items.filter(|item| item.status == DeliverableStatus::Passed) {
            if self.harness.is_open(&item.id) {
                item.status = DeliverableStatus::Pending;
            }
        }
        Ok(status)
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        self.status.ensure_writable().await
    }
}

impl RoadmapTasks {
    fn register_checks(&self, tasks: &[&Task], dropped: &[TaskId]) -> Result<(), Fault> {
        let mut registry = CheckRegistry::load(&self.project)?;
        let before = registry.proposed.clone();
        registry.proposed.retain(|check| {
            let is_concerned = |id: &TaskId| check.deliverable.as_deref() == Some(id.as_str());
            let is_replaced = tasks.iter().map(|task| &task.id).chain(dropped).any(is_concerned);
            check.origin != CheckOrigin::Roadmap || !is_replaced
        });
        registry.proposed.extend(tasks.iter().flat_map(|task| &task.checks).cloned());
        match registry.proposed == before {
            true => Ok(()),
            false => registry.save(&self.project),
        }
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut ProjectStatus, Date) -> Result<Vec<StatusChange>, Refusal> + Send,
    ) -> Result<(), Fault> {
        let changed = self.status.change(Box::new(|status, today| Ok(((), change(status, today)?)))).await;
        let ((), changes) = changed.map_err(|error| match error {
            ChangeError::Fault(fault) => fault,
            ChangeError::Refused(refusal) => {
                let message = format!("A task of the roadmap cannot be recorded: {refusal}.");
                Fault::permanent(FaultLayer::Store, "task_status", message)
            }
        })?;
        changes.into_iter().for_each(|change| (self.on_event)(&RunEvent::StatusChanged(change)));
        Ok(())
    }
}

#[async_trait]
impl StatusReader for RoadmapTasks {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        self.status.load().await
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        self.status.ensure_writable().await
    }
}

#[async_trait]
impl TaskStore for RoadmapTasks {
    async fn plan_tasks(&self, tasks: &[&Task], dropped: &[TaskId]) -> Result<(), Fault> {
        let before = self.status.load().await?;
        if before.is_none() && !tasks.is_empty() {
            self.project.set_planned_spec(FROM_ROADMAP)?;
        }
        self.register_checks(tasks, dropped)?;
        let before = before.unwrap_or_else(|| ProjectStatus::empty(Date::default()));
        let mut after = before.clone();
        let today = self.clock.now().to_zoned(TimeZone::UTC).date();
        // Nothing is written if nothing is new.
        let forgets_blocked = self.forgets_blocked.swap(false, Ordering::Relaxed);
        if apply(&mut after, tasks, dropped, forgets_blocked, today).is_ok() && after == before {
            return Ok(());
        }
        self.change(|status, today| apply(status, tasks, dropped, forgets_blocked, today)).await
    }

    async fn renew_checks(&self, tasks: &[&Task]) -> Result<Vec<TaskId>, Fault> {
        let registry = CheckRegistry::load(&self.project)?;
        let is_edited = |task: &Task| {
            let known = registry.proposed.iter().filter(|check| {
                check.origin == CheckOrigin::Roadmap && check.deliverable.as_deref() == Some(task.id.as_str())
            });
            !known.eq(&task.checks)
        };
        let edited: Vec<&Task> = tasks.iter().copied().filter(|task| is_edited(task)).collect();
        self.register_checks(&edited, &[])?;
        Ok(edited.into_iter().map(|task| task.id.clone()).collect())
    }

    async fn ever_passed(&self) -> Result<HashSet<String>, Fault> {
        self.status.ever_passed().await
    }

    async fn reopen(&self, id: &str) -> Result<(), Fault> {
        self.change(|status, _| Ok(vec![status.set_status(id, DeliverableStatus::Pending)?])).await
    }

    async fn block(&self, id: &str, reason: &str) -> Result<(), Fault> {
        self.change(|status, _| Ok(vec![status.block(id, reason)?])).await
    }

    fn protect_roadmap(&self) {
        let mut guarded = self.guarded.write().unwrap_or_else(PoisonError::into_inner);
        if !guarded.contains(&self.roadmap) {
            guarded.push(self.roadmap.clone());
        }
    }
}

fn apply(
    status: &mut ProjectStatus,
    tasks: &[&Task],
    dropped: &[TaskId],
    forgets_blocked: bool,
    today: Date,
) -> Result<Vec<StatusChange>, Refusal> {
    for id in dropped {
        if status.find(id.as_str()).is_some_and(|item| item.is_active()) {
            status.deprecate(id.as_str(), today)?;
        }
    }
    let mut new = Vec::new();
    for task in tasks {
        let wanted = deliverable(task);
        match status.deliverables.iter_mut().find(|item| item.id == wanted.id) {
            None => new.push(wanted),
            Some(item) if item.is_active() && item.status == DeliverableStatus::Pending => {
                (item.description, item.acceptance_criteria) =
                    (wanted.description, wanted.acceptance_criteria);
            }
            Some(item) if begins_anew(item, &wanted, forgets_blocked) => {
                (item.deprecated_at, item.finding, item.review) = (None, None, None);
                (item.status, item.blocked_reason) = (DeliverableStatus::Pending, None);
                (item.description, item.acceptance_criteria) =
                    (wanted.description, wanted.acceptance_criteria);
            }
            Some(_) => {}
        }
    }
    if new.is_empty() {
        return Ok(Vec::new());
    }
    // They are tasks of a file that the user has, not news.
    status.create(new).map(|_| Vec::new())
}

/// Whether a task that is not done is other work than the deliverable of its id says, as one of another roadmap or one that is back in its own.
fn begins_anew(item: &Deliverable, wanted: &NewDeliverable, forgets_blocked: bool) -> bool {
    !item.is_active()
        || item.description != wanted.description
        || item.acceptance_criteria != wanted.acceptance_criteria
        || (forgets_blocked && item.status == DeliverableStatus::Blocked)
}

fn deliverable(task: &Task) -> NewDeliverable {
    let criterion = task.success_criteria.as_ref().unwrap_or(&task.goal);
    NewDeliverable {
        id: task.id.to_string(),
        description: task.description.clone(),
        acceptance_criteria: vec![criterion.clone()],
        // The roadmap has it.
        order: Default::default(),
    }
}
