//! A cassette: a file of recorded sessions that can be checked in. One JSON object per line: a header, then
//! for each session its instruction, backend and model, followed by its events with the time since the
//! previous event.

use std::time::Duration;

use autonoe_core::event::AgentEvent;
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cassette {
    pub sessions: Vec<RecordedSession>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedSession {
    /// The name of the phase.
    pub instruction: String,
    pub backend: String,
    pub model: String,
    #[serde(skip)]
    pub events: Vec<RecordedEvent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEvent {
    /// The time since the previous event.
    #[serde(rename = "after_seconds", with = "autonoe_core::duration::seconds")]
    pub after: Duration,
    pub event: AgentEvent,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CassetteLine {
    Head { cassette: u32 },
    Session { session: RecordedSession },
    Event(RecordedEvent),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    #[error("line {line}: not a line of a cassette")]
    NotALine { line: usize },
    #[error("line {line}: unsupported cassette version {version}")]
    Version { line: usize, version: u32 },
    #[error("line {line}: expected the header of a cassette")]
    NoHeader { line: usize },
    #[error("line {line}: an event before the first session")]
    NoSession { line: usize },
    #[error("the cassette contains no session")]
    Empty,
}

impl Cassette {
    pub fn read(text: &str) -> Result<Self, CassetteError> {
        let mut sessions: Vec<RecordedSession> = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            match serde_json::from_str(text).map_err(|_| CassetteError::NotALine { line })? {
                CassetteLine::Head { cassette: VERSION } if line == 1 => {}
                CassetteLine::Head { cassette: version } => {
                    return Err(CassetteError::Version { line, version });
                }
                _ if line == 1 => return Err(CassetteError::NoHeader { line }),
                CassetteLine::Session { session } => sessions.push(session),
                CassetteLine::Event(recording) => {
                    let session = sessions.last_mut().ok_or(CassetteError::NoSession { line })?;
                    session.events.push(recording);
                }
            }
        }
        if sessions.is_empty() { Err(CassetteError::Empty) } else { Ok(Self { sessions }) }
    }

    pub fn write(&self) -> String {
        let mut lines = vec![CassetteLine::Head { cassette: VERSION }];
        for session in &self.sessions {
            lines.push(CassetteLine::Session { session: session.clone() });
            lines.extend(session.events.iter().cloned().map(CassetteLine::Event));
        }
        let lines = lines.iter().filter_map(|line| serde_json::to_string(line).ok());
        lines.map(|line| line + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use autonoe_core::event::AgentEvent;
    use autonoe_core::outcome::SessionEnd;

    use super::{Cassette, RecordedEvent, RecordedSession};

    fn cassette() -> Cassette {
        let recording = |event| RecordedEvent { after: Duration::from_millis(250), event };
        let events = [
            AgentEvent::Text { text: "hello\n".to_owned() },
            AgentEvent::End { outcome: SessionEnd::Completed },
        ];
        Cassette {
            sessions: vec![RecordedSession {
                instruction: "coding".to_owned(),
                backend: "claude".to_owned(),
                model: "sonnet".to_owned(),
                events: events.map(recording).to_vec(),
            }],
        }
    }

    #[test]
    fn a_cassette_round_trips() {
        assert_eq!(Cassette::read(&cassette().write()), Ok(cassette()));
    }

    #[test]
    fn an_invalid_cassette_is_rejected_with_its_line() {
        let event = r#"{"after_seconds":0,"event":{"type":"text","text":"x"}}"#;
        for (text, error) in [
            ("", "the cassette contains no session"),
            ("garbage", "line 1: not a line of a cassette"),
            (event, "line 1: expected the header of a cassette"),
            ("{\"cassette\":9}", "line 1: unsupported cassette version 9"),
            (&format!("{{\"cassette\":1}}\n{event}"), "line 2: an event before the first session"),
            ("{\"cassette\":1}\n{\"session\":7}", "line 2: not a line of a cassette"),
        ] {
            assert_eq!(Cassette::read(text).expect_err(text).to_string(), error);
        }
    }
}
