//! Shortens a conversation before the context window is full: first drops old tool outputs, then replaces
//! whole turns by a summary. A call is never separated from its result; the system prompt and the instruction
//! are never changed.
//!
//! A turn is a reply of the model with the results of its calls. The caller produces the summary.

use std::fmt::Write as _;

use crate::conversation::{Conversation, Message, ToolResult};
use crate::reply::ReplyPart;

/// Outputs up to this size are not worth dropping.
const SHORT_BYTES: usize = 240;

/// Longer entries of a transcript are cut.
const MAX_ENTRY_BYTES: usize = 2_000;

/// The model that summarises the transcript has a limited window too.
const MAX_TRANSCRIPT_BYTES: usize = 400_000;

impl Conversation {
    /// Drops tool outputs before the last turns. Returns the approximate number of tokens freed.
    pub fn drop_old_outputs(&mut self, keep_recent_turns: usize) -> u64 {
        let boundary = self.boundary(keep_recent_turns);
        let mut freed = 0;
        for message in self.messages.iter_mut().take(boundary) {
            if let Message::Tools { results } = message {
                freed += results.iter_mut().map(drop_output).sum::<u64>();
            }
        }
        if let Some(measured) = &mut self.measured {
            measured.tokens = measured.tokens.saturating_sub(freed);
        }
        freed
    }

    /// A transcript of everything before the last turns; `None` if there is nothing before them.
    pub fn transcript_to_summarise(&self, keep_recent_turns: usize) -> Option<String> {
        let old = self.messages.get(..self.boundary(keep_recent_turns)).filter(|old| !old.is_empty())?;
        let mut transcript = String::new();
        if let Some(summary) = &self.summary {
            let _ = writeln!(transcript, "SUMMARY OF EARLIER TURNS: {summary}\n");
        }
        for message in old {
            write_entries(message, &mut transcript);
        }
        Some(excerpt(&transcript, MAX_TRANSCRIPT_BYTES))
    }

    /// Replaces everything between the instruction and the last turns by a summary.
    pub fn replace_with_summary(&mut self, summary: String, keep_recent_turns: usize) {
        let boundary = self.boundary(keep_recent_turns);
        if boundary == 0 {
            return;
        }
        self.messages.drain(..boundary);
        self.summary = Some(summary);
        self.measured = None;
    }

    /// The index of the message at which the last turns begin.
    fn boundary(&self, keep_recent_turns: usize) -> usize {
        let mut replies =
            self.messages.iter().enumerate().rev().filter_map(|(index, message)| match message {
                Message::Model { .. } => Some(index),
                Message::User { .. } | Message::Tools { .. } => None,
            });
        match keep_recent_turns {
            0 => self.messages.len(),
            keep => replies.nth(keep - 1).unwrap_or_default(),
        }
    }
}

/// Replaces an output by a note. Returns the approximate number of tokens freed.
fn drop_output(result: &mut ToolResult) -> u64 {
    if result.text.len() <= SHORT_BYTES && result.images.is_empty() {
        return 0;
    }
    let before = result.estimated_tokens();
    let characters = result.text.chars().count();
    let images = match result.images.len() {
        0 => String::new(),
        1 => " and 1 image".to_owned(),
        several => format!(" and {several} images"),
    };
    result.text = format!(
        "(This output of {characters} characters{images} was dropped to save space. Call the tool again if you \
         need it.)"
    );
    result.images.clear();
    before.saturating_sub(result.estimated_tokens())
}

fn write_entries(message: &Message, transcript: &mut String) {
    match message {
        Message::User { text } => line(transcript, "USER", text),
        Message::Model { parts, .. } => {
            for part in parts {
                match part {
                    ReplyPart::Text { text } => line(transcript, "MODEL", text),
                    ReplyPart::Call { name, arguments, .. } => {
                        line(transcript, "CALL", &format!("{name} {arguments}"));
                    }
                    ReplyPart::Thought { .. } | ReplyPart::Signature { .. } | ReplyPart::Opaque { .. } => {}
                }
            }
        }
        Message::Tools { results } => {
            for result in results {
                line(transcript, "RESULT", &result.text);
                if !result.images.is_empty() {
                    line(transcript, "RESULT", &format!("({} images)", result.images.len()));
                }
            }
        }
    }
}

fn line(transcript: &mut String, role: &str, text: &str) {
    let _ = writeln!(transcript, "{role}: {}\n", excerpt(text.trim(), MAX_ENTRY_BYTES));
}

/// Keeps the beginning (three of four parts of the limit) and the end (one part), with a note of how much was
/// cut.
fn excerpt(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=limit / 4 * 3).rev().find(boundary).unwrap_or_default();
    let tail = (text.len() - limit / 4..).find(boundary).unwrap_or(text.len());
    let cut = text[head..tail].chars().count();
    format!("{} … [{cut} characters cut] … {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests;
