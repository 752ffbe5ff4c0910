//! The steps as text for a terminal, each with its prompt, check and transitions.

use super::labels;
use crate::completion::criteria;
use crate::definition::{AgentDefinition, Step, StepKind};
use crate::graph::{self, Edge, EdgeKind};

const LEGEND: &str =
    "▶ entry  ● step  ◆ gateway  ○ sub-step   → next  ↺ back  ↻ retry  ⇢ escalation  ■ the end  ✗ failed";

pub fn text(definition: &AgentDefinition) -> String {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let agent = &definition.agent;
    let mut lines = vec![
        format!(
            "{} {}: {}",
            labels::plain(&agent.name),
            labels::plain(&agent.version),
            line(&agent.description)
        ),
        format!(
            "Done when {}; at most {} iterations.",
            line(&criteria(&agent.completion)),
            agent.max_iterations
        ),
    ];
    for id in &order {
        if let Some(step) = definition.step(id) {
            lines.push(String::new());
            lines.extend(step_lines(definition, id, step, &edges, &order));
        }
    }
    lines.extend([String::new(), LEGEND.to_owned(), String::new()]);
    lines.join("\n")
}

fn step_lines(
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    edges: &[Edge],
    order: &[String],
) -> Vec<String> {
    let parent = definition.parent_of(id);
    let indent = if parent.is_some() { "    " } else { "" };
    let is_entry = id == definition.steps.entry_step;
    let (mark, kind) = match (step.kind, is_entry) {
        (StepKind::Gateway, true) => ("▶ ◆", "entry, gateway".to_owned()),
        (StepKind::Gateway, false) => ("◆", "gateway".to_owned()),
        (StepKind::SubStep, _) => {
            ("○", format!("sub-step of {}", parent.map_or("nothing".to_owned(), labels::plain)))
        }
        (StepKind::Normal, true) => ("▶", "entry".to_owned()),
        (StepKind::Normal, false) => ("●", String::new()),
    };
    let kind = if kind.is_empty() { kind } else { format!("  ({kind})") };
    let mut lines = vec![format!("{indent}{mark} {}{kind}", labels::plain(id))];
    let mut fact = |name: &str, what: String| lines.push(format!("{indent}    {name:<8}{}", line(&what)));
    if let Some(description) = &step.description {
        fact("purpose", description.clone());
    }
    if let Some(prompt) = &step.prompt {
        fact("prompt", labels::prompt(prompt));
    }
    if !step.sub_steps.is_empty() {
        fact("steps", step.sub_steps.join(", "));
    }
    if !step.actions.is_empty() {
        let names: Vec<&str> = step.actions.iter().map(|action| action.kind.as_str()).collect();
        fact("actions", names.join(", "));
    }
    if let Some(check) = &step.check {
        fact("check", labels::check(check));
    }
    let outgoing = edges.iter().filter(|edge| edge.from == id);
    lines.extend(outgoing.map(|edge| format!("{indent}    {}", edge_line(edge, order))));
    lines
}

fn edge_line(edge: &Edge, order: &[String]) -> String {
    let target = match &edge.to {
        Some(to) if order.contains(to) => format!("{} {}", arrow(edge, to, order), labels::plain(to)),
        Some(to) => format!("→ {}  (missing step)", labels::plain(to)),
        None if edge.kind == EdgeKind::Abort => format!("→ ✗ {}", labels::end(edge.kind)),
        None => format!("→ ■ {}", labels::end(edge.kind)),
    };
    match edge.label.as_str() {
        "" => target,
        label => format!("{target}  [{}]", labels::plain(label)),
    }
}

fn arrow(edge: &Edge, to: &str, order: &[String]) -> &'static str {
    let index = |step: &str| order.iter().position(|known| known == step);
    match edge.kind {
        EdgeKind::Retry => "↻",
        EdgeKind::Escalation => "⇢",
        EdgeKind::Next
        | EdgeKind::Pass
        | EdgeKind::Fail
        | EdgeKind::Complete
        | EdgeKind::Fallback
        | EdgeKind::Skip
        | EdgeKind::Branch
        | EdgeKind::SubStep
        | EdgeKind::Return
        | EdgeKind::Abort => {
            if index(to) <= index(&edge.from) {
                "↺"
            } else {
                "→"
            }
        }
    }
}

/// The text on one line, without control characters.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
