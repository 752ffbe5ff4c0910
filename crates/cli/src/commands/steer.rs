//! `autonoe tell`, `pause`, `resume` and `stop`: steer a run from another terminal.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::show_bytes;
use autonoe_harness::control::HarnessDirectory;
use autonoe_store::{
    ControlDirectory, LockHolder, LockStatus, MAX_MESSAGE, Project, ProjectLock, StopRequest,
};
use clap::Args;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// How long `stop --now` waits for the run to end, and between looks.
const STOP_LIMIT: Duration = Duration::from_secs(30);
const STOP_LOOK: Duration = Duration::from_millis(100);

/// Send a message to the agent that is working, or to the next one
///
/// The native agent, Claude Code and Codex get it at their next turn; other agents at the start of the next session.
#[derive(Debug, Args)]
pub struct TellArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// The message
    #[arg(required = true, value_name = "MESSAGE")]
    message: Vec<String>,
}

/// Pause the run after its current session
#[derive(Debug, Args)]
pub struct PauseArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

/// Continue a run that is paused
#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

/// End the run after its current session
#[derive(Debug, Args)]
pub struct StopArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Do not wait for the session
    #[arg(long)]
    now: bool,
}

pub fn cmd_tell(args: &TellArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let text = args.message.join(" ");
    if text.trim().is_empty() {
        return Err(Fault::permanent(FaultLayer::Config, "message", "The message is empty."));
    }
    if text.len() as u64 > MAX_MESSAGE {
        let limit = show_bytes(MAX_MESSAGE);
        let message = format!("The message is larger than {limit}.");
        return Err(Fault::permanent(FaultLayer::Config, "message", message)
            .hint("Put long instructions into a file of the project, commit it, and send its name."));
    }
    let running = running(&project)?;
    ControlDirectory::of(&project).tell(&text)?;
    present::print(match running {
        Some(_) => {
            "Sent. The native agent, Claude Code and Codex get it at their next turn, other agents with the next session.\n"
        }
        None => "No run is in progress. The first session of the next run gets the message.\n",
    });
    Ok(exit::DONE)
}

pub fn cmd_pause(args: &PauseArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    needs_run(&project)?;
    ControlDirectory::of(&project).set_paused(true)?;
    present::print("The run pauses after its current session. `autonoe resume` continues it.\n");
    Ok(exit::DONE)
}

pub fn cmd_resume(args: &ResumeArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    needs_run(&project)?;
    let control = ControlDirectory::of(&project);
    let was_paused = control.is_paused();
    control.set_paused(false)?;
    let was_file_there = remove_pause_files(project.root());
    present::print(match was_paused || was_file_there {
        true => "The run continues.\n",
        false => "The run was not paused.\n",
    });
    Ok(exit::DONE)
}

/// A harness may also be paused by a file, which a person or a critical alert has made. Returns whether there was one.
fn remove_pause_files(project: &Path) -> bool {
    paused_harnesses(project).filter(|harness| harness.resume().is_ok()).count() > 0
}

/// The harnesses of a project that a file pauses.
pub fn paused_harnesses(project: &Path) -> impl Iterator<Item = HarnessDirectory> {
    let entries = fs::read_dir(project.join(".harness")).into_iter().flatten().flatten();
    let harnesses =
        entries.filter_map(move |entry| HarnessDirectory::open(project, entry.file_name().to_str()?).ok());
    harnesses.filter(HarnessDirectory::is_paused)
}

pub fn cmd_stop(args: &StopArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let holder = needs_run(&project)?;
    let control = ControlDirectory::of(&project);
    if !args.now {
        control.request_stop(StopRequest::AfterSession)?;
        present::print("The run ends after its current session. `autonoe stop --now` ends it at once.\n");
        return Ok(exit::DONE);
    }
    control.request_stop(StopRequest::Now)?;
    let deadline = Instant::now() + STOP_LIMIT;
    while running(&project)?.as_ref() == Some(&holder) {
        if Instant::now() >= deadline {
            let message = format!("Process {} was asked to stop and is still running.", holder.pid);
            return Err(Fault::permanent(FaultLayer::System, "not_stopped", message)
                .hint(format!("If it hangs, end it: kill {}", holder.pid)));
        }
        std::thread::sleep(STOP_LOOK);
    }
    present::print("Stopped. `autonoe run` continues where it stopped.\n");
    Ok(exit::DONE)
}

/// The run in progress; a fault if there is none.
pub fn needs_run(project: &Project) -> Result<LockHolder, Fault> {
    running(project)?.ok_or_else(|| {
        let message = format!("No run is in progress in {}.", project.root().display());
        Fault::permanent(FaultLayer::Config, "no_run", message)
            .hint("`autonoe run` starts one, and continues where an earlier one stopped.")
    })
}

/// The run in progress that can be steered from here.
fn running(project: &Project) -> Result<Option<LockHolder>, Fault> {
    match ProjectLock::status(project) {
        LockStatus::Free => Ok(None),
        LockStatus::By(holder) => Ok(Some(holder)),
        LockStatus::Unknown { pid } => {
            let process = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            let message = format!(
                "The run in {}{process} belongs to another user or uses another state directory.",
                project.root().display()
            );
            Err(Fault::permanent(FaultLayer::Config, "foreign_run", message)
                .hint("Steer it as the user who started it, with the same HOME and XDG_STATE_HOME."))
        }
    }
}
