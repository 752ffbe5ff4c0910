//! `.harness/meta_state.db`: what a supervisor has started and what became of it.
//!
//! It is the supervisor's own truth: it is written before a harness does anything and after it has ended, so that a supervisor that is killed
//! at any moment knows which processes are its own. Other processes read it, and leave requests in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_harness::handle::{HarnessResult, HarnessStatus};
use autonoe_harness::state_database::{StateDatabase, StateDatabaseError};
use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use serde_json::Value;

use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::FleetFile;
use crate::fleet_host::HomeBranch;

const FILE: &str = "meta_state.db";

/// Version of the tables.
const FORMAT: i64 = 1;

/// How long a statement waits for another process.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
    CREATE TABLE meta_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        number INTEGER NOT NULL,
        fleet TEXT NOT NULL,
        plan TEXT NOT NULL,
        strategy TEXT NOT NULL,
        started_at TEXT NOT NULL,
        completed_at TEXT,
        elapsed_seconds REAL NOT NULL DEFAULT 0,
        total_harnesses INTEGER NOT NULL,
        completed_harnesses INTEGER NOT NULL DEFAULT 0,
        failed_harnesses INTEGER NOT NULL DEFAULT 0,
        request TEXT,
        result_json TEXT
    );
    CREATE TABLE sub_harnesses (
        harness_id TEXT PRIMARY KEY,
        place INTEGER NOT NULL,
        pid INTEGER,
        process TEXT NOT NULL DEFAULT '',
        is_released INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        roadmap_path TEXT NOT NULL,
        working_dir TEXT NOT NULL DEFAULT '',
        cli TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        progress REAL NOT NULL DEFAULT 0,
        current_task TEXT,
        current_iteration INTEGER NOT NULL DEFAULT 0,
        tasks_completed INTEGER NOT NULL DEFAULT 0,
        tasks_failed INTEGER NOT NULL DEFAULT 0,
        checked_tasks INTEGER NOT NULL,
        error TEXT,
        request TEXT,
        registered_at TEXT NOT NULL,
        started_at TEXT,
        completed_at TEXT,
        parent_context TEXT,
        ended_as INTEGER,
        result_json TEXT
    );
    CREATE TABLE progress_log (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        harness_id TEXT NOT NULL,
        timestamp TEXT NOT NULL,
        progress REAL NOT NULL,
        current_task TEXT,
        message TEXT
    );
    CREATE TABLE coordination_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        timestamp TEXT NOT NULL,
        event_type TEXT NOT NULL,
        harness_id TEXT,
        details TEXT NOT NULL
    );
    CREATE TABLE worktrees (
        harness_id TEXT PRIMARY KEY,
        branch_name TEXT NOT NULL,
        worktree_path TEXT NOT NULL,
        base_branch TEXT,
        created_at TEXT NOT NULL,
        merged_at TEXT,
        merge_commit TEXT,
        note TEXT
    );
    PRAGMA user_version = 1;
";

#[derive(Debug, thiserror::Error)]
pub enum MetaStateError {
    #[error(transparent)]
    Database(#[from] StateDatabaseError),
    #[error("{path} is not the state of a fleet. End its harnesses, if any are at work, and remove it.", path = .path.display())]
    Foreign { path: PathBuf },
    #[error(
        "The fleet '{name}' has not ended; `autonoe fleet up` with its file continues it, `autonoe fleet stop` ends it."
    )]
    Unfinished { name: String },
}

/// What a person asks of a harness or of the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Nothing new starts.
    Pause,
    Stop,
    Kill,
}

impl Request {
    fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Stop => "stop",
            Self::Kill => "kill",
        }
    }
}

impl ToSql for Request {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

impl FromSql for Request {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let name = value.as_str()?;
        let known = [Self::Pause, Self::Stop, Self::Kill].into_iter().find(|known| known.name() == name);
        known.ok_or(FromSqlError::InvalidType)
    }
}

