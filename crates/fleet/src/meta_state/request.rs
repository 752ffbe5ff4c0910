//! What people ask of a fleet while it is at work. Any process may leave a request; the supervisor reads it.

use rusqlite::params;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::{MetaState, MetaStateError};

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

impl MetaState {
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
}
