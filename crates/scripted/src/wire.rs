//! The wire formats. Each file reads a request into a [`Prompt`] and encodes a [`WireReply`] or a [`ServiceError`]; to add a
//! format, write a file with its [`Wire`], declare it here, and route its paths in `routes`.

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

use crate::reply::{Prompt, ServiceError, WireReply};

#[derive(Debug)]
pub(crate) struct Wire {
    /// Reads a request to a path; refuses what the service would refuse.
    pub read: fn(&str, &Value) -> Result<Prompt, WireRefusal>,
    /// A reply without streaming.
    pub whole: fn(&WireReply) -> Value,
    pub stream: fn(&WireReply, &Prompt) -> Vec<Bytes>,
    /// The content type of a stream.
    pub stream_type: &'static str,
    /// Status and body of an error response; the second argument is the model's name.
    pub error: fn(&ServiceError, &str) -> (StatusCode, Value),
    /// An error within the stream of a reply.
    pub stream_error: fn(&WireReply, &Value) -> Bytes,
    /// Where the time to wait before a retry is given.
    pub retry: RetryHint,
    /// Where a streaming request gets the error that its context is too long.
    pub context_length: ErrorChannel,
}

/// The message with which a service refuses a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WireRefusal(pub String);

impl<T: Into<String>> From<T> for WireRefusal {
    fn from(message: T) -> Self {
        WireRefusal(message.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryHint {
    Header,
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorChannel {
    Status,
    Stream,
}

const SERVER_SENT_EVENTS: &str = "text/event-stream; charset=utf-8";

/// The fixed creation time in replies, in seconds since 1970.
const CREATED: u64 = 1_767_225_600;

/// The length of one piece of streamed text.
const PIECE_CHARS: usize = 48;

fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// A server-sent event named after the `type` of its data.
fn named_event(data: &Value) -> Bytes {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default()).into()
}

fn plain_event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// The strings at the JSON pointer `key` of each item of a list.
fn names<'a>(list: &'a Value, key: &'a str) -> impl Iterator<Item = String> + 'a {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(move |item| item.pointer(key)?.as_str()).map(str::to_owned)
}

/// The default message for statuses without a specific one.
fn reason(status: StatusCode) -> String {
    status.canonical_reason().map_or_else(|| status.to_string(), str::to_owned)
}
