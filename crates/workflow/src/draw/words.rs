//! What is said of a step or a condition in a drawing.

use crate::definition::{AgentDefinition, Check, Completion, Mode, PromptRef, Resource, Step};
use crate::graph::{Edge, EdgeKind};

/// How much of a word that somebody wrote is shown, in characters.
const MAX_CHARS: usize = 48;

/// A prompt by its file.
pub(super) fn prompt(prompt: &PromptRef) -> String {
    let (path, fallback) = match prompt {
        PromptRef::Path(path) => (path.clone(), None),
        PromptRef::File(file) => (file.path.clone(), file.fallback.clone()),
        PromptRef::C3l(place) => {
            let adaptation = place.adaptation.as_ref().map(|name| format!("_{name}")).unwrap_or_default();
            let path = format!("{}/{}/{}/f_{}{adaptation}.md", place.c1, place.c2, place.c3, place.edition);
            (path, place.fallback.clone())
        }
    };
    match fallback {
        Some(fallback) => format!("{path}, or {fallback}"),
        None => path,
    }
}

/// What decides whether a step has passed.
pub(super) fn check(check: &Check) -> String {
    match check {
        Check::Prompt { prompt: asked, .. } => format!("another session asks {}", prompt(asked)),
        Check::Action { action, .. } => format!("the action {action} succeeds"),
        Check::Keyword { keywords, .. } => format!("it says {}", keywords.join(" or ")),
    }
}

/// The steps in the order in which they are come to, each followed by its sub-steps; then those that nothing leads to.
pub(super) fn order(definition: &AgentDefinition, edges: &[Edge]) -> Vec<String> {
    let steps = &definition.steps.steps;
    let mut order: Vec<String> = Vec::new();
    let entry = std::iter::once(&definition.steps.entry_step).filter(|entry| steps.contains_key(*entry));
    let mut at = 0;
    for first in entry.chain(steps.keys()) {
        add(definition, first, &mut order);
        while at < order.len() {
            let from = order[at].clone();
            for edge in edges.iter().filter(|edge| edge.from == from) {
                if let Some(to) = edge.to.as_ref().filter(|to| steps.contains_key(*to)) {
                    add(definition, to, &mut order);
                }
            }
            at += 1;
        }
    }
    order
}

fn add(definition: &AgentDefinition, id: &str, order: &mut Vec<String>) {
    if order.iter().any(|known| known == id) {
        return;
    }
    order.push(id.to_owned());
    let subs: &[String] = definition.step(id).map_or(&[], |step: &Step| &step.sub_steps);
    for sub in subs.iter().filter(|sub| definition.step(sub).is_some()) {
        if !order.contains(sub) {
            order.push(sub.clone());
        }
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

/// When the agent is done, as the rest of a sentence.
pub(super) fn condition(completion: &Completion) -> String {
    match completion {
        Completion::IterationBudget { max_iterations } => format!("{max_iterations} iterations are over"),
        Completion::CheckBudget { max_checks } => format!("it was looked {max_checks} times"),
        Completion::KeywordSignal { keywords } => format!("it says {}", keywords.join(" or ")),
        Completion::StructuredSignal { .. } => "the answer of a step fits".to_owned(),
        Completion::ExternalState { resource, .. } => match resource {
            Resource::Command { command, .. } => format!("`{command}` says so"),
            Resource::File { path } => format!("{path} says so"),
            Resource::GithubIssue { issue, repository } => format!("issue {issue} of {repository} says so"),
        },
        Completion::StepMachine => "its steps are through".to_owned(),
        Completion::Custom { program, .. } => format!("{program} says so"),
        Completion::Composite { mode, conditions } => {
            let all: Vec<String> = conditions.iter().map(condition).collect();
            match mode {
                Mode::Any => all.join(", or "),
                Mode::All => all.join(", and "),
            }
        }
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
