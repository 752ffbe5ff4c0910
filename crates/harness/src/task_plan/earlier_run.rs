//! What a run takes over from the one before it, if that did not finish the roadmap: otherwise each start would give a task all of its
//! attempts again.

use std::collections::{BTreeMap, HashSet};

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::status::ProjectStatus;

use super::state::{BegunTask, SavedTasks};
use super::store::Standing;
use super::{DO_IT_AGAIN, TaskPlan};
use crate::roadmap::{Roadmap, Task, TaskId, is_same_work};
use crate::schedule::{TaskRecord, TaskStatus};

/// What the last run has left for this one.
#[derive(Default)]
pub(super) struct TakenOver {
    pub tasks: SavedTasks,
    /// What becomes of tasks that were edited since, a sentence each.
    pub edits: Vec<String>,
    /// Tasks whose box was not checked when it ended.
    pub without_box: HashSet<TaskId>,
}

impl SavedTasks {
    /// What the next run continues with: all but the tasks that the user has edited meanwhile or has made pending again.
    pub(super) fn for_next_run(self, roadmap: &Roadmap, status: &ProjectStatus) -> TakenOver {
        let mut edits = Vec::new();
        let is_without_box = |(id, begun): (&TaskId, &BegunTask)| (!begun.has_box).then(|| id.clone());
        let without_box = self.begun.iter().filter_map(is_without_box).collect();
        let begun = self.begun.into_iter().filter_map(|(id, begun)| {
            let (task, item) = (roadmap.task(id.as_str())?, status.find(id.as_str())?);
            let is_open = Standing::of(task, item) == Standing::Open;
            edits.extend(begun.edit_words(task, is_open));
            Some((id, begun.for_next_run(task, is_open)?))
        });
        let begun: BTreeMap<TaskId, BegunTask> = begun.collect();
        let current = self.current.filter(|id| begun.contains_key(id));
        TakenOver { tasks: Self { judged: 0, current, begun, ..self }, edits, without_box }
    }
}

impl BegunTask {
    /// `None` if the task begins anew.
    fn for_next_run(self, now: &Task, is_open: bool) -> Option<Self> {
        let is_same = is_same_work(&self.task, now);
        let (was_settled_before, continues) = match self.record.status {
            TaskStatus::Completed => (true, !is_open),
            TaskStatus::Blocked => (true, !is_open && is_same),
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Failed | TaskStatus::Growth => {
                (false, !now.done && is_same)
            }
        };
        continues.then(|| Self { task: now.clone(), was_settled_before, ..self })
    }

    /// Completed by an earlier run. If it turns out not to be, it gets all of its attempts again.
    fn adopted(self, task: Task) -> Self {
        let record = TaskRecord { status: TaskStatus::Completed, attempts: 0 };
        let (was_settled_before, has_box) = (true, true);
        Self { task, record, failure: None, was_settled_before, has_box, ..self }
    }

    /// What the user's edit means; `None` if the task is as it was, or was not begun.
    fn edit_words(&self, now: &Task, is_open: bool) -> Option<String> {
        let id = &now.id;
        match (self.record.status, is_open) {
            _ if is_same_work(&self.task, now) => None,
            // They decide, see `renew_checks`.
            (TaskStatus::Completed, false) if is_same_work(&self.with_checks_of(now), now) => None,
            (TaskStatus::Completed, false) => {
                Some(format!("{id} was edited, but it is completed, so that has no effect. {DO_IT_AGAIN}"))
            }
            (TaskStatus::Pending | TaskStatus::Growth, _) => None,
            _ if now.done => None,
            _ => Some(format!("{id} was edited, so it begins anew, with all of its attempts.")),
        }
    }

    fn with_checks_of(&self, now: &Task) -> Task {
        Task { checks: now.checks.clone(), ..self.task.clone() }
    }

    /// How far it is, as a clause; `None` if nothing is left to do.
    fn summary(&self) -> Option<String> {
        let (id, attempts, all) = (&self.task.id, self.record.attempts, self.task.attempts());
        match self.record.status {
            TaskStatus::InProgress => {
                Some(format!("{id} is in attempt {attempts} of {all}, after {} session(s)", self.sessions))
            }
            TaskStatus::Failed => Some(format!("{id} failed in {attempts} of {all} attempts")),
            TaskStatus::Blocked => Some(format!("{id} is blocked")),
            TaskStatus::Completed | TaskStatus::Pending | TaskStatus::Growth => None,
        }
    }
}

impl TaskPlan {
    /// A checked box of a task that an earlier run has completed is ours, and its deliverable says whether it is still true. Every other one
    /// is the user's word: tasks with an open deliverable, which is not to be done any more then, are returned.
    pub(super) async fn adopt_boxes(&mut self, without_box: &HashSet<TaskId>) -> Result<Vec<TaskId>, Fault> {
        let done: Vec<Task> =
            self.roadmap.tasks.iter().filter(|task| self.is_done_by_user(task)).cloned().collect();
        if done.is_empty() {
            return Ok(Vec::new());
        }
        let status = self.load_status().await?;
        let ever_passed = self.setup.store.ever_passed().await?;
        let states = self.setup.memory.load_all().await?.into_iter();
        // What a version with another format has saved is not worth a failed run.
        let states = states.filter_map(|state| serde_json::from_value::<SavedTasks>(state).ok());
        let mut last_known: BTreeMap<TaskId, BegunTask> = states.flat_map(|state| state.begun).collect();
        let mut dropped = Vec::new();
        for task in done {
            let Some(item) = status.find(task.id.as_str()).filter(|item| item.is_active()) else { continue };
            let is_ours = ever_passed.contains(task.id.as_str()) && !without_box.contains(&task.id);
            match Standing::of(&task, item) {
                Standing::Open if !is_ours => dropped.push(task.id),
                Standing::Open | Standing::Completed => {
                    let known = last_known.remove(&task.id).unwrap_or_else(|| BegunTask::new(&task));
                    self.state.begun.insert(task.id.clone(), known.adopted(task));
                }
                Standing::Unreviewed | Standing::Refuted | Standing::Blocked(_) => {}
            }
        }
        Ok(dropped)
    }

    /// Completed tasks are not planned again, but the checks that the user has edited since say whether they still are.
    pub(super) async fn renew_checks(&self) -> Result<(), Fault> {
        let completed =
            self.state.begun.values().filter(|begun| begun.record.status == TaskStatus::Completed);
        let completed: Vec<&Task> =
            completed.filter_map(|begun| self.roadmap.task(begun.task.id.as_str())).collect();
        let edited: Vec<String> =
            self.setup.store.renew_checks(&completed).await?.iter().map(ToString::to_string).collect();
        match edited.is_empty() {
            true => Ok(()),
            false => {
                let message =
                    format!("The checks of {} were edited, so they decide anew.", edited.join(", "));
                self.publish(RunEvent::Notice { message }).await
            }
        }
    }

    /// Saves what was taken over, so that a process that is killed now continues with the same, and says it.
    pub(super) async fn keep_taken_over(&self, edits: Vec<String>) -> Result<(), Fault> {
        self.save().await?;
        for message in edits {
            self.publish(RunEvent::Notice { message }).await?;
        }
        let open: Vec<String> = self.state.begun.values().filter_map(BegunTask::summary).collect();
        if open.is_empty() {
            return Ok(());
        }
        let message =
            format!("Continuing where the last run ended: {}. --fresh would begin anew.", open.join("; "));
        self.publish(RunEvent::Notice { message }).await
    }
}
