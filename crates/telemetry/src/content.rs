//! Content: texts, arguments and results, for those who want them sent. Never too much of it.

use serde_json::{Value, json};

/// How many characters of content one span carries.
const CONTENT_LIMIT: usize = 16_384;

/// What is captured of a span's content.
#[derive(Debug)]
pub struct Content {
    room: usize,
    cut: usize,
    said: Vec<Value>,
}

impl Default for Content {
    fn default() -> Self {
        Self { room: CONTENT_LIMIT, cut: 0, said: Vec::new() }
    }
}

/// Whether a piece of an answer was thought or said, in the words of the conventions.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// Said.
    Text,
    /// Thought.
    Reasoning,
}

impl Content {
    /// As much of the text as there is room for. It has been redacted: a part of a secret has lost its shape.
    pub fn take(&mut self, text: &str) -> String {
        let end = text.char_indices().nth(self.room).map_or(text.len(), |(end, _)| end);
        let (kept, lost) = text.split_at(end);
        self.room -= kept.chars().count();
        self.cut += lost.chars().count();
        kept.to_owned()
    }

    /// Adds what the model thought or said.
    pub fn say(&mut self, part: Part, text: &str) {
        let text = self.take(text);
        if text.is_empty() {
            return;
        }
        let kind = match part {
            Part::Text => "text",
            Part::Reasoning => "reasoning",
        };
        self.said.push(json!({ "type": kind, "content": text }));
    }

    /// All that was said, as the messages of the conventions.
    pub fn messages(&mut self) -> Option<String> {
        let said = std::mem::take(&mut self.said);
        if said.is_empty() {
            return None;
        }
        // Why it stopped is not told by any event.
        Some(json!([{ "role": "assistant", "parts": said, "finish_reason": "unknown" }]).to_string())
    }

    /// How many characters there was no room for.
    pub fn cut(&self) -> usize {
        self.cut
    }
}

/// An instruction, as the messages of the conventions.
pub fn instruction(text: &str) -> String {
    json!([{ "role": "user", "parts": [{ "type": "text", "content": text }] }]).to_string()
}
