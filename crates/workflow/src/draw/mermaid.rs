//! The steps as a Mermaid flowchart.

use super::labels;
use crate::definition::{AgentDefinition, StepKind};
use crate::graph::{self, Edge};

pub fn mermaid(definition: &AgentDefinition) -> String {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let mut lines = vec!["flowchart TD".to_owned()];
    if let Some(entry) = index_of(&order, &definition.steps.entry_step) {
        lines.push("    start((start))".to_owned());
        lines.push(format!("    start --> s{entry}"));
    }
    for (number, id) in order.iter().enumerate() {
        let Some(step) = definition.step(id) else { continue };
        let mut text = escaped(id);
        if let Some(prompt) = &step.prompt {
            text = format!("{text}<br/>{}", escaped(&labels::prompt(prompt)));
        }
        if let Some(check) = &step.check {
            text = format!("{text}<br/>{}", escaped(&format!("passes if {}", labels::check(check))));
        }
        lines.push(match step.kind {
            StepKind::Normal => format!("    s{number}[\"{text}\"]"),
            StepKind::Gateway => format!("    s{number}{{\"{text}\"}}"),
            StepKind::SubStep => format!("    s{number}([\"{text}\"])"),
        });
    }
    for end in ["the end", "failed"] {
        if edges.iter().any(|edge| edge.to.is_none() && labels::end(edge.kind) == end) {
            lines.push(format!("    {}(((\"{end}\")))", name_of(end)));
        }
    }
    lines.extend(edges.iter().filter_map(|edge| edge_line(edge, &order)));
    lines.push(String::new());
    lines.join("\n")
}

fn edge_line(edge: &Edge, order: &[String]) -> Option<String> {
    let from = index_of(order, &edge.from)?;
    let to = match &edge.to {
        Some(to) => format!("s{}", index_of(order, to)?),
        None => name_of(labels::end(edge.kind)).to_owned(),
    };
    let arrow = if edge.kind.is_forward() { "-->" } else { "-.->" };
    let label = match edge.label.as_str() {
        "" => String::new(),
        label => format!("|\"{}\"|", escaped(label)),
    };
    Some(format!("    s{from} {arrow}{label} {to}"))
}

fn index_of(order: &[String], id: &str) -> Option<usize> {
    order.iter().position(|known| known == id)
}

fn name_of(end: &str) -> &'static str {
    if end == "failed" { "failed" } else { "finish" }
}

/// Text that Mermaid shows literally: special characters are written as numeric entities.
fn escaped(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " .,:/_-=".contains(c);
    let shown = |c: char| if is_safe(c) { c.to_string() } else { format!("#{};", u32::from(c)) };
    labels::plain(text).chars().map(shown).collect()
}
