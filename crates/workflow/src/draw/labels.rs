//! The texts in a drawing.

use crate::definition::{PromptRef, StepCheck};
use crate::graph::EdgeKind;
use crate::prompt::paths_of;

/// The most characters shown of a text from the definition.
const MAX_CHARS: usize = 48;

pub(super) fn prompt(prompt: &PromptRef) -> String {
    paths_of(prompt).join(", or ")
}

/// A description of a check.
pub(super) fn check(check: &StepCheck) -> String {
    match check {
        StepCheck::Prompt { prompt: reference, .. } => {
            format!("a separate session checks {}", prompt(reference))
        }
        StepCheck::Action { action, .. } => format!("the action {action} succeeds"),
        StepCheck::Keyword { keywords, .. } => format!("the response contains {}", keywords.join(" or ")),
    }
}

/// The name of the end that an edge leads to.
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

/// A text on one line, shortened and without control characters.
pub(super) fn plain(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
