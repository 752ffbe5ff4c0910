//! `harness.log`: what happened, a line each, for people.

use std::fmt;

use jiff::Timestamp;

use super::{HarnessDirectory, HarnessFileError};

const LOG: &str = "harness.log";

/// The log before the current one.
const OLDER_LOG: &str = "harness.log.1";

/// A log of this size, in bytes, is put aside for a new one.
const MAX_LOG: u64 = 16 * 1024 * 1024;

/// Bytes at the end of a log in which lines are looked for.
const MAX_TAIL: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Info,
    Warning,
    Success,
    Error,
}

impl LogLevel {
    /// Of a session that has ended with this score.
    pub fn of_progress(score: f64) -> Self {
        if score > 0.3 {
            Self::Success
        } else if score > 0.1 {
            Self::Info
        } else {
            Self::Warning
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Success => "SUCCESS",
            Self::Error => "ERROR",
        })
    }
}

impl HarnessDirectory {
    /// Writes `[time] [LEVEL] [iter=N] message`.
    pub fn log(
        &self,
        level: LogLevel,
        iteration: u32,
        message: &str,
        now: Timestamp,
    ) -> Result<(), HarnessFileError> {
        if self.size_of(LOG) > MAX_LOG {
            self.set_aside(LOG, OLDER_LOG)?;
        }
        let message = message.trim().replace('\n', " ").replace('\r', "");
        let now = now.strftime("%Y-%m-%dT%H:%M:%SZ");
        self.append(LOG, &format!("[{now}] [{level}] [iter={iteration}] {message}"))
    }

    /// The last `tail` lines of the log.
    pub fn read_log(&self, tail: usize) -> Result<Vec<String>, HarnessFileError> {
        let mut lines = self.last_lines(LOG, MAX_TAIL)?;
        Ok(lines.split_off(lines.len().saturating_sub(tail)))
    }
}
