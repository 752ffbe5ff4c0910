//! A script that has been checked: conversations, each a list of turns with the faults in front of them. How a person
//! writes it is in `text`; which turn answers a request is decided in `conversation`.

mod text;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::reply::{Fault, StopReason};

/// What the server will say; the crate's page describes the format.
#[derive(Debug, Clone)]
pub struct Script {
    pub(crate) conversations: Vec<Conversation>,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file could not be read.
    #[error("cannot read the script {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not a script.
    #[error("{origin}, line {line}: {message}")]
    Text {
        /// The file, or `script`.
        origin: String,
        /// Where in the text, counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The server could not be started.
    #[error("cannot start the scripted model on 127.0.0.1: {0}")]
    Start(#[source] io::Error),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conversation {
    pub name: String,
    /// Texts that must all occur.
    pub when: Vec<String>,
    /// `None`: any number.
    pub plays: Option<u32>,
    pub turns: Vec<Turn>,
}

/// A position in a conversation: the faults in front of it, then the reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    pub faults: Vec<Repeated>,
    /// `None` only in the last turn of a conversation that ends in faults.
    pub line: Option<Line>,
}

/// A fault and how often it is served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Repeated {
    pub fault: Fault,
    pub times: u32,
}

/// What is said in a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Line {
    /// Texts that must all occur in what is answered.
    pub expect: Vec<String>,
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<CallLine>,
    pub stop: StopReason,
    pub usage: GivenUsage,
}

/// A tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallLine {
    pub tool: String,
    /// An object, or a string to be sent as it is.
    pub input: Value,
}

/// Tokens as far as the script gives them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenUsage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
}

impl Script {
    /// Reads a script from text.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        Script::parse_from("script", text)
    }

    /// Reads a script from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Script, ScriptError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Script::parse_from(&path.display().to_string(), &text)
    }

    fn parse_from(origin: &str, text: &str) -> Result<Script, ScriptError> {
        text::read(text).map(|conversations| Script { conversations }).map_err(|mistake| {
            let before = text.get(..mistake.offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            ScriptError::Text { origin: origin.to_owned(), line, message: mistake.message }
        })
    }
}

impl Turn {
    /// The fault to serve when `served` have been served here already.
    pub fn fault_after(&self, served: u32) -> Option<&Fault> {
        let mut due = 0;
        self.faults.iter().find_map(|repeated| {
            due += repeated.times;
            (served < due).then_some(&repeated.fault)
        })
    }
}
