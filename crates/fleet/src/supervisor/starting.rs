//! The start of a harness: its directory, its process, and the record of it before it may begin.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use autonoe_core::money::Usd;
use autonoe_harness::control::{HarnessDirectory, HarnessFileError};
use autonoe_harness::handle::{HarnessHandle, HarnessStatus};
use autonoe_harness::process::process_identity;
use jiff::Timestamp;
use serde_json::json;

use super::harness_output::open_output;
use super::running::RunningHarness;
use super::{FleetEvent, Supervisor, SupervisorError};
use crate::fleet_file::SubHarness;
use crate::fleet_host::{FleetPoint, HomeBranch, PrepareError};
use crate::strategy::StartSetup;

/// What a new process waits for: it is on record.
pub const BEGIN: &[u8] = b"begin\n";

/// With less than this no session is worth its beginning.
const LEAST_COST: Usd = Usd(0.01);

/// Name of the instruction with which a harness begins.
const CONTEXT_FILE: &str = "001-context.txt";

impl Supervisor<'_> {
    /// Makes a directory for a harness and starts it there. What prevents that is the end of the harness, not of the fleet.
    pub(super) fn begin(&mut self, id: &str, setup: &StartSetup) -> Result<(), SupervisorError> {
        let harness = match self.with_usable_backends(&self.plan_of(id)?) {
            Ok(harness) => harness,
            Err(why) => return self.settle_unstarted(id, HarnessStatus::Failed, &why),
        };
        for other in &setup.builds_on {
            if let Some(why) = self.left_behind(other)? {
                let why = format!("The commits of {other}, on which it builds, have not come home: {why}");
                return self.settle_unstarted(id, HarnessStatus::Failed, &why);
            }
        }
        let home_of = |other: &String| self.homes.iter().find(|(id, _)| id == other);
        let homes: Vec<HomeBranch> =
            setup.builds_on.iter().filter_map(home_of).map(|(_, home)| home.clone()).collect();
        let working_dir = match self.host.prepare(&self.fleet, &harness, &homes, &self.over()?) {
            Ok(working_dir) => working_dir,
            Err(PrepareError::NoSpace(why)) if !self.running.is_empty() => {
                self.warn(format!("{id} waits until another harness has ended: {why}"));
                self.waits_for_space = true;
                return Ok(());
            }
            Err(why) => return self.settle_unstarted(id, HarnessStatus::Failed, &why.to_string()),
        };
        let branch = format!("autonoe/{}/{id}", self.fleet.plan.name);
        self.state.set_working_dir(id, &working_dir, &branch, Timestamp::now())?;
        self.checkpoint(FleetPoint::Prepared)?;
        if let Err(why) = send_context(&working_dir, id, setup.context.as_deref()) {
            return self.settle_unstarted(id, HarnessStatus::Failed, &why.to_string());
        }
        self.spawn(&harness, &working_dir, Duration::ZERO)
    }

    /// Where harnesses worked that are over, the first to end first.
    fn over(&self) -> Result<Vec<PathBuf>, SupervisorError> {
        let mut rows = self.state.harnesses()?;
        rows.retain(|row| row.ended_as.is_some());
        rows.sort_by_key(|row| row.ended_as);
        Ok(rows.into_iter().filter_map(|row| row.working_dir).collect())
    }

    /// Starts the process, puts it on record, and releases it. Earlier processes of the harness were at work for `before`.
    pub(super) fn spawn(
        &mut self,
        harness: &SubHarness,
        working_dir: &Path,
        before: Duration,
    ) -> Result<(), SupervisorError> {
        let id = harness.id.as_str();
        let max_cost = self.reserve(id)?;
        if max_cost.is_some_and(|part| part < LEAST_COST) {
            let why = "Less than a cent of the fleet's money is left for it; a higher `max_cost` in its file, or --max-cost, allows more.";
            return self.settle_unstarted(id, HarnessStatus::Failed, why);
        }
        let mut command = self.host.command(harness, working_dir, max_cost);
        let spawned = open_output(working_dir, id).and_then(|(output, errors)| {
            let spawned = command.stdin(Stdio::piped()).stdout(output).stderr(errors).spawn();
            spawned.map_err(|error| format!("The process cannot be started: {error}."))
        });
        let mut child = match spawned {
            Ok(child) => child,
            Err(why) => return self.settle_unstarted(id, HarnessStatus::Failed, &why),
        };
        self.checkpoint(FleetPoint::Spawned)?;
        let pid = child.id();
        self.state.record_process(id, pid, &process_identity(pid), Timestamp::now())?;
        self.checkpoint(FleetPoint::Recorded)?;
        let released = child.stdin.take().map(|mut stdin| stdin.write_all(BEGIN));
        let handle = match HarnessHandle::of_child(working_dir, id, child) {
            Ok(handle) => handle,
            Err(error) => return Err(SupervisorError::Host(error.to_string())),
        };
        // A process that cannot be released has ended, which is noticed like any other end.
        if let Some(Ok(())) = released {
            self.state.record_released(id)?;
        }
        self.checkpoint(FleetPoint::Released)?;
        let attempt = self.row(id)?.attempts;
        self.share("spawn", Some(id), &json!({ "pid": pid, "attempt": attempt }))?;
        if let Some(member) = self.member(id) {
            member.status = HarnessStatus::Running;
        }
        self.running.push(RunningHarness::new(handle, before));
        self.emit(FleetEvent::HarnessStarted { id: id.to_owned(), pid, attempt });
        Ok(())
    }
}

fn send_context(working_dir: &Path, id: &str, context: Option<&str>) -> Result<(), HarnessFileError> {
    let directory = HarnessDirectory::create(working_dir, id)?;
    context.map_or(Ok(()), |context| directory.send_once(CONTEXT_FILE, context))
}
