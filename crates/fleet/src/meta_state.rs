//! `.harness/meta_state.db`: what a supervisor has started and what became of it.
//!
//! It is the supervisor's own truth: it is written before a harness does anything and after it has ended, so that a supervisor that is killed
//! at any moment knows which processes are its own. Other processes read it, and leave requests in it.

mod begin;
mod records;
mod request;
mod rows;
mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_harness::state_database::{StateDatabase, StateDatabaseError};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

pub use self::records::{HarnessProgress, RESERVED};
pub use self::request::Request;
pub use self::rows::{FleetRow, HarnessRow};
use self::schema::{FORMAT, SCHEMA};

const FILE: &str = "meta_state.db";

/// How long a statement waits for another process.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

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

    fn execute(&self, statement: &str, values: &[&dyn ToSql]) -> Result<(), MetaStateError> {
        Ok(self.db.execute(statement, values)?)
    }

    fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, MetaStateError> {
        Ok(self.db.run(work)?)
    }
}

fn path_of(project: &Path) -> PathBuf {
    project.join(".harness").join(FILE)
}

#[cfg(test)]
mod tests;
