//! The ways of a picture while their places are being found: which side each goes around, where it leaves and comes in, and at
//! what height it goes across.

use std::collections::BTreeMap;

use super::boxes::{Frame, Shape};
use super::words;
use crate::graph::{Edge, EdgeKind};

/// Which way around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Straight,
    Left(usize),
    Right(usize),
}

/// A way while its place is being found: the numbers of its boxes, and its tracks below the one and above the other.
pub(super) struct Plan {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) side: Side,
    pub(super) out: f64,
    pub(super) into: f64,
    pub(super) out_track: usize,
    pub(super) into_track: usize,
    pub(super) label: String,
    pub(super) leads_on: bool,
}

/// A plan for each way between two boxes. One that leads back to its own box is noted there.
pub(super) fn plans(edges: &[Edge], numbers: &BTreeMap<String, usize>, boxes: &mut [Frame]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for edge in edges {
        let to = edge.to.as_deref().unwrap_or_else(|| words::end(edge.kind));
        let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(to)) else { continue };
        let label = words::plain(&edge.label);
        if from == to {
            boxes[*from].loops.push(if label.is_empty() { "again".to_owned() } else { label });
            continue;
        }
        let leads_on = edge.kind.leads_on() && edge.kind != EdgeKind::Return;
        let (side, out, into) = (Side::Straight, 0.0, 0.0);
        plans.push(Plan {
            from: *from,
            to: *to,
            side,
            out,
            into,
            out_track: 0,
            into_track: 0,
            label,
            leads_on,
        });
    }
    plans
}

/// Gives a lane at the side to each way that does not lead to the next line; the shortest are the innermost.
pub(super) fn go_around(plans: &mut [Plan], boxes: &[Frame]) {
    let mut numbers: Vec<usize> = (0..plans.len()).collect();
    let layer = |number: usize| boxes[number].layer;
    numbers.sort_by_key(|number| layer(plans[*number].from).abs_diff(layer(plans[*number].to)));
    let (mut left, mut right) = (0, 0);
    for number in numbers {
        let plan = &mut plans[number];
        let (from, to) = (layer(plan.from), layer(plan.to));
        if to <= from {
            plan.side = Side::Left(left);
            left += 1;
        } else if to > from + 1 {
            plan.side = Side::Right(right);
            right += 1;
        }
    }
}

/// Where each way leaves its box and where it comes to the other, so that they do not cross at once.
pub(super) fn ports(plans: &mut [Plan], boxes: &[Frame]) {
    for number in 0..boxes.len() {
        let spread = boxes[number].width * if boxes[number].shape == Shape::Gateway { 0.5 } else { 0.8 };
        for is_out in [true, false] {
            let mut mine: Vec<(f64, usize)> = plans
                .iter()
                .enumerate()
                .filter(|(_, plan)| number == if is_out { plan.from } else { plan.to })
                .map(|(at, plan)| {
                    let towards = match plan.side {
                        Side::Straight => boxes[if is_out { plan.to } else { plan.from }].x,
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
                    plans[at].out = port;
                } else {
                    plans[at].into = port;
                }
            }
        }
    }
}

/// Gives each way its own height between the lines, and says how many there are above each line.
pub(super) fn tracks(plans: &mut [Plan], boxes: &[Frame]) -> Vec<usize> {
    let lines = boxes.iter().map(|found| found.layer + 1).max().unwrap_or(0);
    let mut counts = vec![0; lines + 1];
    for (gap, count) in counts.iter_mut().enumerate() {
        let mut out: Vec<usize> =
            (0..plans.len()).filter(|at| boxes[plans[*at].from].layer + 1 == gap).collect();
        // Of those that go to the right the rightmost is the uppermost, of the others the leftmost.
        out.sort_by(|one, other| {
            let key = |at: usize| if to_the_right(&plans[at]) { -plans[at].out } else { plans[at].out };
            key(*one).total_cmp(&key(*other))
        });
        for at in out {
            plans[at].out_track = *count;
            *count += 1;
        }
        let goes_around = |plan: &Plan| plan.side != Side::Straight;
        let mut into: Vec<usize> = (0..plans.len())
            .filter(|at| goes_around(&plans[*at]) && boxes[plans[*at].to].layer == gap)
            .collect();
        into.sort_by(|one, other| {
            let key = |at: usize| if to_the_right(&plans[at]) { plans[at].into } else { -plans[at].into };
            key(*one).total_cmp(&key(*other))
        });
        for at in into {
            plans[at].into_track = *count;
            *count += 1;
        }
    }
    counts
}

/// Whether it leaves its box to the right.
pub(super) fn to_the_right(plan: &Plan) -> bool {
    match plan.side {
        Side::Straight => plan.into >= plan.out,
        Side::Left(_) => false,
        Side::Right(_) => true,
    }
}
