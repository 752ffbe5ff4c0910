//! Making a conversation shorter before the window is full: first what tools said long ago, then whole turns, of which
//! a summary stays. A call is never parted from its result; the system prompt and the instruction are never touched.
//!
//! A turn is a reply of the model with the results of its calls. Who writes the summary is left to the caller.

use std::fmt::Write as _;

use crate::conversation::{Conversation, Message, ToolResult};
use crate::reply::Part;

/// A shorter output is not worth dropping.
const SHORT: usize = 240;

/// The most that is told of one output in a transcript, in bytes.
const LONGEST_PIECE: usize = 2_000;

/// The longest transcript, in bytes: anyone who summarises it has a window too.
const LONGEST_TRANSCRIPT: usize = 400_000;

impl Conversation {
    /// Drops what tools said before the last turns. Returns about how many tokens that frees.
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

    /// What happened before the last turns, to be summarised; none when there is nothing before them.
    pub fn to_be_summarised(&self, keep_recent_turns: usize) -> Option<String> {
        let old = self.messages.get(..self.boundary(keep_recent_turns)).filter(|old| !old.is_empty())?;
        let mut transcript = String::new();
        if let Some(summary) = &self.summary {
            let _ = writeln!(transcript, "SUMMARY OF WHAT WAS BEFORE: {summary}\n");
        }
        for message in old {
            tell(message, &mut transcript);
        }
        Some(excerpt(&transcript, LONGEST_TRANSCRIPT))
    }

    /// Puts a summary in the place of everything between the instruction and the last turns.
    pub fn replace_with_summary(&mut self, summary: String, keep_recent_turns: usize) {
        let boundary = self.boundary(keep_recent_turns);
        if boundary == 0 {
            return;
        }
        self.messages.drain(..boundary);
        self.summary = Some(summary);
        self.measured = None;
    }

    /// Where the last turns begin.
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

/// Leaves a note in the place of an output and returns about how many tokens that frees.
fn drop_output(result: &mut ToolResult) -> u64 {
    if result.text.len() <= SHORT && result.images.is_empty() {
        return 0;
    }
    let before = result.estimated_tokens();
    let characters = result.text.chars().count();
    let pictures = match result.images.len() {
        0 => String::new(),
        1 => " and a picture".to_owned(),
        several => format!(" and {several} pictures"),
    };
    result.text = format!(
        "(This output of {characters} characters{pictures} was dropped to save room. Call the tool again if you need it.)"
    );
    result.images.clear();
    before.saturating_sub(result.estimated_tokens())
}

fn tell(message: &Message, transcript: &mut String) {
    match message {
        Message::User { text } => line(transcript, "USER", text),
        Message::Model { parts, .. } => {
            for part in parts {
                match part {
                    Part::Text { text } => line(transcript, "MODEL", text),
                    Part::Call { name, arguments, .. } => {
                        line(transcript, "CALL", &format!("{name} {arguments}"));
                    }
                    Part::Thought { .. } | Part::Signature { .. } | Part::Opaque { .. } => {}
                }
            }
        }
        Message::Tools { results } => {
            for result in results {
                line(transcript, "RESULT", &result.text);
                if !result.images.is_empty() {
                    line(transcript, "RESULT", &format!("({} pictures)", result.images.len()));
                }
            }
        }
    }
}

fn line(transcript: &mut String, who: &str, what: &str) {
    let _ = writeln!(transcript, "{who}: {}\n", excerpt(what.trim(), LONGEST_PIECE));
}

/// The first three session_sandbox and the last of what may stay, and how much was cut between them.
fn excerpt(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=longest / 4 * 3).rev().find(boundary).unwrap_or_default();
    let tail = (text.len() - longest / 4..).find(boundary).unwrap_or(text.len());
    let cut = text[head..tail].chars().count();
    format!("{} … [{cut} characters cut] … {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests;
