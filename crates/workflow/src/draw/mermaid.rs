//! The steps as a Mermaid flowchart.

use super::words;
use crate::definition::{AgentDefinition, StepKind};
use crate::graph::{self, Edge};

/// Draws the steps as a Mermaid flowchart.
pub fn mermaid(definition: &AgentDefinition) -> String {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let mut lines = vec!["flowchart TD".to_owned()];
    if let Some(entry) = place(&order, &definition.steps.entry_step) {
        lines.push("    start((start))".to_owned());
        lines.push(format!("    start --> s{entry}"));
    }
    for (number, id) in order.iter().enumerate() {
        let Some(step) = definition.step(id) else { continue };
        let mut text = escaped(id);
        if let Some(prompt) = &step.prompt {
            text = format!("{text}<br/>{}", escaped(&words::prompt(prompt)));
        }
        if let Some(check) = &step.check {
            text = format!("{text}<br/>{}", escaped(&format!("passes if {}", words::check(check))));
        }
        lines.push(match step.kind {
            StepKind::Normal => format!("    s{number}[\"{text}\"]"),
            StepKind::Gateway => format!("    s{number}{{\"{text}\"}}"),
            StepKind::SubStep => format!("    s{number}([\"{text}\"])"),
        });
    }
    for end in ["the end", "failed"] {
        if edges.iter().any(|edge| edge.to.is_none() && words::end(edge.kind) == end) {
            lines.push(format!("    {}(((\"{end}\")))", name_of(end)));
        }
    }
    lines.extend(edges.iter().filter_map(|edge| way(edge, &order)));
    lines.push(String::new());
    lines.join("\n")
}

fn way(edge: &Edge, order: &[String]) -> Option<String> {
    let from = place(order, &edge.from)?;
    let to = match &edge.to {
        Some(to) => format!("s{}", place(order, to)?),
        None => name_of(words::end(edge.kind)).to_owned(),
    };
    let arrow = if edge.kind.leads_on() { "-->" } else { "-.->" };
    let label = match edge.label.as_str() {
        "" => String::new(),
        label => format!("|\"{}\"|", escaped(label)),
    };
    Some(format!("    s{from} {arrow}{label} {to}"))
}

fn place(order: &[String], id: &str) -> Option<usize> {
    order.iter().position(|known| known == id)
}

fn name_of(end: &str) -> &'static str {
    if end == "failed" { "failed" } else { "finish" }
}

/// Text that Mermaid shows as it is: letters and digits stay, all else that could mean something is written as its number.
fn escaped(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " .,:/_-=".contains(c);
    let shown = |c: char| if is_safe(c) { c.to_string() } else { format!("#{};", u32::from(c)) };
    words::plain(text).chars().map(shown).collect()
}
