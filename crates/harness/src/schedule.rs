//! Which task is next: the first one in the file that is ready. If none is and some are left, the chains that they wait for.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::roadmap::{Roadmap, TaskId};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    /// It may be tried again.
    Failed,
    /// All of its attempts have failed.
    Blocked,
    /// Proposed by growth, not yet accepted.
    Growth,
}

impl TaskStatus {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::InProgress, Self::Completed, Self::Failed, Self::Blocked, Self::Growth];

    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Growth => "growth",
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Blocked)
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    pub status: TaskStatus,
    /// Attempts that have begun.
    pub attempts: u32,
}

/// What the harness does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Run(TaskId),
    /// Nothing can be run any more, but some tasks are not completed.
    Blocked {
        chains: Vec<BlockedChain>,
    },
    Done,
}

/// A task that cannot be run, and the tasks that it waits for, down to one that is blocked itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedChain {
    /// Never empty. The last one is the cause.
    pub tasks: Vec<TaskId>,
    /// Attempts of the cause, all of which have failed; 0 if it is blocked for another reason.
    pub attempts: u32,
}

impl fmt::Display for BlockedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, task) in self.tasks.iter().enumerate() {
            match place {
                0 => write!(f, "{task}")?,
                1 => write!(f, " waits for {task}")?,
                _ => write!(f, ", which waits for {task}")?,
            }
        }
        let which = if self.tasks.len() > 1 { ", which" } else { "" };
        match self.attempts {
            0 => write!(f, "{which} is blocked"),
            1 => write!(f, "{which} failed in its only attempt"),
            attempts => write!(f, "{which} failed in all of its {attempts} attempts"),
        }
    }
}

struct ScheduledTask {
    id: TaskId,
    /// Places of the tasks that it depends on.
    depends: Vec<usize>,
    attempts: u32,
    record: TaskRecord,
}

impl ScheduledTask {
    /// Whether it can be run once what it depends on is completed. One that is in progress was cut off.
    fn is_open(&self) -> bool {
        match self.record.status {
            TaskStatus::Pending | TaskStatus::InProgress => true,
            TaskStatus::Failed => self.record.attempts < self.attempts,
            TaskStatus::Completed | TaskStatus::Blocked | TaskStatus::Growth => false,
        }
    }

    fn is_completed(&self) -> bool {
        self.record.status == TaskStatus::Completed
    }
}

/// The tasks of a roadmap and how far each is.
pub struct Schedule {
    tasks: Vec<ScheduledTask>,
    places: HashMap<TaskId, usize>,
}

impl Schedule {
    /// Tasks whose box is checked are completed.
    pub fn new(roadmap: &Roadmap) -> Self {
        let depends = roadmap.dependency_places();
        let scheduled = |(task, depends): (&crate::roadmap::Task, Vec<usize>)| {
            let status = if task.done { TaskStatus::Completed } else { TaskStatus::Pending };
            let record = TaskRecord { status, attempts: 0 };
            ScheduledTask { id: task.id.clone(), depends, attempts: task.attempts(), record }
        };
        let tasks: Vec<ScheduledTask> = roadmap.tasks.iter().zip(depends).map(scheduled).collect();
        let places = tasks.iter().enumerate().map(|(place, task)| (task.id.clone(), place)).collect();
        Self { tasks, places }
    }

    /// Records how far a task is. One that is not in the roadmap any more is ignored.
    pub fn set(&mut self, id: &str, record: TaskRecord) {
        if let Some(place) = self.places.get(id) {
            self.tasks[*place].record = record;
        }
    }

    /// `None` if the roadmap has no such task.
    pub fn record(&self, id: &str) -> Option<TaskRecord> {
        self.places.get(id).map(|place| self.tasks[*place].record)
    }

    /// All tasks that can be run now, in the order of the file.
    pub fn ready(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.iter().filter(|task| self.is_ready(task)).map(|task| &task.id)
    }

    pub fn next(&self) -> Next {
        if let Some(id) = self.ready().next() {
            return Next::Run(id.clone());
        }
        let left: Vec<usize> = (0..self.tasks.len()).filter(|place| self.is_left(*place)).collect();
        match left.is_empty() {
            true => Next::Done,
            false => Next::Blocked { chains: left.into_iter().map(|place| self.chain(place)).collect() },
        }
    }

    /// Of the tasks that count, how many are completed: 0.0 to 1.0.
    pub fn progress(&self) -> f64 {
        let counted = self.tasks.iter().filter(|task| task.record.status != TaskStatus::Growth);
        let (all, completed) =
            counted.fold((0, 0), |(all, done), task| (all + 1, done + usize::from(task.is_completed())));
        if all == 0 { 0.0 } else { completed as f64 / all as f64 }
    }

