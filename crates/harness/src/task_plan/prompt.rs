//! What an agent gets to read about a task: the sections of the roadmap, what became of the attempt before, and how to finish.

use autonoe_core::agent::Instruction;
use autonoe_core::instruction::Phase;

use super::state::{BegunTask, FailedAttempt};
use crate::roadmap::{Roadmap, Task, TaskId};

const RULES: &str = include_str!("rules.md");

/// Checks that are listed for an agent.
const MAX_LISTED: usize = 20;

/// The instruction of a coding session. `output` is what a task that is completed said last.
pub(super) fn coding(
    roadmap: &Roadmap,
    begun: &BegunTask,
    output: impl Fn(&TaskId) -> Option<String>,
) -> Instruction {
    let task = &begun.task;
    let mut parts =
        vec![format!("# Your job: the task `{}` of a roadmap", task.id), text(roadmap, task, output)];
    parts.extend(begun.failure.as_ref().map(|failure| earlier_attempt(begun, failure)));
    parts.extend(checks(task));
    parts.push(RULES.trim().to_owned());
    let instruction = Instruction::of_step(Phase::Coding, task.id.as_str(), parts.join("\n\n"));
    Instruction { deliverable: Some(task.id.to_string()), ..instruction }
}

/// `## Goal`, `## Context` and `## Success Criteria`.
pub fn text(roadmap: &Roadmap, task: &Task, output: impl Fn(&TaskId) -> Option<String>) -> String {
    let mut context = roadmap.context(task, output);
    if task.cwd.components().any(|part| part != std::path::Component::CurDir) {
        context.push_str(&format!("\nWorking directory: {}", task.cwd.display()));
    }
    task.prompt(Some(&context))
}

/// The instruction of a session that judges a task which no check covers. `text` is the one of the review phase.
pub(super) fn review(text: &str, task: &Task) -> Instruction {
    let criteria = task.success_criteria.as_deref().unwrap_or(&task.goal);
    let text = format!(
        "{}\n\n## Deliverables to review\n\n`{}`: {}\n1. {criteria}\n\nThe builder was asked for this: {}",
        text.trim_end(),
        task.id,
        task.description,
        task.goal
    );
    let instruction = Instruction::of_step(Phase::Review, task.id.as_str(), text);
    Instruction { deliverable: Some(task.id.to_string()), ..instruction }
}

fn earlier_attempt(begun: &BegunTask, failure: &FailedAttempt) -> String {
    let (before, all) = (begun.record.attempts.saturating_sub(1), begun.task.attempts());
    let which = match before {
        0 => "The work of an earlier run".to_owned(),
        _ => format!("Attempt {before} of {all}"),
    };
    let mut text = format!("## Previous Attempt\n{which} failed: {}.", failure.why);
    for check in &failure.checks {
        text.push_str(&format!("\n- {check}"));
    }
    if !failure.output.is_empty() {
        text.push_str(&format!("\n\nIt ended with these words:\n{}", failure.output));
    }
    text.push_str("\n\nIts files are still there. Find out what was wrong with it, and do not repeat it.");
    text
}

fn checks(task: &Task) -> Option<String> {
    if task.checks.is_empty() {
        return None;
    }
    let mut text = "## Checks\nThese decide whether the task is done. They are run on a clean checkout of the last commit when you set the \
                    status to `passed`, and the call is refused with the output if one fails. Nothing is built or installed there."
        .to_owned();
    for check in task.checks.iter().take(MAX_LISTED) {
        text.push_str(&format!("\n- `{}`", check.command));
        if check.exit != 0 {
            text.push_str(&format!(" exits with {}", check.exit));
        }
        for line in &check.output {
            text.push_str(&format!(" prints `{line}`"));
        }
    }
    let more = task.checks.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        text.push_str(&format!("\n- and {more} more"));
    }
    Some(text)
}
