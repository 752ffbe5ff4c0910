//! `--detach`: runs the same command in the background, in a session of its own, so that a closed terminal does not end it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_store::{LockStatus, Project, ProjectLock};

use crate::environment::Environment;
use crate::present;
use crate::write_fault::cannot_write;

/// How long to wait for the run to begin.
const START_LIMIT: Duration = Duration::from_secs(60);
const START_LOOK: Duration = Duration::from_millis(20);

/// In place of `--detach`, for the process in the background.
const IN_BACKGROUND: &str = "--in-background";

/// Starts this command again without a terminal, and waits until it has begun or failed. Returns the exit code.
pub fn start_detached(project: &Project, environment: &Environment) -> Result<u8, Fault> {
    let directory = project.event_logs();
    let output = directory.join("detached.txt");
    let unwritable = |error: &std::io::Error| cannot_write(FaultLayer::System, "log", &output, error);
    fs::create_dir_all(&directory).map_err(|error| unwritable(&error))?;
    let file = File::create(&output).map_err(|error| unwritable(&error))?;
    let errors = file.try_clone().map_err(|error| unwritable(&error))?;
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| match argument == "--detach" {
        true => OsString::from(IN_BACKGROUND),
        false => argument,
    });
    let mut command = Command::new(environment.own_executable()?);
    command.args(arguments).stdin(Stdio::null()).stdout(file).stderr(errors);
    let before = SystemTime::now();
    let mut child = command.spawn().map_err(|error| {
        let message = format!("The run cannot be started in the background: {error}.");
        Fault::permanent(FaultLayer::System, "detach", message)
    })?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        // It may have ended already, well or not.
        if let Ok(Some(status)) = child.try_wait() {
            present::print_lines(&fs::read_to_string(&output).unwrap_or_default());
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::ERROR));
        }
        // Until it writes its events, `autonoe logs` would show those of the run before.
        let has_begun = matches!(ProjectLock::status(project), LockStatus::By(holder) if holder.pid == child.id())
            && has_events_since(&directory, &output, before);
        if has_begun || Instant::now() >= deadline {
            break;
        }
        std::thread::sleep(START_LOOK);
    }
    present::print(&format!(
        "Running in the background (process {}).\n  autonoe attach    watch it\n  autonoe logs -f   its events\n  autonoe status    \
         where it stands\n  autonoe stop      end it after the current session\n",
        child.id()
    ));
    Ok(exit::DONE)
}

/// Whether an event log, which the output is not, was written since then.
fn has_events_since(directory: &Path, output: &Path, before: SystemTime) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut logs = entries.filter(|entry| entry.path() != output);
    logs.any(|entry| entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|at| at >= before))
}

/// Leaves the session of the terminal, whose end would otherwise end this process.
pub fn leave_terminal() {
    // Fails only for the leader of a process group, which this process is not.
    let _ = rustix::process::setsid();
}
