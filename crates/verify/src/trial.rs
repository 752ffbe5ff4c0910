//! A trial: one check, run once in a room. Whatever goes wrong is a verdict, and none of that is a pass.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use autonoe_core::check::Check;
use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{BoundedCommand, Ending, Kept, MAX_OUTPUT, SessionSandbox};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::output;

/// How much of an output is kept.
const KEPT: Kept = Kept { head: 64 * 1024, tail: 192 * 1024 };

/// What a shell says of a program that is not there.
const NOT_FOUND: i32 = 127;

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
pub(crate) async fn run(check: &Check, session_sandbox: &SessionSandbox, cwd: &Path) -> Trial {
    let begun = Instant::now();
    let launch = match session_sandbox.shell(&check.command).await {
        Ok(launch) => launch.cwd(cwd),
        Err(error) => {
            let why = format!("its room cannot be opened ({error})");
            return Trial::not_run(check, Verdict::NotRun { why });
        }
    };
    let bounded_command = BoundedCommand {
        launch,
        input: Vec::new(),
        keeps_errors_apart: false,
        time_limit: check.time_limit,
        kept: KEPT,
    };
    let mut hash = Sha256::new();
    let ran = bounded_command.run(|bytes| hash.update(bytes)).await;
    let mut output = ran.output.text();
    let (verdict, exit) = match ran.ending {
        Ending::TimedOut => (Verdict::TimedOut { limit: check.time_limit }, None),
        Ending::TooMuchOutput => (Verdict::TooMuchOutput, None),
        Ending::NotRun { why } => (Verdict::NotRun { why }, None),
        Ending::Exit(code) => (judge(check, code, &output), Some(code)),
    };
    let refused: Vec<String> =
        session_sandbox.refusals().await.iter().map(|refusal| refusal.host.clone()).collect();
    if !refused.is_empty() {
        let _ = write!(output, "\n[autonoe: no way out to {}]", refused.join(", "));
    }
    Trial {
        check: check.name.clone(),
        verdict,
        exit,
        output,
        output_sha256: hex(&hash.finalize()),
        output_bytes: ran.output.bytes(),
        duration: begun.elapsed(),
    }
}

fn judge(check: &Check, code: i32, printed: &str) -> Verdict {
    if code != check.exit {
        return Verdict::WrongExit { expected: check.exit };
    }
    match output::missing(printed, &check.output, check.exact) {
        Some(expected) => Verdict::MissingOutput { expected },
        None => Verdict::Passed,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
