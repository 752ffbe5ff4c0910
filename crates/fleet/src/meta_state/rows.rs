//! What the state says: the fleet and its harnesses, as they are read back.

use std::path::PathBuf;
use std::time::Duration;

use autonoe_harness::handle::{HarnessResult, HarnessStatus};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use super::request::Request;
use super::{MetaState, MetaStateError};
use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::FleetFile;
use crate::fleet_host::HomeBranch;

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
    /// Why its commits have not come home, and where they are; `None` if they have, or if it has none.
    pub left_behind: Option<String>,
    /// The first process; `None` before that.
    pub started_at: Option<Timestamp>,
    /// Its place in the order of ends; `None` until it is over.
    pub ended_as: Option<u32>,
    pub result: Option<HarnessResult>,
}

impl MetaState {
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
                            h.ended_as, h.result_json, w.branch_name, w.merge_commit, w.note, h.started_at
                     FROM sub_harnesses h LEFT JOIN worktrees w ON w.harness_id = h.harness_id
                     ORDER BY h.place";
        self.run(|db| db.prepare_cached(query)?.query_map([], harness_row)?.collect())
    }
}

fn harness_row(row: &Row<'_>) -> rusqlite::Result<HarnessRow> {
    let (working_dir, status): (String, String) = (row.get(1)?, row.get(6)?);
    let result: Option<String> = row.get(10)?;
    let home: Option<(String, String)> = row.get::<_, Option<String>>(11)?.zip(row.get(12)?);
    let note: Option<String> = row.get(13)?;
    let started_at: Option<String> = row.get(14)?;
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
        left_behind: note.clone().filter(|_| home.is_none()),
        home: home.map(|(branch, commit)| HomeBranch { branch, commit, note }),
        started_at: started_at.map(time).transpose()?,
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
