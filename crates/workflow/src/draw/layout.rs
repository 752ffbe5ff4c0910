//! The layout of a diagram: boxes in rows, and connectors between the rows. A connector to the next row goes straight down;
//! all others go around at the side: back up on the left, further down on the right.

use super::boxes::{DiagramBox, SMALL_LETTER, boxes, cell, edge_of, width};
use super::routes::{
    ConnectorRoute, Side, assign_lanes, assign_ports, assign_tracks, leaves_to_the_right, routes,
};
use crate::definition::AgentDefinition;
use crate::graph;

/// Lengths in pixels.
const BETWEEN_BOXES: f64 = 44.0;
const BETWEEN_TRACKS: f64 = 17.0;
const BETWEEN_LANES: f64 = 16.0;
const GAP: f64 = 34.0;
const MARGIN: f64 = 24.0;

#[derive(Debug, Default)]
pub(super) struct Diagram {
    pub(super) boxes: Vec<DiagramBox>,
    pub(super) connectors: Vec<Connector>,
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A line from one box to another.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) label: String,
    /// The position of the label, and whether that is its end instead of its start.
    pub(super) label_at: (f64, f64),
    pub(super) label_ends: bool,
    pub(super) is_forward: bool,
}

/// Lays out the diagram of a definition.
pub(super) fn layout(definition: &AgentDefinition) -> Diagram {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let (mut boxes, numbers) = boxes(definition, &order, &edges);
    let mut routes = routes(&edges, &numbers, &mut boxes);
    place_columns(&mut boxes, &routes);
    assign_lanes(&mut routes, &boxes);
    assign_ports(&mut routes, &boxes);
    let gaps = assign_tracks(&mut routes, &boxes);
    let tops = place_rows(&mut boxes, &gaps);
    diagram(boxes, &routes, &tops)
}

/// Places the boxes of each row side by side, each near the boxes that lead to it.
fn place_columns(boxes: &mut [DiagramBox], routes: &[ConnectorRoute]) {
    let last = boxes.iter().map(|found| found.layer).max().unwrap_or(0);
    for layer in 0..=last {
        let mut line: Vec<(f64, usize)> = (0..boxes.len())
            .filter(|number| boxes[*number].layer == layer)
            .map(|number| {
                let above: Vec<f64> = routes
                    .iter()
                    .filter(|route| route.to == number && boxes[route.from].layer < layer)
                    .map(|route| boxes[route.from].x)
                    .collect();
                let middle =
                    if above.is_empty() { 0.0 } else { above.iter().sum::<f64>() / above.len() as f64 };
                (middle, number)
            })
            .collect();
        line.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = line.iter().map(|(_, number)| cell(&boxes[*number])).sum();
        let mut x = -(total + BETWEEN_BOXES * line.len().saturating_sub(1) as f64) / 2.0;
        for (_, number) in line {
            let found = &mut boxes[number];
            x += cell(found) / 2.0;
            found.x = x;
            x += cell(found) / 2.0 + BETWEEN_BOXES;
        }
    }
}

/// Places the rows below each other, and returns where the gap above each row starts.
fn place_rows(boxes: &mut [DiagramBox], gaps: &[usize]) -> Vec<f64> {
    let mut y = MARGIN;
    let mut tops = Vec::new();
    for (gap, count) in gaps.iter().enumerate() {
        tops.push(y);
        y += if gap == 0 || gap + 1 == gaps.len() { 0.0 } else { GAP } + BETWEEN_TRACKS * *count as f64;
        let line = || boxes.iter().filter(|found| found.layer == gap);
        let tallest = line().map(|found| found.height).fold(0.0, f64::max);
        for found in boxes.iter_mut().filter(|found| found.layer == gap) {
            found.y = y + (tallest - found.height) / 2.0;
        }
        y += tallest;
    }
    tops.push(y);
    tops
}

fn diagram(boxes: Vec<DiagramBox>, routes: &[ConnectorRoute], tops: &[f64]) -> Diagram {
    let side = |found: &DiagramBox| cell(found) / 2.0;
    let left = boxes.iter().map(|found| found.x - side(found)).fold(0.0, f64::min);
    let right = boxes.iter().map(|found| found.x + side(found)).fold(0.0, f64::max);
    let connectors: Vec<Connector> =
        routes.iter().map(|route| connector(route, &boxes, tops, (left, right))).collect();
    let (mut least, mut most) = (left, right);
    for connector in &connectors {
        let label = width(&connector.label, SMALL_LETTER);
        let (start, end) = if connector.label_ends { (label, 0.0) } else { (0.0, label) };
        let xs = connector.points.iter().map(|point| point.0);
        for x in xs.chain([connector.label_at.0 - start, connector.label_at.0 + end]) {
            least = least.min(x);
            most = most.max(x);
        }
    }
    let height = tops.last().copied().unwrap_or(0.0) + MARGIN;
    Diagram { boxes, connectors, left: least - MARGIN, width: most - least + 2.0 * MARGIN, height }
}

fn connector(
    route: &ConnectorRoute,
    boxes: &[DiagramBox],
    tops: &[f64],
    (left, right): (f64, f64),
) -> Connector {
    let (from, to) = (&boxes[route.from], &boxes[route.to]);
    let track = |gap: usize, track: usize| {
        let above = if gap == 0 { 0.0 } else { GAP / 2.0 };
        tops.get(gap).copied().unwrap_or(0.0) + above + BETWEEN_TRACKS * track as f64
    };
    let start = (route.out, edge_of(from, route.out, from.y + from.height));
    let end = (route.into, edge_of(to, route.into, to.y));
    let out_y = track(from.layer + 1, route.out_track);
    let lane = match route.side {
        Side::Straight => None,
        Side::Left(lane) => Some(left - 14.0 - BETWEEN_LANES * lane as f64),
        Side::Right(lane) => Some(right + 14.0 + BETWEEN_LANES * lane as f64),
    };
    let mut points = vec![start, (route.out, out_y)];
    match lane {
        None => points.push((route.into, out_y)),
        Some(lane) => {
            let into_y = track(to.layer, route.into_track);
            points.extend([(lane, out_y), (lane, into_y), (route.into, into_y)]);
        }
    }
    points.push(end);
    let label_ends = !leaves_to_the_right(route);
    let label_x = if label_ends { route.out - 5.0 } else { route.out + 5.0 };
    Connector {
        points,
        label: route.label.clone(),
        label_at: (label_x, out_y - 4.0),
        label_ends,
        is_forward: route.is_forward,
    }
}
