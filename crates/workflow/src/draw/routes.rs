//! The routes of connectors during layout: the side they go around, where they leave and enter a box, and the height at
//! which they cross.

use std::collections::BTreeMap;

use super::boxes::{BoxShape, DiagramBox};
use super::labels;
use crate::graph::{Edge, EdgeKind};

/// The side on which a connector goes around, with its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Straight,
    Left(usize),
    Right(usize),
}

/// The route of a connector: the indices of its boxes, and its tracks below the first and above the second one.
pub(super) struct ConnectorRoute {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) side: Side,
    pub(super) out: f64,
    pub(super) into: f64,
    pub(super) out_track: usize,
    pub(super) into_track: usize,
    pub(super) label: String,
    pub(super) is_forward: bool,
}

/// A route for each edge between two boxes. The label of an edge to the same box is added to that box.
pub(super) fn routes(
    edges: &[Edge],
    numbers: &BTreeMap<String, usize>,
    boxes: &mut [DiagramBox],
) -> Vec<ConnectorRoute> {
    let mut routes = Vec::new();
    for edge in edges {
        let to = edge.to.as_deref().unwrap_or_else(|| labels::end(edge.kind));
        let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(to)) else { continue };
        let label = labels::plain(&edge.label);
        if from == to {
            boxes[*from].loops.push(if label.is_empty() { "retry".to_owned() } else { label });
            continue;
        }
        let is_forward = edge.kind.is_forward() && edge.kind != EdgeKind::Return;
        let (side, out, into) = (Side::Straight, 0.0, 0.0);
        routes.push(ConnectorRoute {
            from: *from,
            to: *to,
            side,
            out,
            into,
            out_track: 0,
            into_track: 0,
            label,
            is_forward,
        });
    }
    routes
}

/// Assigns a lane at the side to each connector that does not lead to the next row; the shortest ones are innermost.
pub(super) fn assign_lanes(routes: &mut [ConnectorRoute], boxes: &[DiagramBox]) {
    let mut numbers: Vec<usize> = (0..routes.len()).collect();
    let layer = |number: usize| boxes[number].layer;
    numbers.sort_by_key(|number| layer(routes[*number].from).abs_diff(layer(routes[*number].to)));
    let (mut left, mut right) = (0, 0);
    for number in numbers {
        let route = &mut routes[number];
        let (from, to) = (layer(route.from), layer(route.to));
        if to <= from {
            route.side = Side::Left(left);
            left += 1;
        } else if to > from + 1 {
            route.side = Side::Right(right);
            right += 1;
        }
    }
}

/// Assigns the points where each connector leaves and enters a box, ordered to avoid crossings.
pub(super) fn assign_ports(routes: &mut [ConnectorRoute], boxes: &[DiagramBox]) {
    for number in 0..boxes.len() {
        let spread = boxes[number].width * if boxes[number].shape == BoxShape::Gateway { 0.5 } else { 0.8 };
        for is_out in [true, false] {
            let mut mine: Vec<(f64, usize)> = routes
                .iter()
                .enumerate()
                .filter(|(_, route)| number == if is_out { route.from } else { route.to })
                .map(|(at, route)| {
                    let towards = match route.side {
                        Side::Straight => boxes[if is_out { route.to } else { route.from }].x,
                        Side::Left(_) => f64::MIN,
                        Side::Right(_) => f64::MAX,
                    };
                    (towards, at)
                })
                .collect();
            mine.sort_by(|one, other| one.0.total_cmp(&other.0));
            let count = mine.len() as f64;
            for (place, (_, at)) in mine.into_iter().enumerate() {
                let port = boxes[number].x + spread * ((place as f64 + 1.0) / (count + 1.0) - 0.5);
                if is_out {
                    routes[at].out = port;
                } else {
                    routes[at].into = port;
                }
            }
        }
    }
}

/// Assigns each connector its own height between the rows, and returns the number of tracks above each row.
pub(super) fn assign_tracks(routes: &mut [ConnectorRoute], boxes: &[DiagramBox]) -> Vec<usize> {
    let lines = boxes.iter().map(|found| found.layer + 1).max().unwrap_or(0);
    let mut counts = vec![0; lines + 1];
    for (gap, count) in counts.iter_mut().enumerate() {
        let mut out: Vec<usize> =
            (0..routes.len()).filter(|at| boxes[routes[*at].from].layer + 1 == gap).collect();
        // The rightmost of those that leave to the right is topmost; of the others, the leftmost.
        out.sort_by(|one, other| {
            let key =
                |at: usize| if leaves_to_the_right(&routes[at]) { -routes[at].out } else { routes[at].out };
            key(*one).total_cmp(&key(*other))
        });
        for at in out {
            routes[at].out_track = *count;
            *count += 1;
        }
        let goes_around = |route: &ConnectorRoute| route.side != Side::Straight;
        let mut into: Vec<usize> = (0..routes.len())
            .filter(|at| goes_around(&routes[*at]) && boxes[routes[*at].to].layer == gap)
            .collect();
        into.sort_by(|one, other| {
            let key =
                |at: usize| if leaves_to_the_right(&routes[at]) { routes[at].into } else { -routes[at].into };
            key(*one).total_cmp(&key(*other))
        });
        for at in into {
            routes[at].into_track = *count;
            *count += 1;
        }
    }
    counts
}

pub(super) fn leaves_to_the_right(route: &ConnectorRoute) -> bool {
    match route.side {
        Side::Straight => route.into >= route.out,
        Side::Left(_) => false,
        Side::Right(_) => true,
    }
}
