//! `state.db` while the harness runs. Others can write there too: what they damage is put aside and written anew from what this process
//! knows, and the run goes on.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::control::HarnessDirectory;
use crate::roadmap::Task;
use crate::schedule::TaskRecord;
use crate::state_view::{DAMAGED, Execution, StateFound, StateManager, StateViewError};

/// Attempts that are kept to be written again.
const MAX_ATTEMPTS: usize = 10_000;

pub(crate) struct KeptState {
    harness: Arc<HarnessDirectory>,
    /// `None` if it could not be opened again.
    state: Option<StateManager>,
    /// The file that is open.
    file: Option<(u64, u64)>,
    roadmap: PathBuf,
    /// In the order in which they were saved first.
    tasks: Vec<KnownTask>,
    attempts: Vec<KnownAttempt>,
    /// Sessions that looked for further tasks.
    growth_sessions: u32,
    /// What a person should know, once.
    notice: Option<String>,
    has_said: bool,
}

struct KnownTask {
    task: Task,
    record: TaskRecord,
    output: Option<String>,
    error: Option<String>,
}

struct KnownAttempt {
    task_id: String,
    attempt: u32,
    success: bool,
    output: String,
    error: Option<String>,
    duration: Duration,
    ended: Timestamp,
}

impl KeptState {
    /// The second value is a sentence about what was found.
    pub(crate) fn open(harness: &Arc<HarnessDirectory>) -> Result<(Self, Option<String>), StateViewError> {
        let (state, found) = StateManager::open(harness)?;
        let mut kept = Self {
            harness: Arc::clone(harness),
            state: Some(state),
            file: None,
            roadmap: PathBuf::new(),
            tasks: Vec::new(),
            attempts: Vec::new(),
            growth_sessions: 0,
            notice: None,
            has_said: false,
        };
        kept.file = kept.identity();
        let sentence = (found == StateFound::Damaged).then(|| kept.damaged());
        Ok((kept, sentence))
    }

    /// A sentence about a view that was damaged meanwhile; once.
    pub(crate) fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Writes all tasks.
    pub(crate) fn plan<'a>(
        &mut self,
        roadmap: &Path,
        tasks: impl Iterator<Item = (&'a Task, TaskRecord)>,
    ) -> Result<(), StateViewError> {
        roadmap.clone_into(&mut self.roadmap);
        for (task, record) in tasks {
            self.know(task, record, None, None);
        }
        let all = self.tasks.iter().map(|known| (&known.task, known.record));
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(|state| {
            state.init_harness(&self.roadmap, Timestamp::now())?;
            state.save_tasks(all)
        });
        self.rebuilt_unless(written)
    }

    /// A task has begun, or an attempt has ended.
    pub(crate) fn task_changed(
        &mut self,
        task: &Task,
        record: TaskRecord,
        output: Option<&str>,
        error: Option<&str>,
    ) -> Result<(), StateViewError> {
        self.know(task, record, output, error);
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(|state| {
            state.save_task(task, record)?;
            state.update_task_status(task.id.as_str(), record.status, output, error, Timestamp::now())
        });
        self.rebuilt_unless(written)
    }

    pub(crate) fn attempt_ended(&mut self, execution: &Execution<'_>) -> Result<(), StateViewError> {
        let now = Timestamp::now();
        if self.attempts.len() < MAX_ATTEMPTS {
            self.attempts.push(KnownAttempt {
                task_id: execution.task_id.to_owned(),
                attempt: execution.attempt,
                success: execution.success,
                output: execution.output.to_owned(),
                error: execution.error.map(str::to_owned),
                duration: execution.duration,
                ended: now,
            });
        }
        let state = self.state.as_ref().filter(|_| self.is_sound());
        let written = state.map(|state| state.log_execution(execution, now));
        self.rebuilt_unless(written)
    }

    /// A session looks for further tasks.
    pub(crate) fn growth_began(&mut self) -> Result<(), StateViewError> {
        self.growth_sessions += 1;
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(StateManager::count_growth);
        self.rebuilt_unless(written)
    }

    /// The run ends: what others find must be whole.
    pub(crate) fn finish(&mut self) -> Result<(), StateViewError> {
        // What was written to the log of the database only is lost with it, so another reader is asked.
        let found = StateManager::find(&self.harness).ok().flatten().and_then(|state| state.counts().ok());
        let is_whole = found.is_some_and(|found| found.tasks as usize >= self.tasks.len()) && self.is_sound();
        self.rebuilt_unless(is_whole.then_some(Ok(())))?;
        // Closed, so that SQLite leaves one file.
        self.state = None;
        Ok(())
    }

    fn know(&mut self, task: &Task, record: TaskRecord, output: Option<&str>, error: Option<&str>) {
        let [output, error] = [output, error].map(|text| text.map(str::to_owned));
        match self.tasks.iter_mut().find(|known| known.task.id == task.id) {
            Some(known) => {
                (known.task, known.record) = (task.clone(), record);
                known.output = output.or_else(|| known.output.take());
                known.error = error.or_else(|| known.error.take());
            }
            None => self.tasks.push(KnownTask { task: task.clone(), record, output, error }),
        }
    }

