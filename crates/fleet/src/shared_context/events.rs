//! Events: what happened in a fleet, in the order in which it was written.
//!
//! No two events have the same time, and times never go back, even if the clock does. So a reader that asks for what is newer than the
//! last event that it saw misses none and gets none twice.

use std::ffi::OsStr;
use std::io::{Read, Seek, SeekFrom, Write};

use autonoe_files::Visibility;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SharedContext, SharedContextError};

const EVENTS: &str = "events.jsonl";

/// The events before the current ones.
const OLDER_EVENTS: &str = "events.1.jsonl";

/// A file of this size, in bytes, is put aside for a new one.
const MAX_EVENTS: u64 = 8 * 1024 * 1024;

/// Maximum size of one event, in bytes.
pub(super) const MAX_EVENT: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossHarnessEvent {
    /// Greater than that of every event before it.
    pub timestamp: Timestamp,
    /// Usually spawn, progress, complete, fail or instruction.
    pub event_type: String,
    /// `None` for an event of the fleet itself.
    pub harness_id: Option<String>,
    pub details: Value,
}

impl SharedContext {
    pub fn emit_event(
        &self,
        event_type: &str,
        harness: Option<&str>,
        details: &Value,
    ) -> Result<(), SharedContextError> {
        let _turn = self.turn()?;
        self.append_event(event_type, harness, details)
    }

    /// The events that are newer than `since`; all that are kept without it. Lines that are not events are left out.
    pub fn get_events(&self, since: Option<Timestamp>) -> Result<Vec<CrossHarnessEvent>, SharedContextError> {
        let _turn = self.turn()?;
        let mut events = Vec::new();
        for name in [OLDER_EVENTS, EVENTS] {
            let read = self.directory.read(OsStr::new(name), 2 * MAX_EVENTS);
            let bytes = read.map_err(|error| self.not_read(name, &error))?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let found = text.lines().filter_map(|line| serde_json::from_str::<CrossHarnessEvent>(line).ok());
            events.extend(found.filter(|event| since.is_none_or(|since| event.timestamp > since)));
        }
        Ok(events)
    }

    /// Requires a turn.
    pub(super) fn append_event(
        &self,
        event_type: &str,
        harness: Option<&str>,
        details: &Value,
    ) -> Result<(), SharedContextError> {
        let opened = self.directory.open_to_append(OsStr::new(EVENTS), Visibility::OwnerOnly);
        let mut file = opened.map_err(|error| self.not_read(EVENTS, &error))?;
        let end = read_end(&mut file).map_err(|error| self.not_written(EVENTS, &error))?;
        let last = end.lines().rev().find_map(|line| serde_json::from_str::<CrossHarnessEvent>(line).ok());
        let event = CrossHarnessEvent {
            timestamp: next_time(Timestamp::now(), last.map(|last| last.timestamp)),
            event_type: event_type.chars().take(100).collect(),
            harness_id: harness.map(str::to_owned),
            details: details.clone(),
        };
        let line = serde_json::to_string(&event).unwrap_or_default();
        if line.len() > MAX_EVENT {
            return Err(SharedContextError::LargeEvent);
        }
        // A process may have been killed in the middle of a line.
        let separator = if end.is_empty() || end.ends_with('\n') { "" } else { "\n" };
        let written = file.write_all(format!("{separator}{line}\n").as_bytes());
        written.map_err(|error| self.not_written(EVENTS, &error))?;
        if file.metadata().map_or(0, |metadata| metadata.len()) > MAX_EVENTS {
            self.begin_events(&line)?;
        }
        Ok(())
    }

    /// Puts the events aside. The new file begins with the last one, so that times go on from it.
    fn begin_events(&self, last: &str) -> Result<(), SharedContextError> {
        let moved = self.directory.move_to(OsStr::new(EVENTS), &self.directory, OsStr::new(OLDER_EVENTS));
        moved.map_err(|error| self.not_written(EVENTS, &error))?;
        // An event that is in both files would be read twice, so only its time is kept.
        let time = serde_json::from_str::<CrossHarnessEvent>(last).map(|event| event.timestamp);
        let marker = CrossHarnessEvent {
            timestamp: next_time(Timestamp::now(), time.ok()),
            event_type: "log_continued".to_owned(),
            harness_id: None,
            details: Value::Null,
        };
        let line = serde_json::to_string(&marker).unwrap_or_default();
        self.replace(EVENTS, format!("{line}\n").as_bytes())
    }
}

/// Later than the last event, whatever the clock says.
fn next_time(now: Timestamp, last: Option<Timestamp>) -> Timestamp {
    let after = last.and_then(|last| last.checked_add(SignedDuration::from_nanos(1)).ok());
    after.map_or(now, |after| after.max(now))
}

/// The end of the file, with the last event in it.
fn read_end(file: &mut std::fs::File) -> std::io::Result<String> {
    let size = file.metadata()?.len();
    let start = size.saturating_sub(2 * MAX_EVENT as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(2 * MAX_EVENT as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
