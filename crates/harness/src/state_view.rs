//! `state.db`: tasks and attempts in SQLite, for other programs.
//!
//! It is a view: the journal is the truth. A file that is damaged, or that another program wrote, is put aside and written anew from the
//! records that the caller has.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, ToSql, params};

use crate::control::{HarnessDirectory, HarnessFileError};
use crate::roadmap::Task;
use crate::schedule::{TaskRecord, TaskStatus};
use crate::state_database::{StateDatabase, StateDatabaseError};

const FILE: &str = "state.db";
pub(crate) const DAMAGED: &str = "state.db.damaged";

/// Written to the file as its `user_version`.
const FORMAT: i64 = 1;

/// How long to wait for another process that writes.
const BUSY_LIMIT: Duration = Duration::from_secs(2);

/// Characters of an output that are kept.
const MAX_OUTPUT: usize = 10_000;

const SCHEMA: &str = "
    CREATE TABLE harness_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        roadmap_path TEXT NOT NULL,
        started_at TEXT NOT NULL,
        last_activity TEXT NOT NULL,
        tasks_completed INTEGER NOT NULL DEFAULT 0,
        tasks_failed INTEGER NOT NULL DEFAULT 0,
        total_execution_time REAL NOT NULL DEFAULT 0,
        in_growth_mode INTEGER NOT NULL DEFAULT 0,
        growth_iterations INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE tasks (
        id TEXT PRIMARY KEY,
        description TEXT NOT NULL,
        phase TEXT NOT NULL,
        depends TEXT NOT NULL,
        timeout_minutes INTEGER NOT NULL,
        success_criteria TEXT NOT NULL,
        cwd TEXT NOT NULL,
        cli TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        max_retries INTEGER NOT NULL,
        output TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        conversation_id TEXT,
        started_at TEXT,
        completed_at TEXT,
        ralph_config TEXT,
        ralph_iterations INTEGER NOT NULL DEFAULT 0,
        worktree_branch TEXT NOT NULL DEFAULT '',
        worktree_path TEXT NOT NULL DEFAULT '',
        auto_merge INTEGER NOT NULL DEFAULT 1,
        issue_url TEXT,
        issue_number INTEGER,
        sync_to_github INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX idx_tasks_status ON tasks (status);
    CREATE TABLE execution_log (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id TEXT NOT NULL REFERENCES tasks (id),
        timestamp TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        success INTEGER NOT NULL,
        output TEXT NOT NULL,
        error TEXT,
        duration_seconds REAL NOT NULL
    );
    CREATE INDEX idx_execution_log_task ON execution_log (task_id);
    PRAGMA user_version = 1;
";

#[derive(Debug, thiserror::Error)]
pub enum StateViewError {
    #[error(transparent)]
    File(#[from] HarnessFileError),
    #[error(transparent)]
    Database(#[from] StateDatabaseError),
}

impl StateViewError {
    /// Whether writing the file anew may help.
    pub(crate) fn is_damage(&self) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory};
        match self {
            Self::File(_) | Self::Database(StateDatabaseError::NotRegular { .. }) => false,
            Self::Database(error @ StateDatabaseError::Unusable { .. }) => {
                !matches!(error.code(), Some(DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory))
            }
        }
    }
}

/// What was found at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFound {
    Nothing,
    /// The state of an earlier process.
    State,
    /// Something that could not be used. It was put aside; the tasks must be saved again.
    Damaged,
}

/// A task as the view has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: String,
    pub description: String,
    pub phase: String,
    pub depends: Vec<String>,
    pub timeout_minutes: u32,
    pub success_criteria: String,
    pub cwd: String,
    pub cli: String,
    pub model: String,
    pub status: TaskStatus,
    pub attempts: u32,
    pub max_retries: u32,
    pub output: String,
    pub error: String,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
}

/// An attempt at a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution<'a> {
    pub task_id: &'a str,
    /// Counted from 1.
    pub attempt: u32,
    pub success: bool,
    pub output: &'a str,
    pub error: Option<&'a str>,
    pub duration: Duration,
}

