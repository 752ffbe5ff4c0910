//! A trial: one check, run once in a room. Whatever goes wrong is a verdict, and none of that is a pass.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use autonoe_core::check::Check;
use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{Exit, Quarters};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::output;

/// How much of an output is kept: its beginning and its end.
const KEPT_HEAD: usize = 64 * 1024;
const KEPT_TAIL: usize = 192 * 1024;

/// What prints more than this is ended.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// How long is waited for the rest of an output when its program has ended.
const REST_LIMIT: Duration = Duration::from_secs(2);

/// How long the end of a check's processes may take.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;

const BASH: &str = "/bin/bash";
const SH: &str = "/bin/sh";

/// One run of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The check's name.
    pub check: String,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The exit code, if the command ran to its end.
    pub exit: Option<i32>,
    /// What it printed, its middle left out if it was long.
    pub output: String,
    /// The hash of all that it printed.
    pub output_sha256: String,
    /// How many bytes that were.
    pub output_bytes: u64,
    /// How long it took.
    #[serde(rename = "seconds", with = "autonoe_core::duration::seconds")]
    pub duration: Duration,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It did what it must.
    Passed,
    /// It exited with another code.
    WrongExit {
        /// The code that it must have.
        expected: i32,
    },
    /// Its output does not hold what it must.
    MissingOutput {
        /// What is not there, not in its place, or too much.
        expected: String,
    },
    /// It took too long.
    TimedOut {
        /// How long it may take.
        #[serde(rename = "limit_seconds", with = "autonoe_core::duration::seconds")]
        limit: Duration,
    },
    /// It printed too much.
    TooMuchOutput,
    /// It needs the network, and the user has not allowed that.
    NetworkNotAllowed,
    /// It could not be run.
    NotRun {
        /// Why.
        why: String,
    },
}

impl Trial {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }

    /// Whether its command was run at all: otherwise nothing is known of it.
    pub(crate) fn was_run(&self) -> bool {
        !matches!(self.verdict, Verdict::NetworkNotAllowed | Verdict::NotRun { .. })
    }

    /// A check that was not run.
    pub(crate) fn not_run(check: &Check, verdict: Verdict) -> Self {
        Self {
            check: check.name.clone(),
            verdict,
            exit: None,
            output: String::new(),
            output_sha256: hex(&Sha256::digest(b"")),
            output_bytes: 0,
            duration: Duration::ZERO,
        }
    }

    /// What came of it, in a sentence.
    pub fn sentence(&self) -> String {
        match (&self.verdict, self.exit) {
            (Verdict::Passed, _) => "it passed".to_owned(),
            (Verdict::WrongExit { expected }, Some(NOT_FOUND)) => {
                format!("its command was not found (exit code {NOT_FOUND} instead of {expected})")
            }
            (Verdict::WrongExit { expected }, code) => {
                let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
                format!("exit code {code} instead of {expected}")
            }
            (Verdict::MissingOutput { expected }, _) => {
                format!("its output is not as it must be: {expected}")
            }
            (Verdict::TimedOut { limit }, _) => {
                format!("it was ended after its time limit of {}", format_duration(*limit))
            }
            (Verdict::TooMuchOutput, _) => format!("it was ended after it had printed {MAX_OUTPUT} bytes"),
            (Verdict::NetworkNotAllowed, _) => {
                "it needs the network, which you have not allowed; set `network = true` under \
                                                [checks] in your config.toml"
                    .to_owned()
            }
            (Verdict::NotRun { why }, _) => format!("it could not be run: {why}"),
        }
    }
}

/// Runs a check in `cwd`. Nothing that it started is left when this returns.
pub(crate) async fn run(check: &Check, quarters: &Quarters, cwd: &Path) -> Trial {
    let begun = Instant::now();
    let not_run = |why: String| Trial::not_run(check, Verdict::NotRun { why });
    let shell = if Path::new(BASH).exists() { BASH } else { SH };
    let launch = match quarters.command(shell).await {
        Ok(launch) => launch,
        Err(error) => return not_run(format!("its room cannot be opened ({error})")),
    };
    let start = || -> std::io::Result<_> {
        let (reader, writer) = std::io::pipe()?;
        // A command that begins with a dash is still a command.
        let launch = launch.args(["-c", "--", &check.command]).cwd(cwd);
        let child = launch.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        Ok((child, pipe::Receiver::from_owned_fd(reader.into())?))
    };
    let (mut child, mut reader) = match start() {
        Ok(started) => started,
        Err(error) => return not_run(error.to_string()),
    };

    let mut printed = Printed::default();
    let ended = {
        let work = async {
            tokio::select! {
                biased;
                () = printed.read(&mut reader) => {}
                exit = child.wait() => return exit.map(Ended::Exit),
            }
            if printed.total > MAX_OUTPUT {
                return Ok(Ended::Flood);
            }
            child.wait().await.map(Ended::Exit)
        };
        timeout(check.time_limit, work).await
    };
    let ended = match ended {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => return not_run(error.to_string()),
        Err(_) => Ended::Late,
    };
    if !matches!(ended, Ended::Exit(_)) {
        // What a keeper cannot end in time the room ends when it is closed.
        let _ = timeout(STOP_LIMIT, child.stop()).await;
    }
    let _ = timeout(REST_LIMIT, printed.read(&mut reader)).await;

    let (verdict, exit) = match ended {
        Ended::Late => (Verdict::TimedOut { limit: check.time_limit }, None),
        Ended::Flood => (Verdict::TooMuchOutput, None),
        Ended::Exit(_) if printed.total > MAX_OUTPUT => (Verdict::TooMuchOutput, None),
        Ended::Exit(Exit::NotStarted { why, .. }) => (Verdict::NotRun { why }, None),
        Ended::Exit(Exit::Code(code)) => (judge(check, code, &printed), Some(code)),
    };
    let refused: Vec<String> = quarters.refusals().await.iter().map(|refusal| refusal.host.clone()).collect();
    let mut output = printed.text();
    if !refused.is_empty() {
        let _ = write!(output, "\n[autonoe: no way out to {}]", refused.join(", "));
    }
    Trial {
        check: check.name.clone(),
        verdict,
        exit,
        output,
        output_sha256: hex(&printed.hash.clone().finalize()),
        output_bytes: printed.total,
        duration: begun.elapsed(),
    }
}

/// How the command of a check ended.
enum Ended {
    Exit(Exit),
    Late,
    Flood,
}

fn judge(check: &Check, code: i32, printed: &Printed) -> Verdict {
    if code != check.exit {
        return Verdict::WrongExit { expected: check.exit };
    }
    match output::missing(&printed.text(), &check.output, check.exact) {
        Some(expected) => Verdict::MissingOutput { expected },
        None => Verdict::Passed,
    }
}

/// What a command printed.
#[derive(Default)]
struct Printed {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    hash: Sha256,
}

impl Printed {
    /// Reads to the end, or until it is too much. Cancel safe.
    async fn read(&mut self, reader: &mut pipe::Receiver) {
        let mut buffer = vec![0; 64 * 1024];
        while self.total <= MAX_OUTPUT {
            match reader.read(&mut buffer).await {
                Ok(count @ 1..) => self.add(&buffer[..count]),
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.hash.update(bytes);
        let room = KEPT_HEAD - self.head.len();
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > 2 * KEPT_TAIL {
            self.tail.drain(..self.tail.len() - KEPT_TAIL);
        }
    }

    /// It as text, its middle left out.
    fn text(&self) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(KEPT_TAIL)..];
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if left_out > 0 {
            let _ = write!(text, "\n[{left_out} bytes left out]\n");
        }
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
