//! What the supervisor records: processes before they begin, progress, ends and events.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use autonoe_core::money::Usd;
use autonoe_harness::handle::{HarnessResult, HarnessStatus};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::{MetaState, MetaStateError};
use crate::aggregated_result::AggregatedResult;
use crate::fleet_host::{AtHome, HomeComing};

/// The name of the event that says what a harness may cost.
pub const RESERVED: &str = "reserve";

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

impl MetaState {
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

    #[cfg(test)]
    pub(crate) fn record_start(&self, id: &str, at: Timestamp) -> Result<(), MetaStateError> {
        let values = params![id, at.to_string()];
        self.execute("UPDATE sub_harnesses SET started_at = ?2 WHERE harness_id = ?1", values)
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

    /// A harness is over. `home` is where its commits are, or why they have not come home.
    pub fn settle(
        &self,
        status: HarnessStatus,
        result: &HarnessResult,
        home: &HomeComing,
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
            write_home(&transaction, id, home, now)?;
            transaction.execute(
                "UPDATE meta_state SET completed_harnesses = (SELECT count(*) FROM sub_harnesses WHERE status = 'completed'),
                     failed_harnesses = (SELECT count(*) FROM sub_harnesses WHERE status = 'failed')",
                [],
            )?;
            transaction.commit()
        })
    }

    /// Of a harness that is over already.
    pub fn record_home(&self, id: &str, home: &HomeComing, now: Timestamp) -> Result<(), MetaStateError> {
        self.run(|db| write_home(db, id, home, now))
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

    /// What each harness may cost, by the events that said so.
    pub fn reserved(&self) -> Result<BTreeMap<String, Usd>, MetaStateError> {
        let query = "SELECT harness_id, json_extract(details, '$.max_cost') FROM coordination_events
                     WHERE event_type = ?1 AND harness_id IS NOT NULL";
        let read = |row: &Row<'_>| Ok((row.get(0)?, Usd(row.get(1)?)));
        self.run(|db| db.prepare_cached(query)?.query_map([RESERVED], read)?.collect())
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
}

fn write_home(db: &Connection, id: &str, home: &HomeComing, now: Timestamp) -> rusqlite::Result<()> {
    match home {
        Ok(AtHome { passed: Some(home), .. }) => db.execute(
            "UPDATE worktrees SET branch_name = ?2, merge_commit = ?3, merged_at = ?4, note = ?5 WHERE harness_id = ?1",
            params![id, home.branch, home.commit, now.to_string(), home.note],
        )?,
        Ok(AtHome { passed: None, .. }) => 0,
        Err(why) => db.execute("UPDATE worktrees SET note = ?2 WHERE harness_id = ?1", params![id, why])?,
    };
    Ok(())
}
