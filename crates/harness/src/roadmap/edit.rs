//! A roadmap that was edited while it runs: what is taken over, and what is refused because its task has begun.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{Roadmap, Task, TaskId};

/// What has happened to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEdit {
    Added(TaskId),
    Removed(TaskId),
    /// With the names of what has changed.
    Changed(TaskId, Vec<&'static str>),
}

impl fmt::Display for TaskEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(id) => write!(f, "{id} was added"),
            Self::Removed(id) => write!(f, "{id} was removed"),
            Self::Changed(id, what) => write!(f, "{} of {id} changed", what.join(", ")),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoadmapEdit {
    /// What the run uses from now on: the new roadmap, with tasks that have begun as they were.
    pub roadmap: Roadmap,
    pub taken: Vec<TaskEdit>,
    /// Changes of tasks that have begun. They stay as they were.
    pub refused: Vec<TaskEdit>,
}

/// `begun` are the tasks that are running or were run, and those that are done.
pub fn compare(old: &Roadmap, new: &Roadmap, begun: &HashSet<TaskId>) -> RoadmapEdit {
    let (old_tasks, new_tasks) = (by_id(old), by_id(new));
    let mut edit = RoadmapEdit { roadmap: new.clone(), taken: Vec::new(), refused: Vec::new() };
    for (place, task) in new.tasks.iter().enumerate() {
        let has_begun = begun.contains(&task.id);
        match old_tasks.get(&task.id) {
            None => edit.taken.push(TaskEdit::Added(task.id.clone())),
            Some(before) => {
                let mut what = differences(before, task);
                if has_begun {
                    // Boxes of such tasks are written by the run itself.
                    what.retain(|name| *name != "done");
                    edit.roadmap.tasks[place] = Task { line: task.line, ..(*before).clone() };
                }
                let kind = if has_begun { &mut edit.refused } else { &mut edit.taken };
                kind.extend((!what.is_empty()).then(|| TaskEdit::Changed(task.id.clone(), what)));
            }
        }
    }
    for (place, task) in old.tasks.iter().enumerate() {
        if new_tasks.contains_key(&task.id) {
            continue;
        }
        let removed = TaskEdit::Removed(task.id.clone());
        if begun.contains(&task.id) {
            edit.refused.push(removed);
            let place = place.min(edit.roadmap.tasks.len());
            edit.roadmap.tasks.insert(place, task.clone());
        } else {
            edit.taken.push(removed);
        }
    }
    edit
}

fn by_id(roadmap: &Roadmap) -> HashMap<&TaskId, &Task> {
    roadmap.tasks.iter().map(|task| (&task.id, task)).collect()
}

/// Whether what was tried for one of them was tried for the other.
pub fn is_same_work(old: &Task, new: &Task) -> bool {
    differences(old, new).iter().all(|name| ["done", "phase", "issue"].contains(name))
}

fn differences(old: &Task, new: &Task) -> Vec<&'static str> {
    let compared = [
        ("done", old.done == new.done),
        ("description", old.description == new.description),
        ("goal", old.goal == new.goal || (old.goal == old.description && new.goal == new.description)),
        ("phase", old.phase == new.phase),
        ("depends", old.depends == new.depends),
        ("timeout", old.timeout == new.timeout),
        ("success", old.success_criteria == new.success_criteria),
        ("cwd", old.cwd == new.cwd),
        ("cli", old.cli == new.cli),
        ("model", old.model == new.model),
        ("max_retries", old.max_retries == new.max_retries),
        ("max_iterations", old.max_iterations == new.max_iterations),
        ("stuck_after", old.stuck_after == new.stuck_after),
        ("check", old.checks == new.checks),
        ("issue", old.issue == new.issue),
    ];
    compared.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
}