    /// `written` is `None` if the file is not the one that was opened any more.
    fn rebuilt_unless(&mut self, written: Option<Result<(), StateViewError>>) -> Result<(), StateViewError> {
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if !error.is_damage() => Err(error),
            Some(Err(_)) | None => self.rebuild(),
        }
    }

    fn rebuild(&mut self) -> Result<(), StateViewError> {
        // First: SQLite removes its other files by name when it closes this one.
        self.state = None;
        let (state, found) = StateManager::open(&self.harness)?;
        state.init_harness(&self.roadmap, Timestamp::now())?;
        state.save_tasks(self.tasks.iter().map(|known| (&known.task, known.record)))?;
        for KnownTask { task, record, output, error } in &self.tasks {
            let (output, error) = (output.as_deref(), error.as_deref());
            state.update_task_status(task.id.as_str(), record.status, output, error, Timestamp::now())?;
        }
        if found != StateFound::State {
            for known in &self.attempts {
                state.log_execution(&known.as_execution(), known.ended)?;
            }
            for _ in 0..self.growth_sessions {
                state.count_growth()?;
            }
        }
        self.state = Some(state);
        self.file = self.identity();
        if !std::mem::replace(&mut self.has_said, true) {
            self.notice = Some(match found {
                StateFound::Damaged => self.damaged(),
                StateFound::Nothing | StateFound::State => {
                    format!("{} was removed or replaced; it is written anew.", self.path().display())
                }
            });
        }
        Ok(())
    }

    /// Whether the file is still the one that was opened, and another reader can use it. Reading it without SQLite would end its locks.
    fn is_sound(&self) -> bool {
        let is_same = self.identity().is_some_and(|file| Some(file) == self.file);
        is_same && matches!(StateManager::find(&self.harness), Ok(Some(_)))
    }

    fn identity(&self) -> Option<(u64, u64)> {
        let metadata = self.path().symlink_metadata().ok().filter(|metadata| metadata.is_file())?;
        Some((metadata.dev(), metadata.ino()))
    }

    fn path(&self) -> PathBuf {
        self.harness.state_db()
    }

    fn damaged(&self) -> String {
        format!("{} was damaged; it is kept as {DAMAGED}, and written anew.", self.path().display())
    }
}

impl KnownAttempt {
    fn as_execution(&self) -> Execution<'_> {
        Execution {
            task_id: &self.task_id,
            attempt: self.attempt,
            success: self.success,
            output: &self.output,
            error: self.error.as_deref(),
            duration: self.duration,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::KeptState;
    use crate::control::HarnessDirectory;
    use crate::roadmap::Roadmap;
    use crate::schedule::{TaskRecord, TaskStatus};
    use crate::state_view::{Execution, StateManager};

    const COMPLETED: TaskRecord = TaskRecord { status: TaskStatus::Completed, attempts: 1 };

    /// What somebody does to the files of a harness while it runs.
    type Damage = (&'static str, fn(&HarnessDirectory));

    fn garbage(harness: &HarnessDirectory) {
        for name in ["state.db", "state.db-wal"] {
            fs::write(harness.path().join(name), "garbage".repeat(1000)).expect("written");
        }
    }

    fn truncated(harness: &HarnessDirectory) {
        fs::write(harness.state_db(), "").expect("written");
        fs::write(harness.path().join("state.db-wal"), "").expect("written");
    }

    fn removed(harness: &HarnessDirectory) {
        fs::remove_file(harness.state_db()).expect("removed");
    }

    fn replaced(harness: &HarnessDirectory) {
        removed(harness);
        fs::write(harness.state_db(), "garbage".repeat(1000)).expect("written");
    }

    #[test]
    fn a_view_that_is_damaged_meanwhile_is_written_anew_and_that_is_said_once() {
        let roadmap = Roadmap::parse("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n", &[]).expect("valid");
        let damages: [Damage; 4] =
            [("garbage", garbage), ("truncated", truncated), ("removed", removed), ("replaced", replaced)];
        for ((name, damage), is_at_the_end) in
            damages.iter().flat_map(|damage| [(damage, false), (damage, true)])
        {
            let project = tempfile::tempdir().expect("directory");
            let harness = Arc::new(HarnessDirectory::create(project.path(), "main").expect("a harness"));
            let (mut kept, found) = KeptState::open(&harness).expect("opened");
            assert_eq!(found, None);
            let tasks = roadmap.tasks.iter().map(|task| (task, TaskRecord::default()));
            kept.plan(Path::new("ROADMAP.md"), tasks).expect("planned");
            let execution = Execution {
                task_id: "a",
                attempt: 1,
                success: true,
                output: "I did it.",
                error: None,
                duration: Duration::from_secs(5),
            };
            kept.attempt_ended(&execution).expect("logged");
            kept.task_changed(&roadmap.tasks[0], COMPLETED, Some("I did it."), None).expect("changed");
            assert_eq!(kept.take_notice(), None);
            damage(&harness);
            if !is_at_the_end {
                kept.task_changed(&roadmap.tasks[1], COMPLETED, None, None).expect("changed");
            }
            kept.finish().expect("finished");
            let notice = kept.take_notice().unwrap_or_else(|| panic!("{name} {is_at_the_end}"));
            assert!(notice.contains("state.db was ") && notice.ends_with("written anew."), "{notice}");
            damage(&harness);
            kept.finish().expect("finished");
            assert_eq!(kept.take_notice(), None, "it is said once");
            drop(kept);
            let found = StateManager::find(&harness).ok().flatten();
            let state = found.unwrap_or_else(|| panic!("{name} {is_at_the_end}"));
            let counts = state.counts().expect("counts");
            assert_eq!((counts.tasks, counts.completed), (2, if is_at_the_end { 1 } else { 2 }));
            assert_eq!(counts.total_execution_time, Duration::from_secs(5));
            assert_eq!(state.load_task("a").expect("loaded").expect("a task").output, "I did it.");
        }
    }
}
