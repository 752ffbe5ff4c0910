//! The steps for a terminal: one after the other, each with what it does and where it leads.

use super::words;
use crate::completion::criteria;
use crate::definition::{AgentDefinition, Step, StepKind};
use crate::graph::{self, Edge, EdgeKind};

const LEGEND: &str =
    "▶ entry  ● step  ◆ gateway  ○ sub-step   → on  ↺ back  ↻ again  ⇢ for help  ■ the end  ✗ failed";

/// Draws the steps for a terminal.
pub fn text(definition: &AgentDefinition) -> String {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let agent = &definition.agent;
    let mut lines = vec![
        format!(
            "{} {}: {}",
            words::plain(&agent.name),
            words::plain(&agent.version),
            line(&agent.description)
        ),
        format!(
            "Done when {}; {} iterations at most.",
            line(&criteria(&agent.completion)),
            agent.max_iterations
        ),
    ];
    for id in &order {
        if let Some(step) = definition.step(id) {
            lines.push(String::new());
            lines.extend(drawn(definition, id, step, &edges, &order));
        }
    }
    lines.extend([String::new(), LEGEND.to_owned(), String::new()]);
    lines.join("\n")
}

fn drawn(
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
            ("○", format!("sub-step of {}", parent.map_or("nothing".to_owned(), words::plain)))
        }
        (StepKind::Normal, true) => ("▶", "entry".to_owned()),
        (StepKind::Normal, false) => ("●", String::new()),
    };
    let kind = if kind.is_empty() { kind } else { format!("  ({kind})") };
    let mut lines = vec![format!("{indent}{mark} {}{kind}", words::plain(id))];
    let mut fact = |name: &str, what: String| lines.push(format!("{indent}    {name:<8}{}", line(&what)));
    if let Some(description) = &step.description {
        fact("for", description.clone());
    }
    if let Some(prompt) = &step.prompt {
        fact("prompt", words::prompt(prompt));
    }
    if !step.sub_steps.is_empty() {
        fact("steps", step.sub_steps.join(", "));
    }
    if !step.actions.is_empty() {
        let names: Vec<&str> = step.actions.iter().map(|action| action.kind.as_str()).collect();
        fact("actions", names.join(", "));
    }
    if let Some(check) = &step.check {
        fact("check", words::check(check));
    }
    let ways = edges.iter().filter(|edge| edge.from == id);
    lines.extend(ways.map(|edge| format!("{indent}    {}", way(edge, order))));
    lines
}

fn way(edge: &Edge, order: &[String]) -> String {
    let target = match &edge.to {
        Some(to) if order.contains(to) => format!("{} {}", arrow(edge, to, order), words::plain(to)),
        Some(to) => format!("→ {}  (there is no such step)", words::plain(to)),
        None if edge.kind == EdgeKind::Abort => format!("→ ✗ {}", words::end(edge.kind)),
        None => format!("→ ■ {}", words::end(edge.kind)),
    };
    match edge.label.as_str() {
        "" => target,
        label => format!("{target}  [{}]", words::plain(label)),
    }
}

fn arrow(edge: &Edge, to: &str, order: &[String]) -> &'static str {
    let place = |step: &str| order.iter().position(|known| known == step);
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
            if place(to) <= place(&edge.from) {
                "↺"
            } else {
                "→"
            }
        }
    }
}

/// One line, however long.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
