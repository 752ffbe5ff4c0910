//! What a supervisor does first: it finds the harnesses of the one before it.

use std::time::{Duration, Instant};

use autonoe_harness::handle::{HarnessHandle, HarnessStatus};
use autonoe_harness::process::process_identity;
use jiff::Timestamp;
use serde_json::json;

use super::running::RunningHarness;
use super::time_used::{BootTime, time_used};
use super::{FleetEvent, Supervisor, SupervisorError};
use crate::meta_state::HarnessRow;

/// How long a process may take to begin or to end if it is not known whether it was released.
const UNSURE_LIMIT: Duration = Duration::from_secs(30);
const UNSURE_LOOK: Duration = Duration::from_millis(20);

impl Supervisor<'_> {
    pub(super) fn adopt(&mut self, mut rows: Vec<HarnessRow>) -> Result<(), SupervisorError> {
        // The strategy hears of the ends in their order.
        rows.sort_by_key(|row| row.ended_as.unwrap_or(u32::MAX));
        for row in rows {
            self.homes.extend(row.home.clone().map(|home| (row.id.clone(), home)));
            self.left_behind.extend(row.left_behind.clone().map(|why| (row.id.clone(), why)));
            if row.result.is_some() {
                self.ended.push_back(row.id);
            } else if let (Some(pid), Some(_)) = (row.pid, &row.working_dir) {
                self.adopt_process(&row, pid)?;
            }
        }
        Ok(())
    }

    fn adopt_process(&mut self, row: &HarnessRow, pid: u32) -> Result<(), SupervisorError> {
        let working_dir = row.working_dir.clone().unwrap_or_default();
        // The process is resolved first, and then compared: if it is the one on record now, it was when it was resolved.
        let attached = HarnessHandle::attach(&working_dir, &row.id, pid);
        let is_same = !row.process.is_empty() && process_identity(pid) == row.process;
        // Number 0 is nobody's process, which has ended.
        let attached = if is_same { attached } else { HarnessHandle::attach(&working_dir, &row.id, 0) };
        let handle = match attached {
            Ok(handle) => handle,
            Err(error) => return self.settle_unstarted(&row.id, HarnessStatus::Failed, &error.to_string()),
        };
        let boot_time = BootTime::now();
        let process_age = if is_same { boot_time.age_of(&row.process) } else { Duration::ZERO };
        let started = row.started_at.unwrap_or_else(Timestamp::now);
        let since_start = Timestamp::now().duration_since(started);
        let most = boot_time.0.map(|boot_time| boot_time + self.fleet.elapsed);
        let running = RunningHarness::new(handle, time_used(since_start, process_age, most));
        if !row.is_released && is_unbegun(&running) {
            self.state.forget_process(&row.id)?;
            if let Some(member) = self.member(&row.id) {
                member.status = HarnessStatus::Pending;
            }
            return Ok(());
        }
        if is_same && !running.has_ended() {
            self.share("adopt", Some(&row.id), &json!({ "pid": pid }))?;
            self.emit(FleetEvent::HarnessAdopted { id: row.id.clone(), pid });
        }
        // One that has ended meanwhile is noticed at the first wait.
        self.running.push(running);
        Ok(())
    }
}

/// Whether a process that was perhaps not released has ended without having begun. If it was, it soon writes its status.
fn is_unbegun(running: &RunningHarness) -> bool {
    let has_begun = || running.handle.directory().read_status().ok().flatten().is_some();
    let deadline = Instant::now() + UNSURE_LIMIT;
    while !running.has_ended() && !has_begun() && Instant::now() < deadline {
        std::thread::sleep(UNSURE_LOOK);
    }
    running.has_ended() && !has_begun()
}
