//! A checked script: conversations, each a list of turns with the faults that precede them. `parse` reads the TOML;
//! `player` decides which turn answers a request.

mod parse;
mod turn_error;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::reply::{ScriptFault, StopReason};

/// The crate documentation describes the format.
#[derive(Debug, Clone)]
pub struct ModelScript {
    pub(crate) conversations: Vec<ScriptConversation>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{origin}, line {line}: {message}")]
    Text {
        /// The file, or `script` for a script from memory.
        origin: String,
        /// Counted from 1.
        line: usize,
        message: String,
    },
    #[error("cannot start the scripted model on 127.0.0.1: {0}")]
    Start(#[source] io::Error),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptConversation {
    pub name: String,
    /// All of these must occur in the first message or the system prompt.
    pub when: Vec<String>,
    /// `None`: any number.
    pub plays: Option<u32>,
    pub turns: Vec<ScriptTurn>,
}

/// A position in a conversation: the faults that precede it, then the reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScriptTurn {
    pub faults: Vec<RepeatedFault>,
    /// `None` only in the last turn of a conversation that ends in faults.
    pub reply: Option<ScriptReply>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepeatedFault {
    pub fault: ScriptFault,
    pub times: u32,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScriptReply {
    /// All of these must occur in the newest tool results and user messages.
    pub expect: Vec<String>,
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<ScriptCall>,
    pub stop: StopReason,
    pub usage: ScriptUsage,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptCall {
    pub tool: String,
    /// An object, or a string to be sent verbatim.
    pub input: Value,
}

/// Token counts; `None` is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptUsage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
}

impl ModelScript {
    pub fn parse(text: &str) -> Result<ModelScript, ScriptError> {
        ModelScript::parse_from("script", text)
    }

    pub fn load(path: impl AsRef<Path>) -> Result<ModelScript, ScriptError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        ModelScript::parse_from(&path.display().to_string(), &text)
    }

    fn parse_from(origin: &str, text: &str) -> Result<ModelScript, ScriptError> {
        parse::parse(text).map(|conversations| ModelScript { conversations }).map_err(|error| {
            let before = text.get(..error.offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            ScriptError::Text { origin: origin.to_owned(), line, message: error.message }
        })
    }
}

impl ScriptTurn {
    /// The next fault after `served` faults of this turn have been served.
    pub fn fault_after(&self, served: u32) -> Option<&ScriptFault> {
        let mut due = 0;
        self.faults.iter().find_map(|repeated| {
            due += repeated.times;
            (served < due).then_some(&repeated.fault)
        })
    }
}
