//! The first remedy: the same prompt, with what was tried and what the checks said.

use super::sections::joined;
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

/// What was tried that is listed, the newest.
const LISTED: usize = 5;

/// Characters at the end of a check's output that are shown.
const SHOWN_OUTPUT: usize = 1500;

pub struct Nudge;

impl RecoveryStrategy for Nudge {
    fn name(&self) -> &'static str {
        "nudge"
    }

    fn sessions(&self) -> u32 {
        1
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.is_new(self.name())
    }

    fn apply(&self, _task: &Task, context: &LoopContext) -> RecoveryResult {
        let advice = "Do not repeat what was tried. First say in one sentence why it did not work. Then take the smallest step \
                      that tests another explanation.";
        let parts = [context.prompt.clone(), facts(context), advice.to_owned()];
        RecoveryResult::prompt(joined(&parts))
    }
}

/// What was tried, and what the checks said.
pub(super) fn facts(context: &LoopContext) -> String {
    let mut parts = Vec::new();
    let newest = context.tried.len().saturating_sub(LISTED);
    let tried: Vec<String> =
        context.tried[newest..].iter().map(|text| format!("- {}", text.replace('\n', "\n  "))).collect();
    if !tried.is_empty() {
        let heading =
            "## What has been tried\nThe last sessions made no progress. This is how each of them ended:";
        parts.push(format!("{heading}\n{}", tried.join("\n")));
    }
    let checks: Vec<String> = context
        .failed_checks
        .iter()
        .map(|check| format!("{} failed:\n```\n{}\n```", check.name, end_of(&check.output)))
        .collect();
    if !checks.is_empty() {
        parts.push(format!("## What the checks say\n{}", checks.join("\n")));
    }
    joined(&parts)
}

fn end_of(output: &str) -> &str {
    let text = output.trim_end();
    let start = text.char_indices().rev().nth(SHOWN_OUTPUT - 1).map_or(0, |(start, _)| start);
    &text[start..]
}
