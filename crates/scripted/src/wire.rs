//! The wire formats. Each is one file that reads a request into a [`Prompt`] and encodes a [`Reply`] or a [`Complaint`];
//! to add one, write its file with its [`Wire`], name it here, and route its paths in `routes`.

pub(crate) mod anthropic;
pub(crate) mod chat;
mod content;
pub(crate) mod gemini;
mod history;
pub(crate) mod ollama;
mod openai;
pub(crate) mod responses;

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

use crate::reply::{Complaint, Prompt, Reply};

/// How one API is spoken.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Reads a request to a path; refuses, with the service's words, what the service would refuse.
    pub read: fn(&str, &Value) -> Result<Prompt, String>,
    /// A reply in one document.
    pub whole: fn(&Reply) -> Value,
    /// A reply in pieces.
    pub stream: fn(&Reply, &Prompt) -> Vec<Bytes>,
    /// The content type of a stream.
    pub stream_type: &'static str,
    /// Status and body of an error response about a model.
    pub error: fn(&Complaint, &str) -> (StatusCode, Value),
    /// An error within the stream of a reply.
    pub stream_error: fn(&Reply, &Value) -> Bytes,
    /// Whether the hint when to try again is a header, or in the body of the error.
    pub retry: RetryHint,
    /// Where a context that is too long is complained about, if a stream was asked for.
    pub context_length: Complains,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryHint {
    Header,
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complains {
    ByStatus,
    InStream,
}

const SERVER_SENT_EVENTS: &str = "text/event-stream; charset=utf-8";

/// Stands where services give the time, in seconds since 1970.
const CREATED: u64 = 1_767_225_600;

/// Characters in one piece of streamed text.
const PIECE_CHARS: usize = 48;

/// Text in the pieces in which it is streamed.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// A server-sent event that is named after the type in its data.
fn named_event(data: &Value) -> Bytes {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default()).into()
}

/// A server-sent event without a name.
fn plain_event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// The names at `key` in a list of things.
fn names<'a>(things: &'a Value, key: &'a str) -> impl Iterator<Item = String> + 'a {
    let things = things.as_array().into_iter().flatten();
    things.filter_map(move |thing| thing.pointer(key)?.as_str()).map(str::to_owned)
}

/// The name of an HTTP status, for errors nobody has better words for.
fn reason(status: StatusCode) -> String {
    status.canonical_reason().map_or_else(|| status.to_string(), str::to_owned)
}
