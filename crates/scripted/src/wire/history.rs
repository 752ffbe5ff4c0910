//! What was said before a request, in the terms of no wire: from it follow the script's position and whether every tool
//! call was answered.

use super::content::joined;
use crate::reply::Prompt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    /// The results of tools are the user's.
    User,
    Assistant,
}

/// One message, or one item where messages come in items.
#[derive(Debug)]
pub(super) struct Message {
    pub role: Role,
    pub text: String,
    /// Ids of the calls it makes.
    pub calls: Vec<String>,
    /// Ids of the calls it answers.
    pub answers: Vec<String>,
    /// Signatures of thinking.
    pub signatures: Vec<String>,
}

/// How calls and answers do not fit together, and at which message.
#[derive(Debug)]
pub(super) enum Misfit {
    Unanswered { at: usize, ids: Vec<String> },
    Stray { at: usize, id: String },
}

impl Message {
    pub fn new(role: Role, text: String) -> Message {
        Message { role, text, calls: Vec::new(), answers: Vec::new(), signatures: Vec::new() }
    }
}

/// The part of a prompt that follows from the messages.
pub(super) fn prompt(messages: &[Message]) -> Prompt {
    let is_assistant = |message: &Message| message.role == Role::Assistant;
    let until_reply = messages.iter().position(is_assistant).unwrap_or(messages.len());
    let since_reply = messages.iter().rposition(is_assistant).map_or(0, |last| last + 1);
    let assistants = || messages.iter().filter(|message| is_assistant(message));
    Prompt {
        system: texts(messages, Role::System),
        first: texts(&messages[..until_reply], Role::User),
        newest: texts(&messages[since_reply..], Role::User),
        messages: messages.len(),
        assistants: assistants().count(),
        call_ids: assistants().flat_map(|message| message.calls.clone()).collect(),
        signatures: assistants().flat_map(|message| message.signatures.clone()).collect(),
        ..Prompt::default()
    }
}

/// Each call must be answered before the assistant speaks again, and nothing else may be. Neighbours of the same role
/// count as one message.
pub(super) fn check_answers(messages: &[Message]) -> Result<(), Misfit> {
    let mut open: Vec<String> = Vec::new();
    let mut end = 0;
    for group in groups(messages) {
        let at = group[0].0;
        for id in group.iter().flat_map(|(_, message)| &message.answers) {
            match open.iter().position(|call| call == id) {
                Some(call) => drop(open.remove(call)),
                None => return Err(Misfit::Stray { at, id: id.clone() }),
            }
        }
        if !open.is_empty() {
            return Err(Misfit::Unanswered { at: at.saturating_sub(1), ids: open });
        }
        open = group.iter().flat_map(|(_, message)| message.calls.clone()).collect();
        end = group.last().map_or(at, |(last, _)| *last);
    }
    if open.is_empty() { Ok(()) } else { Err(Misfit::Unanswered { at: end, ids: open }) }
}

/// How often the assistant spoke, where it may take several items to do so.
pub(super) fn assistant_groups(messages: &[Message]) -> usize {
    groups(messages).iter().filter(|group| group[0].1.role == Role::Assistant).count()
}

/// Neighbours of the same role, each with its place; what the system says does not part them.
fn groups(messages: &[Message]) -> Vec<Vec<(usize, &Message)>> {
    let spoken: Vec<(usize, &Message)> =
        messages.iter().enumerate().filter(|(_, message)| message.role != Role::System).collect();
    spoken.chunk_by(|(_, one), (_, next)| one.role == next.role).map(<[_]>::to_vec).collect()
}

fn texts(messages: &[Message], role: Role) -> String {
    joined(messages.iter().filter(|message| message.role == role).map(|message| message.text.clone()))
}
