//! The wire formats. Each is one file that reads a request into a [`Prompt`] and encodes a [`Reply`] or an error; to add
//! one, write its file, name it here, and route its paths in `server`.

pub(crate) mod anthropic;

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

use crate::delivery::Payload;
use crate::reply::{Prompt, Reply};

/// Whose API a request speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wire {
    Anthropic,
}

impl Wire {
    /// Reads a request of so many bytes; refuses, with the service's words, what the service would refuse.
    pub fn read(self, request: &Value, bytes: usize) -> Result<Prompt, String> {
        match self {
            Wire::Anthropic => anthropic::read(request, bytes),
        }
    }

    /// Encodes a reply as the prompt wants it: streamed or whole.
    pub fn reply(self, reply: &Reply, stream: bool) -> Payload {
        match (self, stream) {
            (Wire::Anthropic, true) => Payload::Events(anthropic::events(reply)),
            (Wire::Anthropic, false) => Payload::Document(anthropic::message(reply).to_string().into()),
        }
    }

    /// Encodes the body of an error response.
    pub fn error(self, status: StatusCode, message: &str) -> Value {
        match self {
            Wire::Anthropic => anthropic::error(status, message),
        }
    }
}

/// Characters in one piece of streamed text.
const PIECE_CHARS: usize = 48;

/// Text in the pieces in which it is streamed.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// One server-sent event.
fn server_sent(event: &str, data: &Value) -> Bytes {
    format!("event: {event}\ndata: {data}\n\n").into()
}
