//! A checked script: conversations, each a list of turns with the faults that precede them. `parse` reads the TOML;
//! `player` decides which turn answers a request.

mod conversation;
mod parse;
mod turn_error;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use conversation::{ScriptCall, ScriptConversation, ScriptReply};

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
