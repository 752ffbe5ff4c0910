//! The event log of a run: every event that is shown, one JSON object per line, for `autonoe attach` and `autonoe logs`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use autonoe_core::event::Event;
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use jiff::Timestamp;
use serde::Deserialize;

use super::console::Console;
use super::json::JsonEventLine;

/// Maximum size of a log, in bytes.
const MAX_LOG: u64 = 256 * 1024 * 1024;

/// Logs that are kept.
const KEPT: usize = 5;

/// Writes the log. A log that cannot be written does not stop the run; the journal has what matters.
pub struct EventLog {
    file: Mutex<Option<(File, u64)>>,
    /// Redacts.
    console: Arc<Console>,
}

impl EventLog {
    /// `directory` is removed down to the newest logs.
    pub fn create(directory: &Path, run: i64, console: Arc<Console>) -> Self {
        Self { file: Mutex::new(create(directory, run).ok().map(|file| (file, 0))), console }
    }
}

fn create(directory: &Path, run: i64) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    let mut old = runs(directory);
    old.retain(|other| *other != run);
    for other in old.iter().rev().skip(KEPT - 1) {
        // Ignored: an old log does no harm.
        let _ = fs::remove_file(log_file(directory, *other));
    }
    File::options().create(true).append(true).open(log_file(directory, run))
}

/// The runs that have a log, oldest first.
pub fn runs(directory: &Path) -> Vec<i64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut runs: Vec<i64> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok())
        .collect();
    runs.sort_unstable();
    runs
}

pub fn log_file(directory: &Path, run: i64) -> PathBuf {
    directory.join(format!("{run}.jsonl"))
}

impl Sink for EventLog {
    fn on(&self, span: &SpanContext, event: &Event) {
        let Some(line) = JsonEventLine::new(span, event) else { return };
        let Ok(line) = self.console.redactor().json(&line) else { return };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((log, size)) = file.as_mut() else { return };
        *size += line.len() as u64 + 1;
        if *size > MAX_LOG || log.write_all(format!("{line}\n").as_bytes()).is_err() {
            *file = None;
        }
    }
}

/// One line of a log.
#[derive(Debug, Deserialize)]
pub struct LoggedEvent {
    pub at: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

/// Reads a log while it is written.
pub struct EventLogReader {
    lines: BufReader<File>,
    /// A line that is not complete yet.
    partial: Vec<u8>,
}

impl EventLogReader {
    /// `None` if there is no such log.
    pub fn open(directory: &Path, run: i64) -> Option<Self> {
        let file = File::open(log_file(directory, run)).ok()?;
        Some(Self { lines: BufReader::new(file), partial: Vec::new() })
    }

    /// The next event; `None` if there is none yet.
    pub fn next(&mut self) -> Option<LoggedEvent> {
        loop {
            let read = self.lines.read_until(b'\n', &mut self.partial).ok()?;
            if read == 0 || !self.partial.ends_with(b"\n") {
                return None;
            }
            // An event of another version may be unknown.
            if let Ok(event) = serde_json::from_slice(&std::mem::take(&mut self.partial)) {
                return Some(event);
            }
        }
    }
}
