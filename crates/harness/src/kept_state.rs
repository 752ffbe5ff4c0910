//! `state.db` while the harness runs. Others can write there too: what they damage is put aside and written anew from what this process
//! knows, and the run goes on.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::control::HarnessDirectory;
use crate::roadmap::Task;
use crate::schedule::{TaskRecord, TaskStatus};
use crate::state_view::{DAMAGED, Execution, StateFound, StateManager, StateViewError, TaskRow, iso};
use crate::task_history::RecalledTask;

/// Attempts that are kept to be written again.
const MAX_ATTEMPTS: usize = 10_000;

pub(crate) struct KeptState {
    harness: Arc<HarnessDirectory>,
    /// `None` if it could not be opened again.
    state: Option<StateManager>,
    /// The file that is open.
    file: Option<(u64, u64)>,
    roadmap: PathBuf,
    /// When the first run of the roadmap began, as far as it is known.
    began: Option<Timestamp>,
    /// In the order in which they were saved first.
    tasks: Vec<KnownTask>,
    attempts: Vec<KnownAttempt>,
    /// Sessions that looked for further tasks.
    growth_sessions: u32,
    /// Whether the view was written anew, and the journal knows more about it than this process.
    needs_history: bool,
    /// What a person should know, once.
    notice: Option<String>,
    has_said: bool,
}

#[derive(Clone, PartialEq)]
struct KnownTask {
    task: Task,
    record: TaskRecord,
    output: Option<String>,
    error: Option<String>,
    started: Option<Timestamp>,
    completed: Option<Timestamp>,
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
            began: None,
            tasks: Vec::new(),
            attempts: Vec::new(),
            growth_sessions: 0,
            needs_history: found != StateFound::State,
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

    /// A task has begun, or an attempt has ended. `since` is when its status became what it is. Returns whether that is new.
    pub(crate) fn task_changed(
        &mut self,
        task: &Task,
        record: TaskRecord,
        output: Option<&str>,
        error: Option<&str>,
        since: Timestamp,
    ) -> Result<bool, StateViewError> {
        let before = self.tasks.iter().find(|known| known.task.id == task.id).cloned();
        self.know(task, record, output, error);
        self.know_time(task, record.status, Some(since));
        // A process that resumes says of every task again how far it is.
        if before.is_some() && self.tasks.iter().find(|known| known.task.id == task.id) == before.as_ref() {
            return Ok(false);
        }
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(|state| {
            state.save_task(task, record)?;
            state.update_task_status(task.id.as_str(), record.status, output, error, since)
        });
        self.rebuilt_unless(written).map(|()| true)
    }

    pub(crate) fn attempt_ended(
        &mut self,
        execution: &Execution<'_>,
        ended: Timestamp,
    ) -> Result<(), StateViewError> {
        self.know_attempt(execution, ended);
        let state = self.state.as_ref().filter(|_| self.is_sound());
        let written = state.map(|state| state.log_execution(execution, ended));
        self.rebuilt_unless(written)
    }

    /// Whether the view was written anew, and what the journal knows was not added since.
    pub(crate) fn needs_history(&self) -> bool {
        self.needs_history
    }

