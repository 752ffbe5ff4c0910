//! Recorded sessions: looked up in the journal, exported to and read from cassettes.

use std::path::Path;
use std::str::FromStr;

use autonoe_agents::replay::{Cassette, RecordedEvent, RecordedSession};
use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::read_text;
use autonoe_store::Project;
use autonoe_store::journal::history::{EventRow, History, SessionRow};
use jiff::Timestamp;

/// Well above a run of a thousand busy sessions, which takes a few hundred megabytes.
const MAX_CASSETTE_BYTES: u64 = 512 * 1024 * 1024;

/// Higher than the number of sessions in any journal.
const MAX_SESSIONS: usize = 1_000_000;

/// `RUN.SESSION`, as shown by `autonoe sessions list`.
#[derive(Debug, Clone, Copy)]
pub struct SessionId {
    pub run: i64,
    pub number: u32,
}

impl FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('.').and_then(|(run, number)| Some((run.parse().ok()?, number.parse().ok()?)));
        let (run, number) = parts.ok_or("expected RUN.SESSION, like 3.2")?;
        Ok(Self { run, number })
    }
}

pub fn find_session(project: &Project, session: SessionId) -> Result<(SessionRow, Vec<EventRow>), Fault> {
    let found = match History::open(&project.journal_file())? {
        Some(history) => history.session(session.run, session.number)?,
        None => None,
    };
    found.ok_or_else(|| {
        let name = format!("{}.{}", session.run, session.number);
        let message = format!("There is no session {name}.");
        Fault::permanent(FaultLayer::Config, "no_such_session", message)
            .hint("Run `autonoe sessions list` to see all sessions.")
    })
}

/// The sessions of the last run that has any, in order.
pub fn sessions_of_last_run(project: &Project) -> Result<Vec<SessionId>, Fault> {
    let rows = match History::open(&project.journal_file())? {
        Some(history) => history.sessions(MAX_SESSIONS)?,
        None => Vec::new(),
    };
    let last = rows.iter().map(|row| row.run).max();
    let mut sessions: Vec<_> = rows
        .iter()
        .filter(|row| Some(row.run) == last)
        .map(|row| SessionId { run: row.run, number: row.number })
        .collect();
    sessions.sort_by_key(|session| session.number);
    if sessions.is_empty() {
        return Err(Fault::permanent(FaultLayer::Config, "no_such_session", "There are no sessions yet.")
            .hint("Start a run with `autonoe run`, or choose another project with -p."));
    }
    Ok(sessions)
}

pub fn export_cassette(project: &Project, sessions: &[SessionId]) -> Result<Cassette, Fault> {
    let mut cassette = Cassette::default();
    for session in sessions {
        let (row, rows) = find_session(project, *session)?;
        let mut before = row.started_at.parse::<Timestamp>().ok();
        let mut events = Vec::new();
        for EventRow { at, event } in rows {
            // Skip events of the runner; a cassette holds agent events only.
            let Ok(event) = serde_json::from_value::<AgentEvent>(event) else { continue };
            let at = at.parse::<Timestamp>().ok();
            let after = before.zip(at).and_then(|(before, at)| at.duration_since(before).try_into().ok());
            before = at.or(before);
            events.push(RecordedEvent { after: after.unwrap_or_default(), event });
        }
        let SessionRow { instruction, backend, model, .. } = row;
        cassette.sessions.push(RecordedSession { instruction, backend, model, events });
    }
    Ok(cassette)
}

pub fn read_cassette(file: &Path) -> Result<Cassette, Fault> {
    let wrong = |why: String| {
        let message = format!("{} cannot be played back: {why}.", file.display());
        Fault::permanent(FaultLayer::Config, "cassette", message).hint(
            "`autonoe sessions export -o FILE` writes a cassette; `autonoe sessions list` shows the recorded sessions.",
        )
    };
    match read_text(file, MAX_CASSETTE_BYTES) {
        Ok(Some(text)) => Cassette::read(&text).map_err(|error| wrong(error.to_string())),
        Ok(None) => Err(wrong("there is no such file".to_owned())),
        Err(error) => Err(wrong(error.to_string()).hint(error.advice())),
    }
}