/// The fleet of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetRow {
    /// Counted over all fleets of the project, so that no two share a directory.
    pub number: u32,
    pub plan: FleetFile,
    pub started_at: Timestamp,
    /// While a supervisor was at work.
    pub elapsed: Duration,
    pub request: Option<Request>,
    /// `None` until it is over.
    pub result: Option<AggregatedResult>,
}

/// One harness of the fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessRow {
    pub id: String,
    /// `None` until it has a directory.
    pub working_dir: Option<PathBuf>,
    /// `None` before it was started.
    pub pid: Option<u32>,
    /// Distinguishes the process from a later one of the same number.
    pub process: String,
    /// Whether the process was released to begin.
    pub is_released: bool,
    /// Processes that were started.
    pub attempts: u32,
    pub status: HarnessStatus,
    pub checked_tasks: u32,
    pub request: Option<Request>,
    pub home: Option<HomeBranch>,
    /// Its place in the order of ends; `None` until it is over.
    pub ended_as: Option<u32>,
    pub result: Option<HarnessResult>,
}

/// How far a running harness is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HarnessProgress {
    pub status: Option<HarnessStatus>,
    pub progress: f64,
    pub current_task: Option<String>,
    pub current_iteration: u32,
    pub tasks_completed: u32,
    pub tasks_failed: u32,
}

pub struct MetaState {
    db: StateDatabase,
}

impl MetaState {
    /// Creates it if it is missing. `.harness/` must exist.
    pub fn open(project: &Path) -> Result<Self, MetaStateError> {
        let path = path_of(project);
        StateDatabase::size(&path)?;
        let state = Self::connect(path, OpenFlags::default())?;
        if !state.has_tables()? {
            state.run(|db| db.execute_batch(&format!("BEGIN; {SCHEMA} COMMIT;")))?;
        }
        Ok(state)
    }