/// The counts of a harness.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HarnessCounts {
    pub tasks: u32,
    pub completed: u32,
    /// Tasks all of whose attempts failed.
    pub failed: u32,
    /// Description of the task in progress.
    pub current_task: Option<String>,
    pub total_execution_time: Duration,
}

impl HarnessCounts {
    /// 0.0 to 1.0.
    pub fn progress(&self) -> f64 {
        if self.tasks == 0 { 0.0 } else { f64::from(self.completed) / f64::from(self.tasks) }
    }
}

pub struct StateManager {
    db: StateDatabase,
}

impl StateManager {
    /// Opens the view for writing. What cannot be used is put aside.
    pub fn open(harness: &HarnessDirectory) -> Result<(Self, StateFound), StateViewError> {
        let path = harness.state_db();
        let before = StateDatabase::size(&path)?.unwrap_or(0);
        match open_at(&path, OpenFlags::default()) {
            Ok((db, true)) => return Ok((Self { db }, StateFound::State)),
            Ok((db, false)) if before == 0 => return Self::begin(db, StateFound::Nothing),
            Err(error) if !is_damage(&error) => return Err(error.into()),
            Ok((db, false)) => drop(db),
            Err(_) => {}
        }
        harness.set_aside(FILE, DAMAGED)?;
        for companion in ["state.db-wal", "state.db-shm", "state.db-journal"] {
            harness.remove(companion)?;
        }
        let (db, _) = open_at(&path, OpenFlags::default())?;
        Self::begin(db, StateFound::Damaged)
    }

    fn begin(db: StateDatabase, found: StateFound) -> Result<(Self, StateFound), StateViewError> {
        db.run(|db| db.execute_batch(&format!("BEGIN; {SCHEMA} COMMIT;")))?;
        Ok((Self { db }, found))
    }

    /// For reading only; `None` if there is none yet.
    pub fn find(harness: &HarnessDirectory) -> Result<Option<Self>, StateViewError> {
        let path = harness.state_db();
        if StateDatabase::size(&path)?.unwrap_or(0) == 0 {
            return Ok(None);
        }
        let (db, is_state) = open_at(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(is_state.then_some(Self { db }))
    }

    /// Begins a roadmap, or continues it.
    pub fn init_harness(&self, roadmap: &Path, now: Timestamp) -> Result<(), StateViewError> {
        let (roadmap, now) = (roadmap.display().to_string(), iso(now));
        self.execute(
            "INSERT INTO harness_state (id, roadmap_path, started_at, last_activity) VALUES (1, ?1, ?2, ?2)
             ON CONFLICT (id) DO UPDATE SET roadmap_path = ?1, last_activity = max(last_activity, ?2),
                 started_at = min(started_at, ?2)",
            params![roadmap, now],
        )
    }

    /// Writes all tasks of a roadmap at once.
    pub fn save_tasks<'a>(
        &self,
        tasks: impl Iterator<Item = (&'a Task, TaskRecord)>,
    ) -> Result<(), StateViewError> {
        self.run(|db| db.execute_batch("BEGIN"))?;
        for (task, record) in tasks {
            self.write_task(task, record)?;
        }
        self.count()?;
        self.run(|db| db.execute_batch("COMMIT"))
    }

    /// Writes a task. Output, error and times of an earlier attempt stay, and so does the number of attempts of a completed task that comes
    /// with none: a box that is checked does not say how many it took.
    pub fn save_task(&self, task: &Task, record: TaskRecord) -> Result<(), StateViewError> {
        self.write_task(task, record)?;
        self.count()
    }

    fn write_task(&self, task: &Task, record: TaskRecord) -> Result<(), StateViewError> {
        let depends: Vec<&str> = task.depends.iter().map(|id| id.as_str()).collect();
        self.execute(
            "INSERT INTO tasks (id, description, phase, depends, timeout_minutes, success_criteria, cwd, cli, model, status, attempts,
                                max_retries, issue_number)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT (id) DO UPDATE SET description = ?2, phase = ?3, depends = ?4, timeout_minutes = ?5, success_criteria = ?6,
                 cwd = ?7, cli = ?8, model = ?9, status = ?10, max_retries = ?12, issue_number = ?13,
                 attempts = iif(?10 = 'completed' AND ?11 = 0, attempts, ?11)",
            params![
                task.id.as_str(),
                task.description,
                task.phase.as_deref().unwrap_or_default(),
                serde_json::to_string(&depends).unwrap_or_default(),
                minutes(task.timeout),
                task.success_criteria.as_deref().unwrap_or_default(),
                task.cwd.display().to_string(),
                task.cli.join(","),
                task.model.as_deref().unwrap_or_default(),
                record.status.name(),
                record.attempts,
                task.max_retries,
                task.issue,
            ],
        )
    }

