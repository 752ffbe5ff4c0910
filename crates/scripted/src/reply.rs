//! What passes between the script and a wire format, in the terms of neither: the prompt as read from a request, the reply
//! to encode, and the faults that may spoil it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

/// A request for a reply, as far as choosing the reply needs it.
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
    /// Signatures that came back.
    pub signatures: Vec<String>,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// Those of them that take a text instead of arguments.
    pub freeform: Vec<String>,
    /// Whether there are further tools, which are found by a search.
    pub searches: bool,
    /// Size of the request, from which its tokens are estimated.
    pub bytes: usize,
}

/// A reply, ready to be encoded.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// `<play>_<turn>`, to which each wire puts its own prefixes.
    pub id: String,
    pub model: String,
    pub thinking: Option<Thinking>,
    pub text: Option<String>,
    pub calls: Vec<Call>,
    pub stop: StopReason,
    pub usage: Usage,
}

/// What is thought before a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thinking {
    pub text: String,
    /// `None` where the wire has no signatures or the client did not ask for them.
    pub signature: Option<String>,
}

/// A tool call within a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub id: String,
    pub tool: String,
    /// An object, or a string to be sent as it is: arguments that are not JSON.
    pub input: Value,
    pub form: CallForm,
}

/// How a tool is called, where there is more than one way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum CallForm {
    /// By its name, with arguments.
    #[default]
    Plain,
    /// By its name, with a text instead of arguments.
    Freeform,
    /// By its name in a namespace: it was not offered, and is found by a search.
    Within(String),
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
    /// Neither read from nor written to a cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Thinking included.
    pub output: u64,
    /// The part of the output that is thinking.
    pub reasoning: u64,
}

/// What may happen instead of a reply, or to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    Error(ErrorReply),
    /// A reply that says nothing.
    Empty,
    Spoil(Spoil),
}

/// An error instead of a reply, or breaking it off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorReply {
    pub complaint: Complaint,
    /// Further response headers.
    pub headers: HeaderMap,
    /// What the service says beside or instead of its usual words, in the `error` of its body.
    pub details: BTreeMap<String, Value>,
    pub moment: Moment,
}

/// What a service complains about. Each wire has its own words for it, used where the script gives no message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Complaint {
    pub trouble: Trouble,
    pub message: Option<String>,
    pub retry_after: Option<Duration>,
}

/// Why a service does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Status(StatusCode),
    InvalidKey,
    Quota,
    ContextLength,
    Overloaded,
}

/// When something goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    AtOnce,
    /// After half of the stream.
    Midway,
}

/// How the delivery of a reply goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoil {
    Cut,
    Malformed,
    Silence(Moment),
    Slow(Duration),
}

impl Reply {
    /// The same without anything said.
    pub fn emptied(self) -> Reply {
        Reply { thinking: None, text: None, calls: Vec::new(), stop: StopReason::EndTurn, ..self }
    }
}

impl Call {
    /// The arguments as text.
    pub fn arguments(&self) -> String {
        match &self.input {
            Value::String(text) => text.clone(),
            input => input.to_string(),
        }
    }
}

impl Usage {
    /// All of the input, cached or not.
    pub fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl Complaint {
    /// A request that makes no sense to the service or to the script.
    pub fn refused(status: StatusCode, message: String) -> Complaint {
        Complaint { trouble: Trouble::Status(status), message: Some(message), retry_after: None }
    }
}

impl Fault {
    /// Whether the client gets the reply all the same.
    pub fn delivers(&self) -> bool {
        match self {
            Fault::Spoil(Spoil::Slow(_)) => true,
            Fault::Error(_) | Fault::Empty => false,
            Fault::Spoil(Spoil::Cut | Spoil::Malformed | Spoil::Silence(_)) => false,
        }
    }
}

/// What stands where a service signs its thinking: the same for the same words, and valid base64 as theirs are.
pub(crate) fn signature(thinking: &str) -> String {
    format!("{:016x}", fingerprint(thinking))
}

/// A short stand-in for a text.
pub(crate) fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
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
