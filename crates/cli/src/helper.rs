//! Programs of the user's own that are asked something: for a key, for a version. They run outside the sandbox, as the user, with nobody
//! to talk to and no terminal. Each has a limit that is told while it is waited for, and nothing of it outlives us.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{BoundedCommand, Bounds, Ending, Kept, MAX_OUTPUT, Sandbox};

use crate::present;

/// How long is waited in silence.
const SILENCE: Duration = Duration::from_secs(3);

/// How much is kept of what one says.
const KEPT: Kept = Kept { head: 16 * 1024, tail: 4 * 1024 };

/// How many lines of complaints are told, and how many characters of them.
const TOLD_LINES: usize = 3;
const TOLD_CHARS: usize = 300;

/// A program that is asked something.
pub struct Helper<'a> {
    /// What it is asked for: "the key of the provider 'mine'".
    pub purpose: String,
    /// The program.
    pub program: OsString,
    /// Its arguments, which are told to nobody.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// How long it may take.
    pub limit: Duration,
    /// Our own binary, which watches over it.
    pub ourselves: &'a Path,
}

/// What a program said.
pub struct Said {
    /// With what it exited.
    pub code: i32,
    /// What it printed.
    pub output: String,
    /// The last lines of its complaints, if it had any.
    pub complaint: Option<String>,
}

impl Helper<'_> {
    /// Asks it. An error is a clause that says why there is no answer. Dropped, it ends with all that it started.
    pub async fn ask(self) -> Result<Said, String> {
        let (purpose, limit) = (self.purpose.clone(), self.limit);
        let shown = self.program.to_string_lossy().into_owned();
        let asking = self.run();
        tokio::pin!(asking);
        if let Ok(said) = tokio::time::timeout(SILENCE.min(limit), &mut asking).await {
            return said;
        }
        present::notice(&format!(
            "Waiting for `{shown}` ({purpose}), for at most {}...",
            format_duration(limit)
        ));
        asking.await
    }

    async fn run(self) -> Result<Said, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let bounds = Bounds::new(scratch.path(), scratch.path(), scratch.path());
        let room = Sandbox::none(self.ourselves).open(bounds).await.map_err(|error| error.to_string())?;
        let launch = room.command(&self.program).args(&self.args).cwd(&self.directory);
        let launch = launch.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let bounded_command = BoundedCommand {
            launch,
            input: Vec::new(),
            keeps_errors_apart: true,
            time_limit: self.limit,
            kept: KEPT,
        };
        let ran = bounded_command.run(|_| {}).await;
        room.close().await;
        match ran.ending {
            Ending::Exit(code) => {
                Ok(Said { code, output: ran.output.text(), complaint: last_lines(&ran.errors.text()) })
            }
            Ending::TimedOut => {
                Err(format!("it did not answer within {} and was ended", format_duration(self.limit)))
            }
            Ending::TooMuchOutput => Err(format!("it printed more than {MAX_OUTPUT} bytes and was ended")),
            Ending::NotRun { why } => Err(why),
        }
    }
}

fn last_lines(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(TOLD_LINES)..].join(" | ");
    let left_out = last.chars().count().saturating_sub(TOLD_CHARS);
    (!last.is_empty()).then(|| last.chars().skip(left_out).collect())
}
