//! A server program in the session's room: starts it, and reports how it ended.

use std::path::Path;
use std::time::Duration;

use autonoe_sandbox::{Exit, MAX_LINE_BYTES, PipedProgram, Pipes, SessionSandbox};

use crate::config::Secrets;
use crate::server_error::ServerError;

/// How long a program may take to exit when its input has been closed.
pub(crate) const EXIT_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait for the exit of a program that has closed its output.
const END_LIMIT: Duration = Duration::from_millis(500);

/// Starts `command` in the room, in `dir`.
pub(crate) async fn start(
    session_sandbox: &SessionSandbox,
    command: &str,
    args: &[String],
    env: &Secrets,
    dir: &Path,
) -> Result<(PipedProgram, Pipes), ServerError> {
    let launch =
        session_sandbox.command(command).await.map_err(|error| ServerError::permanent(error.to_string()))?;
    PipedProgram::start(launch.args(args).envs(&env.0).cwd(dir))
        .map_err(|error| ServerError::permanent(error.to_string()))
}

/// Stops the program if it is still running. Replaces the reason with the exit code if the program ended by itself, and adds
/// the end of its stderr.
pub(crate) async fn add_exit_details(mut program: PipedProgram, mut error: ServerError) -> ServerError {
    let overflowed = program.overflowed();
    if overflowed {
        error.why = format!("it sent a message of more than {} MiB", MAX_LINE_BYTES >> 20);
    }
    let ended_by_itself = error.is_transient && !overflowed;
    let ended = if ended_by_itself { program.ended(END_LIMIT).await } else { None };
    match ended {
        Some(Ok(Exit::NotStarted { why, .. })) => return ServerError::permanent(why),
        Some(Ok(Exit::Code(code))) => error.why = format!("it exited with code {code}"),
        Some(Err(lost)) => error.why = format!("it was lost: {lost}"),
        None => program.stop().await,
    }
    if let Some(stderr) = program.stderr_tail().await {
        error.why.push_str("; stderr: ");
        error.why.push_str(&stderr);
    }
    error
}
