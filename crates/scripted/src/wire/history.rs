//! The messages of a request, independent of the wire format. They determine the script's position and whether every tool
//! call was answered.

use super::content::joined;
use crate::reply::Prompt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageRole {
    System,
    /// Includes tool results.
    User,
    Assistant,
}

/// A message, or an item in the Responses API.
#[derive(Debug)]
pub(super) struct HistoryMessage {
    pub role: MessageRole,
    pub text: String,
    /// Ids of the calls it makes.
    pub calls: Vec<String>,
    /// Ids of the calls whose results it has.
    pub results: Vec<String>,
    pub signatures: Vec<String>,
}

/// A mismatch of calls and results; `at` is the index of the message.
#[derive(Debug)]
pub(super) enum HistoryError {
    Unanswered { at: usize, ids: Vec<String> },
    Stray { at: usize, id: String },
}

impl HistoryMessage {
    pub fn new(role: MessageRole, text: String) -> HistoryMessage {
        HistoryMessage { role, text, calls: Vec::new(), results: Vec::new(), signatures: Vec::new() }
    }
}

/// The fields of a prompt that the messages determine; the rest is default.
pub(super) fn prompt(messages: &[HistoryMessage]) -> Prompt {
    let is_assistant = |message: &HistoryMessage| message.role == MessageRole::Assistant;
    let until_reply = messages.iter().position(is_assistant).unwrap_or(messages.len());
    let since_reply = messages.iter().rposition(is_assistant).map_or(0, |last| last + 1);
    let assistants = || messages.iter().filter(|message| is_assistant(message));
    Prompt {
        system: texts(messages, MessageRole::System),
        first: texts(&messages[..until_reply], MessageRole::User),
        newest: texts(&messages[since_reply..], MessageRole::User),
        messages: messages.len(),
        assistants: assistants().count(),
        call_ids: assistants().flat_map(|message| message.calls.clone()).collect(),
        signatures: assistants().flat_map(|message| message.signatures.clone()).collect(),
        ..Prompt::default()
    }
}

/// Each call needs a result before the next assistant message, and each result needs a call. Consecutive messages of the
/// same role count as one.
pub(super) fn check_results(messages: &[HistoryMessage]) -> Result<(), HistoryError> {
    let mut open: Vec<String> = Vec::new();
    let mut end = 0;
    for group in groups(messages) {
        let at = group[0].0;
        for id in group.iter().flat_map(|(_, message)| &message.results) {
            match open.iter().position(|call| call == id) {
                Some(call) => drop(open.remove(call)),
                None => return Err(HistoryError::Stray { at, id: id.clone() }),
            }
        }
        if !open.is_empty() {
            return Err(HistoryError::Unanswered { at: at.saturating_sub(1), ids: open });
        }
        open = group.iter().flat_map(|(_, message)| message.calls.clone()).collect();
        end = group.last().map_or(at, |(last, _)| *last);
    }
    if open.is_empty() { Ok(()) } else { Err(HistoryError::Unanswered { at: end, ids: open }) }
}

/// The number of assistant turns, each of which may consist of several items.
pub(super) fn assistant_groups(messages: &[HistoryMessage]) -> usize {
    groups(messages).iter().filter(|group| group[0].1.role == MessageRole::Assistant).count()
}

/// Consecutive messages of the same role, each with its index. System messages are skipped.
fn groups(messages: &[HistoryMessage]) -> Vec<Vec<(usize, &HistoryMessage)>> {
    let conversation: Vec<(usize, &HistoryMessage)> =
        messages.iter().enumerate().filter(|(_, message)| message.role != MessageRole::System).collect();
    conversation.chunk_by(|(_, one), (_, next)| one.role == next.role).map(<[_]>::to_vec).collect()
}

fn texts(messages: &[HistoryMessage], role: MessageRole) -> String {
    joined(messages.iter().filter(|message| message.role == role).map(|message| message.text.clone()))
}
