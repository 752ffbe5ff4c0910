//! Runs git in rooms, without anyone's settings.

use std::io;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_sandbox::{Launch, SessionSandbox};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// Time limit for git.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Time limit for what is only informative.
const SHORT_LIMIT: Duration = Duration::from_secs(30);

/// Fault code.
pub(crate) const TIMED_OUT: &str = "git_timeout";

/// Maximum output of git, in bytes.
const MAX_OUTPUT: u64 = 256 * 1024;

const ENVIRONMENT: [(&str, &str); 18] = [
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
    // Checkouts are thrown away.
    ("GIT_CONFIG_KEY_2", "core.fsync"),
    ("GIT_CONFIG_VALUE_2", "none"),
    ("GIT_CONFIG_KEY_3", "core.warnAmbiguousRefs"),
    ("GIT_CONFIG_VALUE_3", "false"),
    // One worker per processor.
    ("GIT_CONFIG_KEY_4", "checkout.workers"),
    ("GIT_CONFIG_VALUE_4", "0"),
    ("GIT_CONFIG_KEY_5", "checkout.thresholdForParallelism"),
    ("GIT_CONFIG_VALUE_5", "200"),
];

pub(crate) async fn script(session_sandbox: &SessionSandbox, script: &str) -> Result<Launch, Fault> {
    Ok(program(session_sandbox, "sh").await?.args(["-c", script, "sh"]))
}

/// `program` is git itself or one that calls it.
pub(crate) async fn program(session_sandbox: &SessionSandbox, program: &str) -> Result<Launch, Fault> {
    let launch = session_sandbox.command(program).await.map_err(|error| {
        let message = format!("Cannot open the room of a checkout: {error}.");
        Fault::transient(FaultLayer::System, "room", message)
    })?;
    Ok(launch.envs(ENVIRONMENT))
}

/// Returns the exit code, and stdout and stderr combined.
pub(crate) async fn output(launch: Launch) -> Result<(i32, String), Fault> {
    output_up_to(launch, MAX_OUTPUT).await
}

/// Like [`output`], truncated to `bytes`.
pub(crate) async fn output_up_to(launch: Launch, bytes: u64) -> Result<(i32, String), Fault> {
    output_within(launch, bytes, TIME_LIMIT).await
}

/// Like [`output`], with a shorter time limit.
pub(crate) async fn output_soon(launch: Launch) -> Result<(i32, String), Fault> {
    output_within(launch, MAX_OUTPUT, SHORT_LIMIT).await
}

async fn output_within(launch: Launch, bytes: u64, limit: Duration) -> Result<(i32, String), Fault> {
    let broken = |error: &dyn std::fmt::Display| {
        let message = format!("git failed on a checkout: {error}.");
        Fault::transient(FaultLayer::System, "checkout", message)
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
    match timeout(limit, work).await {
        Ok(result) => result.map_err(|error| broken(&error)),
        Err(_) => {
            let message = format!("git did not finish within {} s and was killed.", limit.as_secs());
            Err(Fault::transient(FaultLayer::System, TIMED_OUT, message).hint(
                "Run `git status` in the project. If that takes as long, look for a named pipe: `find . -type p`.",
            ))
        }
    }
}
