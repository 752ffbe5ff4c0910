//! What passes between the script and a wire format, in the terms of neither: the prompt as read from a request, the reply
//! to encode, and the faults that may spoil it.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A request for a reply, as far as choosing the reply needs it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    pub model: String,
    pub stream: bool,
    pub system: String,
    /// The text of the user messages before the first assistant message.
    pub first: String,
    /// The text and tool results after the last assistant message.
    pub newest: String,
    pub messages: usize,
    pub assistants: usize,
    /// Ids of the tool calls in the assistant messages.
    pub call_ids: Vec<String>,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// Size of the request, from which its tokens are estimated.
    pub bytes: usize,
}

/// A reply, ready to be encoded.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub id: String,
    pub model: String,
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<Call>,
    pub stop: StopReason,
    pub usage: Usage,
}

/// A tool call within a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub id: String,
    pub tool: String,
    pub input: Map<String, Value>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    #[default]
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal,
}

/// Tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// What may happen instead of a reply, or to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    Status(ErrorStatus),
    Spoil(Spoil),
}

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorStatus {
    pub status: StatusCode,
    pub message: String,
    /// Further response headers, `retry-after` among them.
    pub headers: HeaderMap,
}

/// How the delivery of a reply goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    Cut,
    Malformed,
    Silence,
    Slow(Duration),
}

impl Fault {
    /// Whether the client gets the reply all the same.
    pub fn delivers(&self) -> bool {
        match self {
            Fault::Spoil(Spoil::Slow(_)) => true,
            Fault::Status(_) | Fault::Spoil(Spoil::Cut | Spoil::Malformed | Spoil::Silence) => false,
        }
    }
}

const BYTES_PER_TOKEN: usize = 4;

/// A rough count of the tokens in so many bytes; never zero.
pub(crate) fn estimated_tokens(bytes: usize) -> u64 {
    (bytes / BYTES_PER_TOKEN).max(1) as u64
}

/// The beginning of a text, on one line, for messages to people.
pub(crate) fn beginning(text: &str) -> String {
    const SHOWN_CHARS: usize = 80;
    let mut shown: String =
        text.chars().take(SHOWN_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
