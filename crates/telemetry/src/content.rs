//! Captured content: texts, arguments and results, for users who opted in. Bounded for each span.

use serde_json::{Value, json};

/// The most characters of content in one span.
const CONTENT_LIMIT: usize = 16_384;

/// The content captured for one span.
#[derive(Debug)]
pub struct CapturedContent {
    remaining: usize,
    cut: usize,
    parts: Vec<Value>,
}

impl Default for CapturedContent {
    fn default() -> Self {
        Self { remaining: CONTENT_LIMIT, cut: 0, parts: Vec::new() }
    }
}

/// The kinds of message parts in the semantic conventions.
#[derive(Debug, Clone, Copy)]
pub enum ContentPart {
    Text,
    Reasoning,
}

impl CapturedContent {
    /// As much of the text as still fits. The text must already be redacted: a truncated secret would no longer be
    /// recognized by its shape.
    pub fn take(&mut self, text: &str) -> String {
        let end = text.char_indices().nth(self.remaining).map_or(text.len(), |(end, _)| end);
        let (kept, lost) = text.split_at(end);
        self.remaining -= kept.chars().count();
        self.cut += lost.chars().count();
        kept.to_owned()
    }

    pub fn push(&mut self, part: ContentPart, text: &str) {
        let text = self.take(text);
        if text.is_empty() {
            return;
        }
        let kind = match part {
            ContentPart::Text => "text",
            ContentPart::Reasoning => "reasoning",
        };
        self.parts.push(json!({ "type": kind, "content": text }));
    }

    /// Takes all parts, as `gen_ai.output.messages` has them; `None` if there are none.
    pub fn messages(&mut self) -> Option<String> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return None;
        }
        // No event carries the reason why the model stopped.
        Some(json!([{ "role": "assistant", "parts": parts, "finish_reason": "unknown" }]).to_string())
    }

    /// The number of characters that did not fit.
    pub fn cut(&self) -> usize {
        self.cut
    }
}

/// An instruction, as `gen_ai.input.messages` has it.
pub fn instruction(text: &str) -> String {
    json!([{ "role": "user", "parts": [{ "type": "text", "content": text }] }]).to_string()
}
