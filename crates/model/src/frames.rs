//! What a stream says that the library passes over: errors without their code, refusals, broken pieces.
//!
//! The library shows each piece as it came. Most are let go after a glance; only the few that matter are read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::page::Page;
use crate::provider::ProviderKind;

/// What was noted of one stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// A piece was no JSON.
    pub broken: bool,
    /// The service said that it failed, and how.
    pub error: Option<Value>,
    /// The service refused on grounds of content.
    pub refused: bool,
    /// The server tells thoughts in a field that it wants to see again.
    pub wants_thoughts_back: bool,
    /// Something came that is an event or data.
    pub said_something: bool,
    /// Something came that is neither: a comment, or a page that is not a stream at all.
    pub said_nothing: bool,
    /// A page for people came.
    pub page: Option<Page>,
    /// Tokens thought with, as far as the library does not tell.
    pub reasoning_tokens: u64,
}

impl Noted {
    /// Whether something came and nothing of it was of a stream.
    pub fn was_no_stream(&self) -> bool {
        self.said_nothing && !self.said_something
    }
}

/// Looks at the pieces of one stream.
#[derive(Debug)]
pub(crate) struct Watch {
    kind: ProviderKind,
    bytes: AtomicUsize,
    noted: Mutex<Noted>,
}

impl Watch {
    pub fn new(kind: ProviderKind) -> Self {
        Self { kind, bytes: AtomicUsize::new(0), noted: Mutex::default() }
    }

    /// How much was sent so far.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What was noted so far.
    pub fn noted(&self) -> Noted {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ChatFrameSink for Watch {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.bytes.fetch_add(frame.data.len(), Ordering::Relaxed);
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        match frame.event.is_some() || !frame.data.is_empty() {
            true => noted.said_something = true,
            false => noted.said_nothing = true,
        }
        glance(self.kind, frame.data, &mut noted);
    }
}

fn glance(kind: ProviderKind, data: &str, noted: &mut Noted) {
    match kind {
        // The library does not read how many tokens were thought with.
        ProviderKind::Anthropic => {
            if data.contains("\"thinking_tokens\"") {
                let usage = serde_json::from_str::<Value>(data).unwrap_or_default();
                let tokens = usage.pointer("/usage/output_tokens_details/thinking_tokens");
                noted.reasoning_tokens = tokens.and_then(Value::as_u64).unwrap_or(noted.reasoning_tokens);
            }
        }
        // The library skips what it cannot read, loses the code of a failure, and knows no refusals.
        ProviderKind::OpenAi => {
            if data.contains("\"response.failed\"") {
                noted.error = noted.error.take().or(error_at(data, "response.failed", "/response/error"));
            } else if data.contains("\"response.incomplete\"") {
                noted.refused |= data.contains("\"content_filter\"");
            } else if data.contains("\"type\":\"response.refusal.")
                || data.contains("\"type\": \"response.refusal.")
            {
                noted.refused = true;
            }
            noted.broken |= !data.is_empty() && serde_json::from_str::<IgnoredAny>(data).is_err();
        }
        ProviderKind::OpenAiCompatible => {
            noted.refused |= data.contains("\"refusal\":\"") || data.contains("\"refusal\": \"");
            noted.wants_thoughts_back |=
                data.contains("\"reasoning_content\":\"") || data.contains("\"reasoning_content\": \"");
        }
        // The library loses why a prompt was blocked.
        ProviderKind::Gemini => noted.refused |= data.contains("\"blockReason\""),
        // The library takes a line with an error for one that says nothing.
        ProviderKind::Ollama => {
            noted.page = noted.page.take().or_else(|| Page::read(data));
            if data.trim_start().starts_with("{\"error\"") {
                noted.error = noted.error.take().or(serde_json::from_str(data).ok());
            }
        }
    }
}

/// The error of an event of the given type.
fn error_at(data: &str, event: &str, pointer: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(data).ok()?;
    (value["type"] == event).then(|| value.pointer_mut(pointer).map(Value::take).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Noted, glance};
    use crate::provider::ProviderKind;
    use serde_json::json;

    fn seen(kind: ProviderKind, data: &str) -> Noted {
        let mut noted = Noted::default();
        glance(kind, data, &mut noted);
        noted
    }

    #[test]
    fn what_the_library_drops_is_noted() {
        let failed =
            json!({ "type": "response.failed", "response": { "error": { "code": "server_error" } } });
        let noted = seen(ProviderKind::OpenAi, &failed.to_string());
        assert_eq!(noted.error, Some(json!({ "code": "server_error" })));
        assert!(seen(ProviderKind::OpenAi, "{\"type\": \"respo").broken);
        assert!(seen(ProviderKind::OpenAi, "{\"type\":\"response.refusal.delta\"}").refused);
        assert!(seen(ProviderKind::Gemini, "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}").refused);
        let noted = seen(ProviderKind::Ollama, "{\"error\":\"out of memory\"}");
        assert_eq!(noted.error, Some(json!({ "error": "out of memory" })));
        assert!(seen(ProviderKind::OpenAiCompatible, "{\"delta\":{\"refusal\":\"No.\"}}").refused);
        assert!(seen(ProviderKind::OpenAiCompatible, "{\"reasoning_content\":\"Hm\"}").wants_thoughts_back);
        let counted = json!({ "usage": { "output_tokens_details": { "thinking_tokens": 182 } } });
        assert_eq!(seen(ProviderKind::Anthropic, &counted.to_string()).reasoning_tokens, 182);
    }

    #[test]
    fn what_a_model_says_about_such_things_is_none() {
        let quoted =
            json!({ "type": "response.output_text.delta", "delta": "\"response.failed\"" }).to_string();
        let noted = seen(ProviderKind::OpenAi, &quoted);
        assert!(noted.error.is_none() && !noted.broken && !noted.refused);
        assert!(!seen(ProviderKind::OpenAiCompatible, "{\"delta\":{\"refusal\":null}}").refused);
        let text = json!({ "content": "\"refusal\":\"x\"" }).to_string();
        assert!(!seen(ProviderKind::OpenAiCompatible, &text).refused);
        let said = json!({ "message": { "content": "{\"error\": 1}" } }).to_string();
        assert!(seen(ProviderKind::Ollama, &said).error.is_none());
    }
}
