//! A server that is a program in the session's room: started, ended, and what became of it.

use std::path::Path;
use std::time::Duration;

use autonoe_sandbox::{Exit, MAX_LINE_BYTES, Pipes, Program, SessionSandbox};

use super::config::Secrets;
use super::trouble::Trouble;

/// How long a program may take to exit when its input has been closed.
pub(super) const EXIT_LIMIT: Duration = Duration::from_secs(2);
/// How long is waited for the end of a program that has closed its output.
const END_LIMIT: Duration = Duration::from_millis(500);

/// Starts `command` in the room, in `dir`.
pub(super) async fn start(
    session_sandbox: &SessionSandbox,
    command: &str,
    args: &[String],
    env: &Secrets,
    dir: &Path,
) -> Result<(Program, Pipes), Trouble> {
    let launch = session_sandbox
        .command(command)
        .await
        .map_err(|error| Trouble::for_good(format!("there is no room for it: {error}")))?;
    Program::start(launch.args(args).envs(&env.0).cwd(dir))
        .map_err(|error| Trouble::for_good(error.to_string()))
}

/// Ends it if it has not ended. Adds its last words to the trouble with it, and how it ended if that was the trouble.
pub(super) async fn autopsy(mut program: Program, mut trouble: Trouble) -> Trouble {
    let overflowed = program.overflowed();
    if overflowed {
        trouble.why = format!("it sent a message of more than {} MiB", MAX_LINE_BYTES >> 20);
    }
    let has_ended_itself = trouble.may_pass && !overflowed;
    let ended = if has_ended_itself { program.ended(END_LIMIT).await } else { None };
    match ended {
        Some(Ok(Exit::NotStarted { why, .. })) => return Trouble::for_good(why),
        Some(Ok(Exit::Code(code))) => trouble.why = format!("it ended with exit code {code}"),
        Some(Err(error)) => trouble.why = format!("it was lost: {error}"),
        None => program.stop().await,
    }
    if let Some(words) = program.last_words().await {
        trouble.why.push_str("; its last words: ");
        trouble.why.push_str(&words);
    }
    trouble
}
