//! Runs helper programs of the user, for example to print a key or a version. They run outside the sandbox, as the user, without input
//! or terminal, under a time limit. A supervisor ends them with this process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{BoundedCommand, Bounds, CommandEnd, MAX_OUTPUT, OutputLimits, Sandbox};

use crate::present;

/// Time after which a message says what is being waited for.
const QUIET_PERIOD: Duration = Duration::from_secs(3);

/// Bytes of output that are kept of a program that should print little.
pub const LITTLE_OUTPUT: OutputLimits = OutputLimits { head: 16 * 1024, tail: 4 * 1024 };

/// How much of standard error is shown in a message.
const STDERR_LINES: usize = 3;
const STDERR_CHARS: usize = 300;

pub struct Helper<'a> {
    /// For messages, such as "the key of the provider 'mine'".
    pub purpose: String,
    pub program: OsString,
    /// Never shown, since they may contain secrets.
    pub args: Vec<OsString>,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    pub time_limit: Duration,
    /// Bytes of its output that are kept.
    pub output_limits: OutputLimits,
    /// Path of this binary, which supervises the program.
    pub own_executable: &'a Path,
}

pub struct HelperOutput {
    pub code: i32,
    pub output: String,
    /// The last lines of standard error; `None` if it is empty.
    pub stderr: Option<String>,
}

/// A clause about the program.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    #[error("it did not finish within {} and was killed", format_duration(*.0))]
    TimedOut(Duration),
    #[error("it printed more than {MAX_OUTPUT} bytes and was killed")]
    TooMuchOutput,
    #[error("{why}")]
    NotRun { why: String },
    #[error(transparent)]
    Directory(#[from] io::Error),
}

impl Helper<'_> {
    /// Dropping the future ends the program and everything it started.
    pub async fn run(self) -> Result<HelperOutput, HelperError> {
        let (purpose, limit) = (self.purpose.clone(), self.time_limit);
        let shown = self.program.to_string_lossy().into_owned();
        let running = self.run_bounded();
        tokio::pin!(running);
        if let Ok(output) = tokio::time::timeout(QUIET_PERIOD.min(limit), &mut running).await {
            return output;
        }
        present::notice(&format!("Waiting for `{shown}` ({purpose}), up to {}...", format_duration(limit)));
        running.await
    }

    async fn run_bounded(self) -> Result<HelperOutput, HelperError> {
        let scratch = tempfile::tempdir()?;
        let bounds = Bounds::new(scratch.path(), scratch.path(), scratch.path());
        let opened = Sandbox::none(self.own_executable).open(bounds).await;
        let room = opened.map_err(|error| HelperError::NotRun { why: error.to_string() })?;
        let launch = room.command(&self.program).args(&self.args).cwd(&self.directory);
        let launch = launch.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let bounded_command = BoundedCommand {
            launch,
            input: Vec::new(),
            separate_stderr: true,
            time_limit: self.time_limit,
            output_limits: self.output_limits,
        };
        let ran = bounded_command.run(|_| {}).await;
        room.close().await;
        match ran.ending {
            CommandEnd::Exit(code) => {
                Ok(HelperOutput { code, output: ran.output.text(), stderr: last_lines(&ran.stderr.text()) })
            }
            CommandEnd::TimedOut => Err(HelperError::TimedOut(self.time_limit)),
            CommandEnd::TooMuchOutput => Err(HelperError::TooMuchOutput),
            CommandEnd::NotRun { why } => Err(HelperError::NotRun { why: why.to_string() }),
        }
    }
}

fn last_lines(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(STDERR_LINES)..].join(" | ");
    let left_out = last.chars().count().saturating_sub(STDERR_CHARS);
    (!last.is_empty()).then(|| last.chars().skip(left_out).collect())
}
