//! Git in rooms: as it comes, without anybody's settings.

use std::io;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_sandbox::{Launch, SessionSandbox};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// How long git may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How much git may say.
const MAX_SAID: u64 = 256 * 1024;

const PLAIN: [(&str, &str); 18] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_CONFIG_COUNT", "6"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
    // What is checked out is thrown away.
    ("GIT_CONFIG_KEY_2", "core.fsync"),
    ("GIT_CONFIG_VALUE_2", "none"),
    ("GIT_CONFIG_KEY_3", "core.warnAmbiguousRefs"),
    ("GIT_CONFIG_VALUE_3", "false"),
    // As many files at once as there are processors.
    ("GIT_CONFIG_KEY_4", "checkout.workers"),
    ("GIT_CONFIG_VALUE_4", "0"),
    ("GIT_CONFIG_KEY_5", "checkout.thresholdForParallelism"),
    ("GIT_CONFIG_VALUE_5", "200"),
];

/// Prepares to run a script that calls git.
pub(crate) async fn script(session_sandbox: &SessionSandbox, script: &str) -> Result<Launch, Fault> {
    Ok(program(session_sandbox, "sh").await?.args(["-c", script, "sh"]))
}

/// Prepares to run a program, git itself or one that calls it.
pub(crate) async fn program(session_sandbox: &SessionSandbox, program: &str) -> Result<Launch, Fault> {
    let launch = session_sandbox.command(program).await.map_err(|error| {
        let message = format!("The room of a checkout cannot be opened: {error}.");
        Fault::passing(Layer::System, "room", message)
    })?;
    Ok(launch.envs(PLAIN))
}

/// Runs a program and returns its exit code and what it said.
pub(crate) async fn said(launch: Launch) -> Result<(i32, String), Fault> {
    said_up_to(launch, MAX_SAID).await
}

/// The same, with so many bytes of what it said at most.
pub(crate) async fn said_up_to(launch: Launch, bytes: u64) -> Result<(i32, String), Fault> {
    let broken = |error: &dyn std::fmt::Display| {
        let message = format!("git failed while a checkout was made or looked at: {error}.");
        Fault::passing(Layer::System, "checkout", message)
    };
    let (reader, writer) = io::pipe().map_err(|error| broken(&error))?;
    let launch = launch.stderr(writer.try_clone().map_err(|error| broken(&error))?).stdout(writer);
    let mut child = launch.spawn().map_err(|error| broken(&error))?;
    let work = async {
        let mut text = Vec::new();
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
        reader.take(bytes).read_to_end(&mut text).await?;
        let exit = child.wait().await?;
        io::Result::Ok((exit.code(), String::from_utf8_lossy(&text).into_owned()))
    };
    match timeout(LIMIT, work).await {
        Ok(said) => said.map_err(|error| broken(&error)),
        Err(_) => Err(broken(&format!("it did not finish within {} s and was ended", LIMIT.as_secs()))),
    }
}
