//! The types between the script and the wire formats: the prompt read from a request, the reply to encode, and the
//! faults that replace or corrupt it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

/// The parts of a request that decide the reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    pub model: String,
    pub stream: bool,
    /// Whether a stream ends with the usage.
    pub stream_usage: bool,
    pub system: String,
    /// The text of the user messages before the first assistant message.
    pub first: String,
    /// The text and tool results after the last assistant message.
    pub newest: String,
    pub messages: usize,
    pub assistants: usize,
    /// Ids of the tool calls in the assistant messages.
    pub call_ids: Vec<String>,
    /// Whether thinking is signed for this client, which must then send the signature back.
    pub signed: bool,
    /// Signatures that the client sent back.
    pub signatures: Vec<String>,
    /// Names of the offered tools.
    pub tools: Vec<String>,
    /// The offered tools that take text instead of arguments.
    pub freeform: Vec<String>,
    /// Whether the client offers tool search.
    pub searches: bool,
    /// Size of the request, from which its tokens are estimated.
    pub bytes: usize,
}

/// A reply, ready for a wire format to encode.
#[derive(Debug, Clone)]
pub(crate) struct WireReply {
    /// `<play>_<turn>`; each wire format adds its own prefixes.
    pub id: String,
    pub model: String,
    pub thinking: Option<WireThinking>,
    pub text: Option<String>,
    pub calls: Vec<WireCall>,
    pub stop: StopReason,
    pub usage: WireUsage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireThinking {
    pub text: String,
    /// `None` if the wire format has no signatures or the client did not request them.
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WireCall {
    pub id: String,
    pub tool: String,
    /// An object, or a string to be sent verbatim.
    pub input: Value,
    pub form: CallForm,
}

/// How a tool is called; only OpenAI Responses has more than the plain form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum CallForm {
    #[default]
    Plain,
    /// With text instead of arguments.
    Freeform,
    /// By its name in this namespace: the tool was not offered and is found by tool search.
    Within(String),
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireUsage {
    /// Tokens neither read from nor written to a cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Includes `reasoning`.
    pub output: u64,
    pub reasoning: u64,
}

/// Replaces a reply, or corrupts its delivery.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScriptFault {
    Error(ErrorReply),
    /// A reply without content.
    Empty,
    Delivery(DeliveryFault),
}

/// An error instead of a reply, or in the middle of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorReply {
    pub error: ServiceError,
    pub headers: HeaderMap,
    /// Merged into the `error` object of the body.
    pub details: BTreeMap<String, Value>,
    pub timing: FaultTiming,
}

/// An error that a service reports. Each wire format has its own message for it, used if the script gives none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServiceError {
    pub kind: ServiceErrorKind,
    pub message: Option<String>,
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceErrorKind {
    Status(StatusCode),
    InvalidKey,
    Quota,
    ContextLength,
    Overloaded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultTiming {
    AtOnce,
    /// After half of the stream.
    Midway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryFault {
    Cut,
    Malformed,
    Silence(FaultTiming),
    Slow(Duration),
}

impl WireReply {
    pub fn emptied(self) -> WireReply {
        WireReply { thinking: None, text: None, calls: Vec::new(), stop: StopReason::EndTurn, ..self }
    }
}

impl WireCall {
    pub fn arguments(&self) -> String {
        match &self.input {
            Value::String(text) => text.clone(),
            input => input.to_string(),
        }
    }
}

impl WireUsage {
    pub fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl ServiceError {
    /// The error for a request that the service or the script rejects.
    pub fn refused(status: StatusCode, message: String) -> ServiceError {
        ServiceError { kind: ServiceErrorKind::Status(status), message: Some(message), retry_after: None }
    }
}

impl ScriptFault {
    /// Whether the client still gets the reply.
    pub fn delivers(&self) -> bool {
        match self {
            ScriptFault::Delivery(DeliveryFault::Slow(_)) => true,
            ScriptFault::Error(_) | ScriptFault::Empty => false,
            ScriptFault::Delivery(
                DeliveryFault::Cut | DeliveryFault::Malformed | DeliveryFault::Silence(_),
            ) => false,
        }
    }
}

/// A deterministic signature of thinking; valid base64, as the services' signatures are.
pub(crate) fn signature(thinking: &str) -> String {
    format!("{:016x}", fingerprint(thinking))
}

pub(crate) fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

const BYTES_PER_TOKEN: usize = 4;

/// A rough estimate; never zero.
pub(crate) fn estimated_tokens(bytes: usize) -> u64 {
    (bytes / BYTES_PER_TOKEN).max(1) as u64
}

/// The beginning of a text on one line, for messages.
pub(crate) fn beginning(text: &str) -> String {
    const SHOWN_CHARS: usize = 80;
    let mut shown: String =
        text.chars().take(SHOWN_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
