//! What a run takes over from the one before it, if that did not finish the roadmap: otherwise each start would give a task all of its
//! attempts again.

use std::collections::BTreeMap;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::status::ProjectStatus;

use super::state::{BegunTask, SavedTasks};
use super::store::Standing;
use super::{DO_IT_AGAIN, TaskPlan};
use crate::roadmap::{Roadmap, Task, TaskId, is_same_work};
use crate::schedule::TaskStatus;

/// What the last run has left for this one.
#[derive(Default)]
pub(super) struct TakenOver {
    pub tasks: SavedTasks,
    /// What becomes of tasks that were edited since, a sentence each.
    pub edits: Vec<String>,
}

impl SavedTasks {
    /// What the next run continues with: all but the tasks that the user has edited meanwhile or has made pending again.
    pub(super) fn for_next_run(self, roadmap: &Roadmap, status: &ProjectStatus) -> TakenOver {
        let mut edits = Vec::new();
        let begun = self.begun.into_iter().filter_map(|(id, begun)| {
            let (task, item) = (roadmap.task(id.as_str())?, status.find(id.as_str())?);
            let is_open = Standing::of(task, item) == Standing::Open;
            edits.extend(begun.edit_words(task, is_open));
            Some((id, begun.for_next_run(task, is_open)?))
        });
        let begun: BTreeMap<TaskId, BegunTask> = begun.collect();
        let current = self.current.filter(|id| begun.contains_key(id));
        TakenOver { tasks: Self { judged: 0, current, begun, ..self }, edits }
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

    /// What the user's edit means; `None` if the task is as it was, or was not begun.
    fn edit_words(&self, now: &Task, is_open: bool) -> Option<String> {
        let id = &now.id;
        match (self.record.status, is_open) {
            _ if is_same_work(&self.task, now) => None,
            (TaskStatus::Completed, false) => {
                Some(format!("{id} was edited, but it is completed, so that has no effect. {DO_IT_AGAIN}"))
            }
            (TaskStatus::Pending | TaskStatus::Growth, _) => None,
            _ if now.done => None,
            _ => Some(format!("{id} was edited, so it begins anew, with all of its attempts.")),
        }
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
