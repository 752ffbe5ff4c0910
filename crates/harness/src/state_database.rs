//! A SQLite file below `.harness/`, where others may have put something else: only a regular file is opened, and every error names it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

#[derive(Debug, thiserror::Error)]
pub enum StateDatabaseError {
    #[error("{path} cannot be used: {error}.", path = .path.display())]
    Unusable { path: PathBuf, error: rusqlite::Error },
    #[error("{path} is a {kind}, not a regular file.", path = .path.display())]
    NotRegular { path: PathBuf, kind: &'static str },
}

impl StateDatabaseError {
    /// What SQLite says; `None` if the error is another one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Unusable { error, .. } => error.sqlite_error_code(),
            Self::NotRegular { .. } => None,
        }
    }
}

pub struct StateDatabase {
    connection: Connection,
    path: PathBuf,
}

impl StateDatabase {
    /// The size of the file; `None` if there is none. SQLite would wait for a pipe and follow a link.
    pub fn size(path: &Path) -> Result<Option<u64>, StateDatabaseError> {
        let Ok(metadata) = path.symlink_metadata() else {
            return Ok(None);
        };
        let kind = match metadata.file_type() {
            kind if kind.is_symlink() => "symbolic link",
            kind if kind.is_dir() => "directory",
            _ => "special file",
        };
        match metadata.is_file() {
            true => Ok(Some(metadata.len())),
            false => Err(StateDatabaseError::NotRegular { path: path.to_owned(), kind }),
        }
    }

    /// Opens what [`StateDatabase::size`] has looked at. Statements wait `busy_limit` for another process.
    pub fn open(
        path: PathBuf,
        flags: OpenFlags,
        busy_limit: Duration,
        pragmas: &str,
    ) -> Result<Self, StateDatabaseError> {
        let open = || {
            let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
            connection.busy_timeout(busy_limit)?;
            connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {pragmas}"))?;
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(Self { connection, path }),
            Err(error) => Err(StateDatabaseError::Unusable { path, error }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StateDatabaseError> {
        work(&self.connection)
            .map_err(|error| StateDatabaseError::Unusable { path: self.path.clone(), error })
    }

    pub fn execute(&self, statement: &str, values: &[&dyn ToSql]) -> Result<(), StateDatabaseError> {
        self.run(|db| db.prepare_cached(statement)?.execute(values).map(drop))
    }
}