    /// Adds what the journal knows and the view does not: a process may have been killed before it had written an attempt, or all of the view
    /// is gone. The newest tasks come first; what this process knows itself stays.
    pub(crate) fn recall<'a>(
        &mut self,
        tasks: impl Iterator<Item = RecalledTask<'a>>,
        growth_sessions: u32,
        began: Option<Timestamp>,
    ) -> Result<(), StateViewError> {
        self.began = self.began.or(began);
        for recalled in tasks {
            self.recall_task(&recalled);
        }
        let more_growth = growth_sessions.saturating_sub(self.growth_sessions);
        self.growth_sessions += more_growth;
        // Of a view that was not lost the number is known only to the view itself.
        let more_growth = if std::mem::take(&mut self.needs_history) { more_growth } else { 0 };
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(|state| {
            if let Some(began) = self.began {
                state.init_harness(&self.roadmap, began)?;
            }
            for known in &self.tasks {
                if known.differs_from(state.load_task(known.task.id.as_str())?.as_ref()) {
                    known.write(state)?;
                }
            }
            self.log_attempts(state)?;
            (0..more_growth).try_for_each(|_| state.count_growth())
        });
        self.rebuilt_unless(written)
    }

    fn recall_task(&mut self, recalled: &RecalledTask<'_>) {
        let RecalledTask { task, record, output, error, history } = *recalled;
        let output = Some(output).filter(|output| !output.is_empty());
        match self.tasks.iter_mut().find(|known| known.task.id == task.id) {
            Some(known) => {
                // A box that is checked does not say how many it took.
                if known.record.attempts == 0
                    && [known.record.status, record.status] == [TaskStatus::Completed; 2]
                {
                    known.record.attempts = record.attempts;
                }
                known.output = known.output.take().or_else(|| output.map(str::to_owned));
                known.error = known.error.take().or_else(|| error.map(str::to_owned));
                known.started = known.started.or(history.started);
                known.completed = known.completed.or(history.completed);
            }
            None => {
                self.know(task, record, output, error);
                self.know_time(task, TaskStatus::InProgress, history.started);
                self.know_time(task, TaskStatus::Completed, history.completed);
            }
        }
        for attempt in &history.attempts {
            let execution = Execution {
                task_id: task.id.as_str(),
                attempt: attempt.number,
                success: attempt.error.is_none(),
                output: &attempt.output,
                error: attempt.error.as_deref(),
                duration: attempt.duration,
            };
            self.know_attempt(&execution, attempt.ended);
        }
    }

    /// A session looks for further tasks.
    pub(crate) fn growth_began(&mut self) -> Result<(), StateViewError> {
        self.growth_sessions += 1;
        let written = self.state.as_ref().filter(|_| self.is_sound()).map(StateManager::count_growth);
        self.rebuilt_unless(written)
    }

    /// The run ends: what others find must be whole.
    pub(crate) fn check(&mut self) -> Result<(), StateViewError> {
        // What was written to the log of the database only is lost with it, so another reader is asked.
        let found = StateManager::find(&self.harness).ok().flatten().and_then(|state| state.counts().ok());
        let is_whole = found.is_some_and(|found| found.tasks as usize >= self.tasks.len()) && self.is_sound();
        self.rebuilt_unless(is_whole.then_some(Ok(())))
    }

    /// SQLite leaves one file then.
    pub(crate) fn close(&mut self) {
        self.state = None;
    }

    fn know(&mut self, task: &Task, record: TaskRecord, output: Option<&str>, error: Option<&str>) {
        let [output, error] = [output, error].map(|text| text.map(str::to_owned));
        // The view has neither, and a box that was checked is nothing new.
        let task = Task { line: 0, done: false, ..task.clone() };
        match self.tasks.iter_mut().find(|known| known.task.id == task.id) {
            Some(known) => {
                (known.task, known.record) = (task, record);
                known.output = output.or_else(|| known.output.take());
                known.error = error.or_else(|| known.error.take());
            }
            None => {
                let (started, completed) = (None, None);
                self.tasks.push(KnownTask { task, record, output, error, started, completed });
            }
        }
    }

    fn know_time(&mut self, task: &Task, status: TaskStatus, since: Option<Timestamp>) {
        let Some(known) = self.tasks.iter_mut().find(|known| known.task.id == task.id) else { return };
        match status {
            TaskStatus::InProgress => known.started = since,
            TaskStatus::Completed => known.completed = since,
            TaskStatus::Pending | TaskStatus::Failed | TaskStatus::Blocked | TaskStatus::Growth => {}
        }
    }

    fn know_attempt(&mut self, execution: &Execution<'_>, ended: Timestamp) {
        let is_known = self.attempts.iter().any(|known| {
            known.attempt == execution.attempt && known.ended == ended && known.task_id == execution.task_id
        });
        if is_known || self.attempts.len() >= MAX_ATTEMPTS {
            return;
        }
        self.attempts.push(KnownAttempt {
            task_id: execution.task_id.to_owned(),
            attempt: execution.attempt,
            success: execution.success,
            output: execution.output.to_owned(),
            error: execution.error.map(str::to_owned),
            duration: execution.duration,
            ended,
        });
    }

    /// Writes all that is known.
    fn write_all(&self, state: &StateManager) -> Result<(), StateViewError> {
        let now = Timestamp::now();
        state.init_harness(&self.roadmap, self.began.unwrap_or(now))?;
        state.init_harness(&self.roadmap, now)?;
        state.save_tasks(self.tasks.iter().map(|known| (&known.task, known.record)))?;
        for known in self.tasks.iter().filter(|known| known.has_begun()) {
            known.write(state)?;
        }
        self.log_attempts(state)
    }

    /// Logs the attempts that are not in the log, in the order in which they ended.
    fn log_attempts(&self, state: &StateManager) -> Result<(), StateViewError> {
        let is_of_task = |attempt: &&KnownAttempt| {
            self.tasks.iter().any(|known| known.task.id.as_str() == attempt.task_id)
        };
        let mut attempts: Vec<&KnownAttempt> = self.attempts.iter().filter(is_of_task).collect();
        attempts.sort_by_key(|attempt| attempt.ended);
        for known in attempts {
            if !state.has_execution(&known.task_id, known.attempt, known.ended)? {
                state.log_execution(&known.as_execution(), known.ended)?;
            }
        }
        Ok(())
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
        self.write_all(&state)?;
        if found != StateFound::State {
            (0..self.growth_sessions).try_for_each(|_| state.count_growth())?;
            self.needs_history = true;
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

impl KnownTask {
    fn has_begun(&self) -> bool {
        self.output.is_some() || self.error.is_some() || self.started.is_some() || self.completed.is_some()
    }

    /// Whether the row of the view lacks something.
    fn differs_from(&self, row: Option<&TaskRow>) -> bool {
        let Some(row) = row else { return true };
        let differs = |known: &Option<String>, shown: &str| known.as_ref().is_some_and(|text| text != shown);
        let differs_in_time = |known: Option<Timestamp>, shown: &Option<String>| {
            known.is_some_and(|time| shown.as_ref() != Some(&iso(time)))
        };
        differs(&self.output, &row.output)
            || differs(&self.error, &row.error)
            || differs_in_time(self.started, &row.started_at)
            || differs_in_time(self.completed, &row.completed_at)
            || (row.status, row.attempts) != (self.record.status, self.record.attempts.max(row.attempts))
    }

    fn write(&self, state: &StateManager) -> Result<(), StateViewError> {
        let (id, status) = (self.task.id.as_str(), self.record.status);
        state.save_task(&self.task, self.record)?;
        if let Some(started) = self.started {
            state.update_task_status(id, TaskStatus::InProgress, None, None, started)?;
        }
        let since = match status {
            TaskStatus::InProgress => self.started,
            _ => self.completed,
        };
        let (output, error) = (self.output.as_deref(), self.error.as_deref());
        state.update_task_status(id, status, output, error, since.unwrap_or_else(Timestamp::now))
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

    use jiff::Timestamp;

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
            kept.attempt_ended(&execution, Timestamp::UNIX_EPOCH).expect("logged");
            kept.task_changed(&roadmap.tasks[0], COMPLETED, Some("I did it."), None, Timestamp::UNIX_EPOCH)
                .expect("changed");
            assert_eq!(kept.take_notice(), None);
            damage(&harness);
            if !is_at_the_end {
                kept.task_changed(&roadmap.tasks[1], COMPLETED, None, None, Timestamp::UNIX_EPOCH)
                    .expect("changed");
            }
            kept.check().expect("checked");
            kept.close();
            let notice = kept.take_notice().unwrap_or_else(|| panic!("{name} {is_at_the_end}"));
            assert!(notice.contains("state.db was ") && notice.ends_with("written anew."), "{notice}");
            damage(&harness);
            kept.check().expect("checked");
            kept.close();
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
