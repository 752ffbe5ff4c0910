//! Recorded sessions: in the journal, and in cassettes.

use std::path::Path;
use std::str::FromStr;

use autonoe_agents::replay::{Cassette, Recorded, Recording};
use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_files::read_text;
use autonoe_store::Project;
use autonoe_store::journal::history::{EventRow, History, SessionRow};
use jiff::Timestamp;

/// The largest cassette that is played back: a run of a thousand busy sessions has some hundred megabytes.
const MAX_CASSETTE_BYTES: u64 = 512 * 1024 * 1024;

/// More sessions than any run has.
const MANY: usize = 1_000_000;

/// A session, as `autonoe sessions list` names it.
#[derive(Debug, Clone, Copy)]
pub struct SessionId {
    /// The run.
    pub run: i64,
    /// Its number within the run.
    pub number: u32,
}

impl FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('.').and_then(|(run, number)| Some((run.parse().ok()?, number.parse().ok()?)));
        let (run, number) = parts.ok_or("name a session like 3.2: run, dot, session")?;
        Ok(Self { run, number })
    }
}

/// A session and its events.
pub fn on_record(project: &Project, session: SessionId) -> Result<(SessionRow, Vec<EventRow>), Fault> {
    let found = match History::open(&project.journal_file())? {
        Some(history) => history.session(session.run, session.number)?,
        None => None,
    };
    found.ok_or_else(|| {
        let name = format!("{}.{}", session.run, session.number);
        let message = format!("There is no session {name} on record.");
        Fault::lasting(Layer::Config, "no_such_session", message)
            .hint("`autonoe sessions list` names those there are.")
    })
}

/// All sessions of the last run that had any, the first one first.
pub fn last_run(project: &Project) -> Result<Vec<SessionId>, Fault> {
    let rows = match History::open(&project.journal_file())? {
        Some(history) => history.sessions(MANY)?,
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
        return Err(Fault::lasting(Layer::Config, "no_such_session", "There is no session on record yet.")
            .hint("`autonoe run` records sessions; -p names another project."));
    }
    Ok(sessions)
}

/// Sessions of the journal, as a cassette.
pub fn record(project: &Project, sessions: &[SessionId]) -> Result<Cassette, Fault> {
    let mut cassette = Cassette::default();
    for session in sessions {
        let (row, rows) = on_record(project, *session)?;
        let mut before = row.started_at.parse::<Timestamp>().ok();
        let mut events = Vec::new();
        for EventRow { at, event } in rows {
            // What the runner adds around a session is not the agent's.
            let Ok(event) = serde_json::from_value::<AgentEvent>(event) else { continue };
            let at = at.parse::<Timestamp>().ok();
            let after = before.zip(at).and_then(|(before, at)| at.duration_since(before).try_into().ok());
            before = at.or(before);
            events.push(Recording { after: after.unwrap_or_default(), event });
        }
        let SessionRow { instruction, backend, model, .. } = row;
        cassette.sessions.push(Recorded { instruction, backend, model, events });
    }
    Ok(cassette)
}

/// Reads the file of a cassette.
pub fn read_cassette(file: &Path) -> Result<Cassette, Fault> {
    let wrong = |why: String| {
        let message = format!("{} cannot be played back: {why}.", file.display());
        Fault::lasting(Layer::Config, "cassette", message).hint(
            "`autonoe sessions export -o FILE` writes one; `autonoe sessions list` names what is on record.",
        )
    };
    match read_text(file, MAX_CASSETTE_BYTES) {
        Ok(Some(text)) => Cassette::read(&text).map_err(wrong),
        Ok(None) => Err(wrong("there is no such file".to_owned())),
        Err(error) => Err(wrong(error.to_string()).hint(error.advice())),
    }
}
