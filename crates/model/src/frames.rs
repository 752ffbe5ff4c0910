//! Parts of a stream that the genai library drops: error codes, refusals, malformed frames.
//!
//! The library passes each raw frame to us. Most are only searched for a few substrings; the few that matter
//! are parsed.

use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::provider::ProviderKind;

/// What the frames of one stream contained.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamNotes {
    /// A frame was not JSON.
    pub broken: bool,
    /// The error that the service reported.
    pub error: Option<Value>,
    /// The service refused because of the content.
    pub refused: bool,
    /// The server sends thoughts in a field that it expects back in later requests.
    pub wants_thoughts_back: bool,
    /// At least one frame was part of a model's stream. Comments are not, nor is a body of another kind.
    pub has_events: bool,
    /// Thinking tokens that the library does not report.
    pub reasoning_tokens: u64,
}

/// Inspects the frames of one stream.
#[derive(Debug)]
pub(crate) struct FrameWatch {
    kind: ProviderKind,
    notes: Mutex<StreamNotes>,
}

impl FrameWatch {
    pub fn new(kind: ProviderKind) -> Self {
        Self { kind, notes: Mutex::default() }
    }

    pub fn notes(&self) -> StreamNotes {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ChatFrameSink for FrameWatch {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.has_events |= frame.event.is_some() || is_event(self.kind, frame.data);
        inspect(self.kind, frame.data, &mut notes);
    }
}

fn is_event(kind: ProviderKind, data: &str) -> bool {
    match kind {
        ProviderKind::Anthropic
        | ProviderKind::OpenAi
        | ProviderKind::OpenAiCompatible
        | ProviderKind::Gemini => !data.is_empty(),
        // Its frames are lines without a field name, so anything could be one.
        ProviderKind::Ollama => ["\"message\"", "\"done\"", "\"error\""].iter().any(|key| data.contains(key)),
    }
}

fn inspect(kind: ProviderKind, data: &str, notes: &mut StreamNotes) {
    match kind {
        // The library does not read the number of thinking tokens.
        ProviderKind::Anthropic => {
            if data.contains("\"thinking_tokens\"") {
                let usage = serde_json::from_str::<Value>(data).unwrap_or_default();
                let tokens = usage.pointer("/usage/output_tokens_details/thinking_tokens");
                notes.reasoning_tokens = tokens.and_then(Value::as_u64).unwrap_or(notes.reasoning_tokens);
            }
        }
        // The library skips frames it cannot parse, loses the code of a failure, and does not know refusals.
        ProviderKind::OpenAi => {
            if data.contains("\"response.failed\"") {
                notes.error = notes.error.take().or(error_at(data, "response.failed", "/response/error"));
            } else if data.contains("\"response.incomplete\"") {
                notes.refused |= data.contains("\"content_filter\"");
            } else if data.contains("\"type\":\"response.refusal.")
                || data.contains("\"type\": \"response.refusal.")
            {
                notes.refused = true;
            }
            notes.broken |= !data.is_empty() && serde_json::from_str::<IgnoredAny>(data).is_err();
        }
        ProviderKind::OpenAiCompatible => {
            notes.refused |= data.contains("\"refusal\":\"") || data.contains("\"refusal\": \"");
            notes.wants_thoughts_back |=
                data.contains("\"reasoning_content\":\"") || data.contains("\"reasoning_content\": \"");
        }
        // The library loses the reason why a prompt was blocked.
        ProviderKind::Gemini => notes.refused |= data.contains("\"blockReason\""),
        // The library treats a line with an error as an empty one.
        ProviderKind::Ollama => {
            if data.trim_start().starts_with("{\"error\"") {
                notes.error = notes.error.take().or(serde_json::from_str(data).ok());
            }
        }
    }
}

fn error_at(data: &str, event: &str, pointer: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(data).ok()?;
    (value["type"] == event).then(|| value.pointer_mut(pointer).map(Value::take).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{StreamNotes, inspect};
    use crate::provider::ProviderKind;
    use serde_json::json;

    fn inspected(kind: ProviderKind, data: &str) -> StreamNotes {
        let mut notes = StreamNotes::default();
        inspect(kind, data, &mut notes);
        notes
    }

    #[test]
    fn errors_and_refusals_the_library_drops_are_noted() {
        let failed =
            json!({ "type": "response.failed", "response": { "error": { "code": "server_error" } } });
        let notes = inspected(ProviderKind::OpenAi, &failed.to_string());
        assert_eq!(notes.error, Some(json!({ "code": "server_error" })));
        assert!(inspected(ProviderKind::OpenAi, "{\"type\": \"respo").broken);
        assert!(inspected(ProviderKind::OpenAi, "{\"type\":\"response.refusal.delta\"}").refused);
        assert!(inspected(ProviderKind::Gemini, "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}").refused);
        let notes = inspected(ProviderKind::Ollama, "{\"error\":\"out of memory\"}");
        assert_eq!(notes.error, Some(json!({ "error": "out of memory" })));
        assert!(inspected(ProviderKind::OpenAiCompatible, "{\"delta\":{\"refusal\":\"No.\"}}").refused);
        assert!(
            inspected(ProviderKind::OpenAiCompatible, "{\"reasoning_content\":\"Hm\"}").wants_thoughts_back
        );
        let counted = json!({ "usage": { "output_tokens_details": { "thinking_tokens": 182 } } });
        assert_eq!(inspected(ProviderKind::Anthropic, &counted.to_string()).reasoning_tokens, 182);
    }

    #[test]
    fn markers_inside_model_text_are_ignored() {
        let quoted =
            json!({ "type": "response.output_text.delta", "delta": "\"response.failed\"" }).to_string();
        let notes = inspected(ProviderKind::OpenAi, &quoted);
        assert!(notes.error.is_none() && !notes.broken && !notes.refused);
        assert!(!inspected(ProviderKind::OpenAiCompatible, "{\"delta\":{\"refusal\":null}}").refused);
        let text = json!({ "content": "\"refusal\":\"x\"" }).to_string();
        assert!(!inspected(ProviderKind::OpenAiCompatible, &text).refused);
        let text = json!({ "message": { "content": "{\"error\": 1}" } }).to_string();
        assert!(inspected(ProviderKind::Ollama, &text).error.is_none());
    }
}
