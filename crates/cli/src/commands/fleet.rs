//! `autonoe fleet`

mod context;
mod control;
mod disk_use;
mod fleet_plan;
mod logs;
mod processes;
mod screen;
mod status;
mod task_fleet;
mod task_roadmap;
mod up;

use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_fleet::{FleetRow, HarnessRow, MetaState, MetaStateError};
use autonoe_harness::control::HarnessDirectory;
use autonoe_harness::handle::HarnessHandle;
use autonoe_harness::process::process_identity;
use autonoe_store::Project;
use clap::{Args, Command, Subcommand};

use self::processes::{at_work, with_processes};
use crate::environment::Environment;
use crate::project_args::ProjectArgs;

/// Run several harnesses under one strategy: parallel, pipeline, race or voting
///
/// Each harness is a process with a roadmap, a clone and a branch of its own. See docs/fleet.md.
#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    command: FleetSubcommand,
}

#[derive(Debug, Subcommand)]
enum FleetSubcommand {
    /// Start the harnesses of a fleet file, or continue them
    Up(up::FleetUpArgs),
    /// Show the harnesses: state, progress, task, session, cost and alerts
    Status(status::FleetStatusArgs),
    /// Send an instruction to a harness
    Send(control::FleetSendArgs),
    /// Let no new session start
    Pause(control::FleetPauseArgs),
    /// Continue what is paused
    Resume(control::FleetResumeArgs),
    /// End harnesses after their current sessions
    Stop(control::FleetStopArgs),
    /// End the processes of harnesses now
    Kill(control::FleetKillArgs),
    /// Show the log of a harness
    Logs(logs::FleetLogsArgs),
    /// Show the alerts of harnesses
    Alerts(logs::FleetAlertsArgs),
    /// Show or set what the harnesses share
    Context(context::FleetContextArgs),
    /// List the files that harnesses have published, or print one
    Artifacts(context::FleetArtifactsArgs),
    /// Show how much disk space harnesses and agents use
    Du(disk_use::FleetDuArgs),
}

/// `parser` is the one of the whole command line, for the commands of harnesses.
pub fn cmd_fleet(args: FleetArgs, environment: &Environment, parser: fn() -> Command) -> Result<u8, Fault> {
    match args.command {
        FleetSubcommand::Up(args) => up::cmd_up(&args, environment, &parser()),
        FleetSubcommand::Status(args) => status::cmd_status(&args, environment),
        FleetSubcommand::Send(args) => control::cmd_send(&args, environment),
        FleetSubcommand::Pause(args) => control::cmd_pause(&args, environment),
        FleetSubcommand::Resume(args) => control::cmd_resume(&args, environment),
        FleetSubcommand::Stop(args) => control::cmd_stop(&args, environment),
        FleetSubcommand::Kill(args) => control::cmd_kill(&args, environment),
        FleetSubcommand::Logs(args) => logs::cmd_logs(&args, environment),
        FleetSubcommand::Alerts(args) => logs::cmd_alerts(&args, environment),
        FleetSubcommand::Context(args) => context::cmd_context(&args, environment),
        FleetSubcommand::Artifacts(args) => context::cmd_artifacts(&args, environment),
        FleetSubcommand::Du(args) => disk_use::cmd_du(&args, environment),
    }
}

/// Code of the fault where there is no fleet.
const NO_FLEET: &str = "no_fleet";

/// The fleet of a project, at work or over.
struct KnownFleet {
    state: MetaState,
    row: FleetRow,
    harnesses: Vec<HarnessRow>,
}

impl KnownFleet {
    fn open(project: &ProjectArgs, environment: &Environment) -> Result<Self, Fault> {
        Self::find(&environment.project(project)?, environment)
    }

    fn find(project: &Project, environment: &Environment) -> Result<Self, Fault> {
        let known = Self::read(project.root())
            .map_err(|error| with_processes(fault("fleet_state", error), project, environment))?;
        known.ok_or_else(|| {
            let message = format!("There is no fleet in {}.", project.root().display());
            Fault::permanent(FaultLayer::Config, NO_FLEET, message).hint(
                match at_work(project, environment) {
                    None => "`autonoe fleet up FLEET.md` starts one.".to_owned(),
                    Some(at_work) => format!("But these are at work: {at_work}. End them with `kill`."),
                },
            )
        })
    }

    /// `None` if the project never had one.
    fn read(project: &Path) -> Result<Option<Self>, MetaStateError> {
        let Some(state) = MetaState::find(project)? else { return Ok(None) };
        let Some(row) = state.fleet()? else { return Ok(None) };
        let harnesses = state.harnesses()?;
        Ok(Some(Self { state, row, harnesses }))
    }

    /// The named harnesses, or all.
    fn chosen(&self, ids: &[String]) -> Result<Vec<&HarnessRow>, Fault> {
        let find = |id: &String| {
            self.harnesses.iter().find(|harness| harness.id == *id).ok_or_else(|| {
                let known: Vec<&str> = self.harnesses.iter().map(|harness| harness.id.as_str()).collect();
                let message = format!("There is no harness '{id}' in the fleet {}.", self.row.plan.name);
                Fault::permanent(FaultLayer::Config, "no_harness", message)
                    .hint(format!("The harnesses are {}.", known.join(", ")))
            })
        };
        match ids.is_empty() {
            true => Ok(self.harnesses.iter().collect()),
            false => ids.iter().map(find).collect(),
        }
    }
}

/// The files of a harness; `None` before it has a directory.
fn directory_of(harness: &HarnessRow) -> Option<HarnessDirectory> {
    HarnessDirectory::open(harness.working_dir.as_deref()?, &harness.id).ok()
}

/// A handle to a harness whose process runs; `None` otherwise.
fn running(harness: &HarnessRow) -> Option<HarnessHandle> {
    let (pid, directory) = (harness.pid?, harness.working_dir.as_deref()?);
    if harness.result.is_some() {
        return None;
    }
    let handle = HarnessHandle::attach(directory, &harness.id, pid).ok()?;
    // The process was resolved before it is compared, so it is the one on record.
    let is_same = !harness.process.is_empty() && process_identity(pid) == harness.process;
    is_same.then_some(handle)
}

fn fault(code: &str, error: impl std::fmt::Display) -> Fault {
    Fault::permanent(FaultLayer::System, code, error.to_string())
}
