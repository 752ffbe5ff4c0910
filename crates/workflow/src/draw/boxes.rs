//! The boxes of a picture: what is written in each, how large it is, and on which line it stands.

use std::collections::BTreeMap;

use super::layers::layers;
use super::words;
use crate::definition::{AgentDefinition, Step, StepKind};
use crate::graph::Edge;

/// Lengths in pixels.
const TITLE_LETTER: f64 = 7.8;
pub(super) const SMALL_LETTER: f64 = 6.2;
const LINE: f64 = 15.0;
const LOOP: f64 = 38.0;

/// What is drawn for a step or an end.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) shape: Shape,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    /// What is written at its loop, if it leads to itself.
    pub(super) loops: Vec<String>,
    /// Its middle.
    pub(super) x: f64,
    /// Its upper edge.
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Its line, counted from 0.
    pub(super) layer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Entry,
    Step,
    Gateway,
    SubStep,
    End,
}

/// A box for each step and for each end, and their numbers.
pub(super) fn boxes(
    definition: &AgentDefinition,
    order: &[String],
    edges: &[Edge],
) -> (Vec<Frame>, BTreeMap<String, usize>) {
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
        if edges.iter().any(|edge| edge.to.is_none() && words::end(edge.kind) == end) {
            numbers.insert(end.to_owned(), boxes.len());
            boxes.push(sized(Shape::End, end, Vec::new(), last));
        }
    }
    (boxes, numbers)
}

fn box_of(id: &str, step: &Step, is_entry: bool, layer: usize) -> Frame {
    let shape = match step.kind {
        StepKind::Gateway => Shape::Gateway,
        StepKind::SubStep => Shape::SubStep,
        StepKind::Normal if is_entry => Shape::Entry,
        StepKind::Normal => Shape::Step,
    };
    let mut lines = Vec::new();
    lines.extend(step.prompt.as_ref().map(|prompt| words::plain(&words::prompt(prompt))));
    lines.extend(step.check.as_ref().map(|check| words::plain(&format!("✓ {}", words::check(check)))));
    let mark = if is_entry { "▶ " } else { "" };
    sized(shape, &format!("{mark}{}", words::plain(id)), lines, layer)
}

fn sized(shape: Shape, title: &str, lines: Vec<String>, layer: usize) -> Frame {
    let widest =
        lines.iter().map(|line| width(line, SMALL_LETTER)).fold(width(title, TITLE_LETTER), f64::max);
    let text = LINE * (lines.len() + 1) as f64;
    let (width, height) = match shape {
        Shape::Gateway => (widest * 1.25 + 96.0, text * 1.7 + 34.0),
        Shape::Entry | Shape::Step | Shape::SubStep | Shape::End => {
            (f64::max(widest + 28.0, 110.0), text + 18.0)
        }
    };
    Frame { shape, title: title.to_owned(), lines, loops: Vec::new(), x: 0.0, y: 0.0, width, height, layer }
}

/// How wide a text is about; letters of East Asia are wider.
pub(super) fn width(text: &str, letter: f64) -> f64 {
    text.chars().map(|c| if c >= '\u{1100}' && !"…✓▶".contains(c) { letter * 1.8 } else { letter }).sum()
}

/// The room of a box with its loop, which is kept free on both sides.
pub(super) fn cell(found: &Frame) -> f64 {
    let widest = found.loops.iter().map(|label| width(label, SMALL_LETTER)).fold(0.0, f64::max);
    let beside = if found.loops.is_empty() { 0.0 } else { LOOP + widest };
    found.width + 2.0 * beside
}

/// How high the border of a box is at this place: the sides of a gateway slope.
pub(super) fn edge_of(found: &Frame, x: f64, flat: f64) -> f64 {
    if found.shape != Shape::Gateway {
        return flat;
    }
    let middle = found.y + found.height / 2.0;
    let share = 1.0 - ((x - found.x).abs() / (found.width / 2.0)).min(1.0);
    if flat > middle { middle + found.height / 2.0 * share } else { middle - found.height / 2.0 * share }
}
