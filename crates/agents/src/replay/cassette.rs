//! A cassette: recorded sessions in a file that can be kept in a repository. One JSON object a line: what it is, then for
//! each session who held it, then its events with the time since the one before.

use std::time::Duration;

use autonoe_core::event::AgentEvent;
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

/// Recorded sessions, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cassette {
    /// They.
    pub sessions: Vec<Recorded>,
}

/// One recorded session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Which instruction it was given.
    pub instruction: String,
    /// The backend.
    pub backend: String,
    /// The model.
    pub model: String,
    /// What happened.
    #[serde(skip)]
    pub events: Vec<Recording>,
}

/// One recorded event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The time since the event before it.
    #[serde(rename = "after_seconds", with = "autonoe_core::duration::seconds")]
    pub after: Duration,
    /// It.
    pub event: AgentEvent,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Head { cassette: u32 },
    Session { session: Recorded },
    Event(Recording),
}

impl Cassette {
    /// Reads a cassette. An error says which line is wrong.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut sessions: Vec<Recorded> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |what: &str| format!("line {}: {what}", number + 1);
            match serde_json::from_str(line).map_err(|_| wrong("it is not a line of a cassette"))? {
                Line::Head { cassette: VERSION } if number == 0 => {}
                Line::Head { cassette } => {
                    return Err(wrong(&format!("a cassette of version {cassette} is unknown")));
                }
                _ if number == 0 => return Err(wrong("it does not begin like a cassette")),
                Line::Session { session } => sessions.push(session),
                Line::Event(recording) => {
                    let session = sessions.last_mut().ok_or_else(|| wrong("an event before any session"))?;
                    session.events.push(recording);
                }
            }
        }
        if sessions.is_empty() { Err("there is no session in it".to_owned()) } else { Ok(Self { sessions }) }
    }

    /// The file's text.
    pub fn write(&self) -> String {
        let mut lines = vec![Line::Head { cassette: VERSION }];
        for session in &self.sessions {
            lines.push(Line::Session { session: session.clone() });
            lines.extend(session.events.iter().cloned().map(Line::Event));
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

    use super::{Cassette, Recorded, Recording};

    fn cassette() -> Cassette {
        let recording = |event| Recording { after: Duration::from_millis(250), event };
        let events = [
            AgentEvent::Text { text: "hello\n".to_owned() },
            AgentEvent::End { outcome: SessionEnd::Completed },
        ];
        Cassette {
            sessions: vec![Recorded {
                instruction: "coding".to_owned(),
                backend: "claude".to_owned(),
                model: "sonnet".to_owned(),
                events: events.map(recording).to_vec(),
            }],
        }
    }

    #[test]
    fn what_was_written_can_be_read_back() {
        assert_eq!(Cassette::read(&cassette().write()), Ok(cassette()));
    }

    #[test]
    fn what_is_no_cassette_is_refused_with_its_line() {
        let event = r#"{"after_seconds":0,"event":{"type":"text","text":"x"}}"#;
        for (text, error) in [
            ("", "there is no session in it"),
            ("garbage", "line 1: it is not a line of a cassette"),
            (event, "line 1: it does not begin like a cassette"),
            ("{\"cassette\":9}", "line 1: a cassette of version 9 is unknown"),
            (&format!("{{\"cassette\":1}}\n{event}"), "line 2: an event before any session"),
            ("{\"cassette\":1}\n{\"session\":7}", "line 2: it is not a line of a cassette"),
        ] {
            assert_eq!(Cassette::read(text), Err(error.to_owned()), "{text:?}");
        }
    }
}
