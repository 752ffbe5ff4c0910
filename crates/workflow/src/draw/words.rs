//! What is said of a step or a condition in a drawing.

use crate::definition::{Check, PromptRef};
use crate::graph::EdgeKind;
use crate::prompt::paths_of;

/// How much of a word that somebody wrote is shown, in characters.
const MAX_CHARS: usize = 48;

/// A prompt by its file.
pub(super) fn prompt(prompt: &PromptRef) -> String {
    paths_of(prompt).join(", or ")
}

/// What decides whether a step has passed.
pub(super) fn check(check: &Check) -> String {
    match check {
        Check::Prompt { prompt: asked, .. } => format!("another session asks {}", prompt(asked)),
        Check::Action { action, .. } => format!("the action {action} succeeds"),
        Check::Keyword { keywords, .. } => format!("it says {}", keywords.join(" or ")),
    }
}

/// The end that a way leads to.
pub(super) fn end(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Abort => "failed",
        EdgeKind::Next
        | EdgeKind::Pass
        | EdgeKind::Fail
        | EdgeKind::Complete
        | EdgeKind::Retry
        | EdgeKind::Fallback
        | EdgeKind::Skip
        | EdgeKind::Branch
        | EdgeKind::SubStep
        | EdgeKind::Escalation
        | EdgeKind::Return => "the end",
    }
}

/// One line of a text, not too long, without what a terminal would act on.
pub(super) fn plain(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
