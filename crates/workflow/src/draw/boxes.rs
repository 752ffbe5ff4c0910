//! The boxes of a diagram: their text, size and row.

use std::collections::BTreeMap;

use super::labels;
use super::layers::layers;
use crate::definition::{AgentDefinition, Step, StepKind};
use crate::graph::Edge;

/// Lengths in pixels.
const TITLE_LETTER: f64 = 7.8;
pub(super) const SMALL_LETTER: f64 = 6.2;
const LINE: f64 = 15.0;
const LOOP: f64 = 38.0;

/// The box of a step or an end.
#[derive(Debug, Clone)]
pub(super) struct DiagramBox {
    pub(super) shape: BoxShape,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    /// The labels of edges from the box to itself.
    pub(super) loops: Vec<String>,
    /// The horizontal center.
    pub(super) x: f64,
    /// The top.
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The row, counted from 0.
    pub(super) layer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxShape {
    Entry,
    Step,
    Gateway,
    SubStep,
    End,
}

/// A box for each step and each end, and their indices by name.
pub(super) fn boxes(
    definition: &AgentDefinition,
    order: &[String],
    edges: &[Edge],
) -> (Vec<DiagramBox>, BTreeMap<String, usize>) {
    let layers = layers(order, edges);
    let mut boxes = Vec::new();
    let mut numbers = BTreeMap::new();
    for (id, step) in order.iter().filter_map(|id| Some((id, definition.step(id)?))) {
        let is_entry = *id == definition.steps.entry_step;
        numbers.insert(id.clone(), boxes.len());
        boxes.push(box_of(id, step, is_entry, layers.get(id).copied().unwrap_or(0)));
    }
    let last = layers.values().max().map_or(0, |layer| layer + 1);
    for end in ["the end", "failed"] {
        if edges.iter().any(|edge| edge.to.is_none() && labels::end(edge.kind) == end) {
            numbers.insert(end.to_owned(), boxes.len());
            boxes.push(sized(BoxShape::End, end, Vec::new(), last));
        }
    }
    (boxes, numbers)
}

fn box_of(id: &str, step: &Step, is_entry: bool, layer: usize) -> DiagramBox {
    let shape = match step.kind {
        StepKind::Gateway => BoxShape::Gateway,
        StepKind::SubStep => BoxShape::SubStep,
        StepKind::Normal if is_entry => BoxShape::Entry,
        StepKind::Normal => BoxShape::Step,
    };
    let mut lines = Vec::new();
    lines.extend(step.prompt.as_ref().map(|prompt| labels::plain(&labels::prompt(prompt))));
    lines.extend(step.check.as_ref().map(|check| labels::plain(&format!("✓ {}", labels::check(check)))));
    let mark = if is_entry { "▶ " } else { "" };
    sized(shape, &format!("{mark}{}", labels::plain(id)), lines, layer)
}

fn sized(shape: BoxShape, title: &str, lines: Vec<String>, layer: usize) -> DiagramBox {
    let widest =
        lines.iter().map(|line| width(line, SMALL_LETTER)).fold(width(title, TITLE_LETTER), f64::max);
    let text = LINE * (lines.len() + 1) as f64;
    let (width, height) = match shape {
        BoxShape::Gateway => (widest * 1.25 + 96.0, text * 1.7 + 34.0),
        BoxShape::Entry | BoxShape::Step | BoxShape::SubStep | BoxShape::End => {
            (f64::max(widest + 28.0, 110.0), text + 18.0)
        }
    };
    DiagramBox {
        shape,
        title: title.to_owned(),
        lines,
        loops: Vec::new(),
        x: 0.0,
        y: 0.0,
        width,
        height,
        layer,
    }
}

/// The approximate width of a text; East Asian characters are wider.
pub(super) fn width(text: &str, letter: f64) -> f64 {
    text.chars().map(|c| if c >= '\u{1100}' && !"…✓▶".contains(c) { letter * 1.8 } else { letter }).sum()
}

/// The width of a box with the space for its loops, which is reserved on both sides.
pub(super) fn cell(diagram_box: &DiagramBox) -> f64 {
    let widest = diagram_box.loops.iter().map(|label| width(label, SMALL_LETTER)).fold(0.0, f64::max);
    let beside = if diagram_box.loops.is_empty() { 0.0 } else { LOOP + widest };
    diagram_box.width + 2.0 * beside
}

/// The y coordinate of a box's border at `x`; the sides of a gateway are slanted.
pub(super) fn edge_of(diagram_box: &DiagramBox, x: f64, flat: f64) -> f64 {
    if diagram_box.shape != BoxShape::Gateway {
        return flat;
    }
    let middle = diagram_box.y + diagram_box.height / 2.0;
    let share = 1.0 - ((x - diagram_box.x).abs() / (diagram_box.width / 2.0)).min(1.0);
    if flat > middle {
        middle + diagram_box.height / 2.0 * share
    } else {
        middle - diagram_box.height / 2.0 * share
    }
}