    /// `None` if the project never had a fleet.
    pub fn find(project: &Path) -> Result<Option<Self>, MetaStateError> {
        let path = path_of(project);
        if StateDatabase::size(&path)?.is_none() {
            return Ok(None);
        }
        let state = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(state.has_tables()?.then_some(state))
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, MetaStateError> {
        match StateDatabase::open(path.clone(), flags, BUSY_LIMIT, "PRAGMA synchronous = FULL;") {
            Ok(db) => Ok(Self { db }),
            Err(error) if error.code() == Some(ErrorCode::NotADatabase) => {
                Err(MetaStateError::Foreign { path })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the tables of this version are there; an error if others are.
    fn has_tables(&self) -> Result<bool, MetaStateError> {
        // Tables first: another process may make them meanwhile, together with the version.
        let count = "SELECT count(*) FROM sqlite_master";
        let tables: i64 = self.run(|db| db.query_row(count, [], |row| row.get(0)))?;
        let version: i64 = self.run(|db| db.query_row("PRAGMA user_version", [], |row| row.get(0)))?;
        match (version, tables) {
            (FORMAT, _) => Ok(true),
            (0, 0) => Ok(false),
            _ => Err(MetaStateError::Foreign { path: self.db.path().to_owned() }),
        }
    }

    /// Continues the fleet of the same plan, or begins a new one if the last one is over. `checked_tasks` are those of each harness.
    pub fn begin(
        &self,
        plan: &FleetFile,
        checked_tasks: &[u32],
        now: Timestamp,
    ) -> Result<FleetRow, MetaStateError> {
        let plan = &plan.without_lines();
        let before = self.fleet()?;
        let number = match &before {
            Some(before) if before.result.is_none() && before.plan == *plan => return Ok(before.clone()),
            Some(before) if before.result.is_none() => {
                return Err(MetaStateError::Unfinished { name: before.plan.name.clone() });
            }
            Some(before) => before.number + 1,
            None => 1,
        };
        self.run(|db| {
            let transaction = db.unchecked_transaction()?;
            for table in ["meta_state", "sub_harnesses", "progress_log", "coordination_events", "worktrees"] {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            let text = serde_json::to_string(plan).unwrap_or_default();
            transaction.execute(
                "INSERT INTO meta_state (id, number, fleet, plan, strategy, started_at, total_harnesses) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
                params![number, plan.name, text, plan.settings.coordination.name(), now.to_string(), plan.harnesses.len()],
            )?;
            for (place, harness) in plan.harnesses.iter().enumerate() {
                transaction.execute(
                    "INSERT INTO sub_harnesses (harness_id, place, roadmap_path, cli, model, status, checked_tasks, registered_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6, ?7)",
                    params![
                        harness.id,
                        place,
                        harness.roadmap.display().to_string(),
                        harness.cli.join(","),
                        harness.model.as_deref().unwrap_or_default(),
                        checked_tasks.get(place).copied().unwrap_or_default(),
                        now.to_string(),
                    ],
                )?;
            }
            transaction.commit()
        })?;
        Ok(FleetRow {
            number,
            plan: plan.clone(),
            started_at: now,
            elapsed: Duration::ZERO,
            request: None,
            result: None,
        })
    }

    /// `None` if there never was one.
    pub fn fleet(&self) -> Result<Option<FleetRow>, MetaStateError> {
        let query = "SELECT number, plan, started_at, elapsed_seconds, request, result_json FROM meta_state";
        let read = |row: &Row<'_>| {
            let (plan, result): (String, Option<String>) = (row.get(1)?, row.get(5)?);
            let elapsed: f64 = row.get(3)?;
            Ok(FleetRow {
                number: row.get(0)?,
                plan: from_json(&plan)?,
                started_at: time(row.get(2)?)?,
                elapsed: Duration::try_from_secs_f64(elapsed).unwrap_or_default(),
                request: row.get(4)?,
                result: result.map(|text| from_json(&text)).transpose()?,
            })
        };
        self.run(|db| db.query_row(query, [], read).optional())
    }

    /// In the order of the file.
    pub fn harnesses(&self) -> Result<Vec<HarnessRow>, MetaStateError> {
        let query = "SELECT h.harness_id, h.working_dir, h.pid, h.process, h.is_released, h.attempts, h.status, h.checked_tasks, h.request,
                            h.ended_as, h.result_json, w.branch_name, w.merge_commit, w.note
                     FROM sub_harnesses h LEFT JOIN worktrees w ON w.harness_id = h.harness_id AND w.merge_commit IS NOT NULL
                     ORDER BY h.place";
        self.run(|db| db.prepare_cached(query)?.query_map([], harness_row)?.collect())
    }

    pub fn set_working_dir(
        &self,
        id: &str,
        path: &Path,
        branch: &str,
        now: Timestamp,
    ) -> Result<(), MetaStateError> {
        let path = path.display().to_string();
        self.execute("UPDATE sub_harnesses SET working_dir = ?2 WHERE harness_id = ?1", params![id, path])?;
        self.execute(
            "INSERT INTO worktrees (harness_id, branch_name, worktree_path, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (harness_id) DO UPDATE SET worktree_path = ?3",
            params![id, branch, path, now.to_string()],
        )
    }

    /// A process exists and waits to be released.
    pub fn record_process(
        &self,
        id: &str,
        pid: u32,
        process: &str,
        now: Timestamp,
    ) -> Result<(), MetaStateError> {
        self.execute(
            "UPDATE sub_harnesses SET pid = ?2, process = ?3, is_released = 0, attempts = attempts + 1, status = 'running',
                 started_at = coalesce(started_at, ?4) WHERE harness_id = ?1",
            params![id, pid, process, now.to_string()],
        )
    }

    pub fn record_released(&self, id: &str) -> Result<(), MetaStateError> {
        self.execute("UPDATE sub_harnesses SET is_released = 1 WHERE harness_id = ?1", params![id])
    }

    /// A process ended before it had begun, so it was none.
    pub fn forget_process(&self, id: &str) -> Result<(), MetaStateError> {
        self.execute(
            "UPDATE sub_harnesses SET pid = NULL, process = '', is_released = 0, attempts = attempts - 1, status = 'pending' WHERE harness_id = ?1",
            params![id],
        )
    }

    pub fn record_progress(
        &self,
        id: &str,
        now: &HarnessProgress,
        at: Timestamp,
    ) -> Result<(), MetaStateError> {
        let before = "SELECT progress FROM sub_harnesses WHERE harness_id = ?1";
        let before: Option<f64> = self.run(|db| db.query_row(before, [id], |row| row.get(0)).optional())?;
        self.execute(
            "UPDATE sub_harnesses SET status = coalesce(?2, status), progress = ?3, current_task = ?4, current_iteration = ?5,
                 tasks_completed = ?6, tasks_failed = ?7 WHERE harness_id = ?1 AND result_json IS NULL",
            params![
                id,
                now.status.map(HarnessStatus::name),
                now.progress,
                now.current_task,
                now.current_iteration,
                now.tasks_completed,
                now.tasks_failed
            ],
        )?;
        if before == Some(now.progress) {
            return Ok(());
        }
        self.execute(
            "INSERT INTO progress_log (harness_id, timestamp, progress, current_task) VALUES (?1, ?2, ?3, ?4)",
            params![id, at.to_string(), now.progress, now.current_task],
        )
    }

    /// A harness is over.
    pub fn settle(
        &self,
        status: HarnessStatus,
        result: &HarnessResult,
        home: Option<&HomeBranch>,
        now: Timestamp,
    ) -> Result<(), MetaStateError> {
        let id = result.harness_id.as_str();
        self.run(|db| {
            let transaction = db.unchecked_transaction()?;
            transaction.execute(
                "UPDATE sub_harnesses SET status = ?2, error = ?3, result_json = ?4, completed_at = ?5, progress = ?6, current_task = NULL,
                     tasks_completed = ?7, tasks_failed = ?8,
                     ended_as = (SELECT coalesce(max(ended_as), 0) + 1 FROM sub_harnesses) WHERE harness_id = ?1 AND result_json IS NULL",
                params![
                    id,
                    status.name(),
                    result.error,
                    serde_json::to_string(result).unwrap_or_default(),
                    now.to_string(),
                    result.progress,
                    result.tasks_completed,
                    result.tasks_failed
                ],
            )?;
            if let Some(home) = home {
                transaction.execute(
                    "UPDATE worktrees SET branch_name = ?2, merge_commit = ?3, merged_at = ?4, note = ?5 WHERE harness_id = ?1",
                    params![id, home.branch, home.commit, now.to_string(), home.note],
                )?;
            }
            transaction.execute(
                "UPDATE meta_state SET completed_harnesses = (SELECT count(*) FROM sub_harnesses WHERE status = 'completed'),
                     failed_harnesses = (SELECT count(*) FROM sub_harnesses WHERE status = 'failed')",
                [],
            )?;
            transaction.commit()
        })
    }

    pub fn record_event(
        &self,
        event_type: &str,
        harness: Option<&str>,
        details: &Value,
        now: Timestamp,
    ) -> Result<(), MetaStateError> {
        self.execute(
            "INSERT INTO coordination_events (timestamp, event_type, harness_id, details) VALUES (?1, ?2, ?3, ?4)",
            params![now.to_string(), event_type, harness, details.to_string()],
        )
    }

    pub fn record_elapsed(&self, elapsed: Duration) -> Result<(), MetaStateError> {
        self.execute("UPDATE meta_state SET elapsed_seconds = ?1", params![elapsed.as_secs_f64()])
    }

    pub fn finish(&self, result: &AggregatedResult, now: Timestamp) -> Result<(), MetaStateError> {
        let text = serde_json::to_string(result).unwrap_or_default();
        self.execute(
            "UPDATE meta_state SET result_json = ?1, completed_at = ?2",
            params![text, now.to_string()],
        )
    }

    /// For the whole fleet; `None` takes a pause back.
    pub fn request(&self, request: Option<Request>) -> Result<(), MetaStateError> {
        self.execute("UPDATE meta_state SET request = ?1 WHERE result_json IS NULL", params![request])
    }

    /// For one harness.
    pub fn request_of(&self, id: &str, request: Request) -> Result<(), MetaStateError> {
        self.execute(
            "UPDATE sub_harnesses SET request = ?2 WHERE harness_id = ?1 AND result_json IS NULL",
            params![id, request],
        )
    }

    fn execute(&self, statement: &str, values: &[&dyn ToSql]) -> Result<(), MetaStateError> {
        Ok(self.db.execute(statement, values)?)
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, MetaStateError> {
        Ok(self.db.run(work)?)
    }
}

fn harness_row(row: &Row<'_>) -> rusqlite::Result<HarnessRow> {
    let (working_dir, status): (String, String) = (row.get(1)?, row.get(6)?);
    let result: Option<String> = row.get(10)?;
    let home: Option<(String, String)> = row.get::<_, Option<String>>(11)?.zip(row.get(12)?);
    let note = row.get(13)?;
    Ok(HarnessRow {
        id: row.get(0)?,
        working_dir: (!working_dir.is_empty()).then(|| PathBuf::from(working_dir)),
        pid: row.get(2)?,
        process: row.get(3)?,
        is_released: row.get(4)?,
        attempts: row.get(5)?,
        status: serde_json::from_value(Value::String(status)).unwrap_or(HarnessStatus::Pending),
        checked_tasks: row.get(7)?,
        request: row.get(8)?,
        home: home.map(|(branch, commit)| HomeBranch { branch, commit, note }),
        ended_as: row.get(9)?,
        result: result.map(|text| from_json(&text)).transpose()?,
    })
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn time(text: String) -> rusqlite::Result<Timestamp> {
    text.parse().map_err(|error: jiff::Error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn path_of(project: &Path) -> PathBuf {
    project.join(".harness").join(FILE)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;

    use super::{MetaState, Request};
    use crate::fleet_file::FleetFile;

    fn plan(name: &str) -> FleetFile {
        let text = format!(
            "# {name}\n## Strategy\ncoordination: parallel\n## Sub-Harnesses\n### a\nroadmap: a.md\n"
        );
        FleetFile::parse(&text, &[]).expect("valid")
    }

    #[test]
    fn a_fleet_is_continued_and_another_one_waits_for_its_end() {
        let project = tempfile::tempdir().expect("directory");
        fs::create_dir(project.path().join(".harness")).expect("directory");
        assert!(MetaState::find(project.path()).expect("nothing").is_none());
        let state = MetaState::open(project.path()).expect("opened");
        let now = Timestamp::now();
        let begun = state.begin(&plan("one"), &[3], now).expect("begun");
        assert_eq!((begun.number, state.harnesses().expect("rows")[0].checked_tasks), (1, 3));
        state.request(Some(Request::Pause)).expect("requested");
        let other = MetaState::find(project.path()).expect("opened").expect("there");
        let continued = other.begin(&plan("one"), &[9], now).expect("continued");
        assert_eq!((continued.number, continued.request), (1, Some(Request::Pause)));
        let refused = other.begin(&plan("two"), &[1], now).expect_err("the first has not ended").to_string();
        assert!(refused.starts_with("The fleet 'one' has not ended;"), "{refused}");
        let result = crate::AggregatedResult::new(begun.plan.settings.coordination, Vec::new());
        state.finish(&result, now).expect("finished");
        assert_eq!(other.begin(&plan("two"), &[1], now).expect("begun").number, 2);
    }

    #[test]
    fn what_is_not_ours_is_neither_used_nor_replaced() {
        let project = tempfile::tempdir().expect("directory");
        fs::create_dir(project.path().join(".harness")).expect("directory");
        let file = project.path().join(".harness/meta_state.db");
        fs::write(&file, "not a database, but something of the user's that is long enough".repeat(20))
            .expect("written");
        assert!(MetaState::open(project.path()).is_err());
        assert!(MetaState::find(project.path()).is_err());
        assert!(fs::read_to_string(&file).expect("text").starts_with("not a database"));
        fs::remove_file(&file).expect("removed");
        std::os::unix::fs::symlink("/etc/hostname", &file).expect("link");
        let error = MetaState::open(project.path()).map(drop).expect_err("a link").to_string();
        assert!(error.ends_with("is a symbolic link, not a regular file."), "{error}");
    }
}
