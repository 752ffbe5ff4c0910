//! What `autonoe fleet up` prints: one line per event, for people or as JSON. A reader that has gone does not stop the fleet.

use autonoe_core::fault::Fault;
use autonoe_core::redact::SecretValues;
use autonoe_fleet::{FleetEvent, HomeBranch};
use autonoe_harness::handle::HarnessStatus;
use jiff::Timestamp;
use serde::Serialize;

use crate::environment::Environment;
use crate::present::{Console, MessageLevel, OutputFormat};

pub struct FleetScreen {
    console: Console,
    is_json: bool,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    at: Timestamp,
    #[serde(flatten)]
    event: &'a FleetEvent,
}

impl FleetScreen {
    pub fn open(is_json: bool, environment: &Environment) -> Result<Self, Fault> {
        let format = if is_json { OutputFormat::Json } else { OutputFormat::Text };
        let secrets = SecretValues::from(environment.secrets());
        Ok(Self { console: Console::new(format, &secrets, |_| {})?, is_json })
    }

    pub fn warn(&self, message: &str) {
        self.console.line(MessageLevel::Warning, &format!("Warning: {message}"));
    }

    pub fn show(&self, event: &FleetEvent) {
        if self.is_json {
            let line = JsonLine { at: Timestamp::now(), event };
            if let Ok(line) = self.console.redactor().json(&line) {
                self.console.json_line(&line);
            }
            return;
        }
        let (level, text) = words(event);
        self.console.line(level, &text);
    }
}

fn words(event: &FleetEvent) -> (MessageLevel, String) {
    let text = match event {
        FleetEvent::FleetStarted { fleet, strategy, harnesses, is_continued } => {
            let verb = if *is_continued { "Continuing" } else { "Starting" };
            format!(
                "{verb} the fleet {fleet}: {harnesses} harness(es), {strategy}. `autonoe fleet status --watch` shows it."
            )
        }
        FleetEvent::HarnessStarted { id, pid, attempt: 1 } => format!("{id} has started (process {pid})."),
        FleetEvent::HarnessStarted { id, pid, attempt } => {
            format!("{id} has started again (process {pid}, attempt {attempt}).")
        }
        FleetEvent::HarnessAdopted { id, pid } => format!("{id} is still at work (process {pid})."),
        FleetEvent::HarnessStopping { id, why } => format!("{id} is stopped: {why}."),
        FleetEvent::HarnessEnded { id, status, error, home, left_behind } => {
            return ended(id, *status, error.as_deref(), home.as_ref(), left_behind.as_deref());
        }
        FleetEvent::CameHome { id, home: Some(home) } => {
            format!("The commits of {id} have come home: they are on branch {}.", home.branch)
        }
        FleetEvent::CameHome { id, home: None } => format!("{id} has no commits that had to come home."),
        FleetEvent::Warning { message } => return (MessageLevel::Warning, format!("Warning: {message}")),
        FleetEvent::FleetEnded { result, merged, .. } => {
            let merged = merged.as_ref().map(|merged| match &merged.note {
                Some(note) => format!(" The commits are on branch {}: {note}.", merged.branch),
                None => format!(" The commits are on branch {}.", merged.branch),
            });
            format!("{}{}", result.summary, merged.unwrap_or_default())
        }
    };
    (MessageLevel::Info, text)
}

fn ended(
    id: &str,
    status: HarnessStatus,
    error: Option<&str>,
    home: Option<&HomeBranch>,
    left_behind: Option<&str>,
) -> (MessageLevel, String) {
    let (level, tag) = match status {
        HarnessStatus::Completed => (MessageLevel::Good, "[PASS]"),
        HarnessStatus::Stopped => (MessageLevel::Info, "[STOPPED]"),
        HarnessStatus::Failed | HarnessStatus::Pending | HarnessStatus::Running | HarnessStatus::Paused => {
            (MessageLevel::Setback, "[FAILED]")
        }
    };
    let why = error.map(|error| format!(": {}", error.trim_end_matches('.'))).unwrap_or_default();
    let branch = home.map(|home| {
        let note = home.note.as_ref().map(|note| format!(" ({})", note.trim_end_matches('.')));
        format!("; its commits are on branch {}{}", home.branch, note.unwrap_or_default())
    });
    let text = format!("{tag} {id}{why}{}.", branch.unwrap_or_default());
    match left_behind {
        None => (level, text),
        Some(left_behind) => {
            (MessageLevel::Setback, format!("{text} Its commits have not come home: {left_behind}"))
        }
    }
}