    fn is_ready(&self, task: &ScheduledTask) -> bool {
        task.is_open() && task.depends.iter().all(|place| self.tasks[*place].is_completed())
    }

    fn is_left(&self, place: usize) -> bool {
        !matches!(self.tasks[place].record.status, TaskStatus::Completed | TaskStatus::Growth)
    }

    /// The way from a task to one that is blocked itself. It ends, since nothing is ready and no circle passes the parser.
    fn chain(&self, start: usize) -> BlockedChain {
        let mut path = vec![start];
        while let Some(last) = path.last().filter(|_| path.len() <= self.tasks.len()) {
            let task = &self.tasks[*last];
            let waits_for = task.depends.iter().find(|place| !self.tasks[**place].is_completed());
            match waits_for.filter(|_| task.is_open()) {
                Some(next) => path.push(*next),
                None => break,
            }
        }
        // One that has attempts left was blocked by its agent or by a person.
        let is_used_up = |cause: &&ScheduledTask| {
            matches!(cause.record.status, TaskStatus::Failed | TaskStatus::Blocked)
                && cause.record.attempts >= cause.attempts
        };
        let cause = path.last().map(|place| &self.tasks[*place]).filter(is_used_up);
        let attempts = cause.map_or(0, |cause| cause.record.attempts);
        BlockedChain { tasks: path.into_iter().map(|place| self.tasks[place].id.clone()).collect(), attempts }
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, Schedule, TaskRecord, TaskStatus};
    use crate::roadmap::{Roadmap, TaskId};

    const ROADMAP: &str = "## Tasks\n- [x] **a**: A\n- [ ] **d**: D\n  - depends: c\n- [ ] **b**: B\n  - depends: a\n  - max_retries: 2\n- [ ] **c**: C\n  - depends: b\n- [ ] **e**: E\n";

    fn schedule() -> Schedule {
        Schedule::new(&Roadmap::parse(ROADMAP, &[]).expect("a roadmap"))
    }

    fn set(schedule: &mut Schedule, id: &str, status: TaskStatus, attempts: u32) {
        schedule.set(id, TaskRecord { status, attempts });
    }

    #[test]
    fn tasks_run_in_the_order_of_the_file_once_they_are_ready() {
        let mut schedule = schedule();
        let mut order = Vec::new();
        while let Next::Run(id) = schedule.next() {
            order.push(id.to_string());
            set(&mut schedule, id.as_str(), TaskStatus::Completed, 1);
        }
        assert_eq!(order, ["b", "c", "d", "e"]);
        assert_eq!((schedule.next(), schedule.progress()), (Next::Done, 1.0));
    }

    #[test]
    fn a_failed_task_is_retried_within_its_limit_and_then_named_with_its_chain() {
        let mut schedule = schedule();
        set(&mut schedule, "b", TaskStatus::Failed, 1);
        assert_eq!(schedule.next(), Next::Run(TaskId::new("b")));
        set(&mut schedule, "b", TaskStatus::InProgress, 2);
        assert_eq!(schedule.next(), Next::Run(TaskId::new("b")), "it was cut off");
        set(&mut schedule, "b", TaskStatus::Failed, 2);
        assert_eq!(schedule.next(), Next::Run(TaskId::new("e")));
        set(&mut schedule, "e", TaskStatus::Completed, 1);
        let Next::Blocked { chains } = schedule.next() else { panic!("blocked") };
        let said: Vec<String> = chains.iter().map(ToString::to_string).collect();
        let expected = [
            "d waits for c, which waits for b, which failed in all of its 2 attempts",
            "b failed in all of its 2 attempts",
            "c waits for b, which failed in all of its 2 attempts",
        ];
        assert_eq!(said, expected);
        assert_eq!(schedule.progress(), 0.4);
    }

    #[test]
    fn nothing_idles_whatever_the_states_are() {
        for first in TaskStatus::ALL {
            for second in TaskStatus::ALL {
                let mut schedule = schedule();
                set(&mut schedule, "b", first, 2);
                set(&mut schedule, "c", second, 3);
                // Each answer brings the end nearer.
                for _ in 0..5 {
                    match schedule.next() {
                        Next::Run(id) => set(&mut schedule, id.as_str(), TaskStatus::Completed, 1),
                        Next::Blocked { chains } => assert!(!chains.is_empty()),
                        Next::Done => {}
                    }
                }
                assert!(!matches!(schedule.next(), Next::Run(_)), "{first:?} {second:?}");
            }
        }
    }
}