    /// `None` if there is no such task.
    pub fn load_task(&self, id: &str) -> Result<Option<TaskRow>, StateViewError> {
        let query = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
        self.run(|db| db.prepare_cached(&query)?.query_row([id], task_row).optional())
    }

    /// Sets the status; output and error only if they are given. `now` is when it began or was completed.
    pub fn update_task_status(
        &self,
        id: &str,
        status: TaskStatus,
        output: Option<&str>,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StateViewError> {
        let started = (status == TaskStatus::InProgress).then(|| iso(now));
        let completed = (status == TaskStatus::Completed).then(|| iso(now));
        self.execute(
            "UPDATE tasks SET status = ?2, output = coalesce(?3, output), error = coalesce(?4, error),
                 started_at = coalesce(?5, started_at), completed_at = coalesce(?6, completed_at) WHERE id = ?1",
            params![id, status.name(), output.map(shortened), error.map(shortened), started, completed],
        )?;
        self.execute("UPDATE harness_state SET last_activity = max(last_activity, ?1)", params![iso(now)])?;
        self.count()
    }

    /// Tasks that are not completed, in the order in which they were saved first.
    pub fn incomplete_tasks(&self) -> Result<Vec<TaskRow>, StateViewError> {
        let query = format!("SELECT {COLUMNS} FROM tasks WHERE status <> 'completed' ORDER BY rowid");
        self.run(|db| db.prepare(&query)?.query_map([], task_row)?.collect())
    }

    /// What the sessions of completed tasks said last, in the order in which the tasks were saved first.
    pub fn completed_outputs(&self) -> Result<Vec<(String, String)>, StateViewError> {
        let query = "SELECT id, output FROM tasks WHERE status = 'completed' ORDER BY rowid";
        self.run(|db| db.prepare(query)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
    }

    /// Records an attempt. Its time is added to that of the harness.
    pub fn log_execution(&self, execution: &Execution<'_>, now: Timestamp) -> Result<(), StateViewError> {
        let seconds = execution.duration.as_secs_f64();
        self.execute(
            "INSERT INTO execution_log (task_id, timestamp, attempt, success, output, error, duration_seconds)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                execution.task_id,
                iso(now),
                execution.attempt,
                execution.success,
                shortened(execution.output),
                execution.error.map(shortened),
                seconds
            ],
        )?;
        self.execute(
            "UPDATE harness_state SET total_execution_time = total_execution_time + ?1, last_activity = max(last_activity, ?2)",
            params![seconds, iso(now)],
        )
    }

    /// Whether the attempt that ended at this time is in the log.
    pub fn has_execution(
        &self,
        task_id: &str,
        attempt: u32,
        ended: Timestamp,
    ) -> Result<bool, StateViewError> {
        let query =
            "SELECT count(*) FROM execution_log WHERE task_id = ?1 AND attempt = ?2 AND timestamp = ?3";
        let count = |db: &Connection| {
            db.prepare_cached(query)?.query_row(params![task_id, attempt, iso(ended)], |row| row.get(0))
        };
        self.run(count).map(|count: i64| count > 0)
    }

    /// A session looks for further tasks.
    pub fn count_growth(&self) -> Result<(), StateViewError> {
        let count = "UPDATE harness_state SET in_growth_mode = 1, growth_iterations = growth_iterations + 1";
        self.execute(count, params![])
    }

    pub fn counts(&self) -> Result<HarnessCounts, StateViewError> {
        self.run(|db| {
            let count = |filter: &str| {
                db.query_row(&format!("SELECT count(*) FROM tasks WHERE {filter}"), [], |row| row.get(0))
            };
            let current = "SELECT description FROM tasks WHERE status = 'in_progress' ORDER BY rowid LIMIT 1";
            let time = "SELECT total_execution_time FROM harness_state";
            let time: Option<f64> = db.query_row(time, [], |row| row.get(0)).optional()?;
            Ok(HarnessCounts {
                tasks: count("status <> 'growth'")?,
                completed: count("status = 'completed'")?,
                failed: count("status = 'blocked'")?,
                current_task: db.query_row(current, [], |row| row.get(0)).optional()?,
                total_execution_time: Duration::try_from_secs_f64(time.unwrap_or(0.0)).unwrap_or_default(),
            })
        })
    }

    /// Removes all rows, as for a roadmap that starts over.
    pub fn reset(&self) -> Result<(), StateViewError> {
        let all = "BEGIN; DELETE FROM execution_log; DELETE FROM tasks; DELETE FROM harness_state; COMMIT;";
        self.run(|db| db.execute_batch(all))
    }

    fn count(&self) -> Result<(), StateViewError> {
        self.execute(
            "UPDATE harness_state SET tasks_completed = (SELECT count(*) FROM tasks WHERE status = 'completed'),
                 tasks_failed = (SELECT count(*) FROM tasks WHERE status = 'blocked')",
            params![],
        )
    }

    fn execute(&self, statement: &str, values: &[&dyn ToSql]) -> Result<(), StateViewError> {
        Ok(self.db.execute(statement, values)?)
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StateViewError> {
        Ok(self.db.run(work)?)
    }
}

const COLUMNS: &str = "id, description, phase, depends, timeout_minutes, success_criteria, cwd, cli, model, status, attempts, \
                       max_retries, output, error, started_at, completed_at";

fn task_row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let status: String = row.get(9)?;
    let depends: String = row.get(3)?;
    Ok(TaskRow {
        id: row.get(0)?,
        description: row.get(1)?,
        phase: row.get(2)?,
        depends: serde_json::from_str(&depends).unwrap_or_default(),
        timeout_minutes: row.get(4)?,
        success_criteria: row.get(5)?,
        cwd: row.get(6)?,
        cli: row.get(7)?,
        model: row.get(8)?,
        status: TaskStatus::ALL.into_iter().find(|known| known.name() == status).unwrap_or_default(),
        attempts: row.get(10)?,
        max_retries: row.get(11)?,
        output: row.get(12)?,
        error: row.get(13)?,
        started_at: row.get(14)?,
        completed_at: row.get(15)?,
    })
}

/// The database, and whether it is a state of ours.
fn open_at(path: &Path, flags: OpenFlags) -> Result<(StateDatabase, bool), StateDatabaseError> {
    // A view may be lost with the power; it is written anew then.
    let pragmas = "PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON;";
    let db = StateDatabase::open(path.to_owned(), flags, BUSY_LIMIT, pragmas)?;
    let tables =
        "SELECT count(*) FROM sqlite_master WHERE name IN ('harness_state', 'tasks', 'execution_log')";
    let is_state = db.run(|db| {
        let is_ours = one::<i64>(db, "PRAGMA user_version")? == FORMAT && one::<i64>(db, tables)? == 3;
        Ok(is_ours && one::<String>(db, "PRAGMA quick_check(1)")? == "ok")
    })?;
    Ok((db, is_state))
}

fn one<T: FromSql>(db: &Connection, query: &str) -> rusqlite::Result<T> {
    db.query_row(query, [], |row| row.get(0))
}

fn is_damage(error: &StateDatabaseError) -> bool {
    matches!(error.code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// UTC, without a zone.
pub(crate) fn iso(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// Rounded up.
fn minutes(time: Duration) -> u64 {
    time.as_secs().div_ceil(60)
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(MAX_OUTPUT).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
