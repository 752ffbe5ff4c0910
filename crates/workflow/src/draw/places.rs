//! Where everything stands in a picture: boxes in lines below each other, and ways between the lines. A way to the next line goes
//! straight down; every other goes around at the side: back on the left, further down on the right.

use super::boxes::{Frame, SMALL_LETTER, boxes, cell, edge_of, width};
use super::tracks::{Plan, Side, go_around, plans, ports, to_the_right, tracks};
use crate::definition::AgentDefinition;
use crate::graph;

/// Lengths in pixels.
const BETWEEN_BOXES: f64 = 44.0;
const BETWEEN_TRACKS: f64 = 17.0;
const BETWEEN_LANES: f64 = 16.0;
const GAP: f64 = 34.0;
const MARGIN: f64 = 24.0;

/// What stands where.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) boxes: Vec<Frame>,
    pub(super) ways: Vec<Way>,
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A way from one box to another.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) label: String,
    /// Where the label stands, and whether it ends there.
    pub(super) label_at: (f64, f64),
    pub(super) label_ends: bool,
    pub(super) leads_on: bool,
}

/// Finds a place for everything.
pub(super) fn places(definition: &AgentDefinition) -> Picture {
    let edges = graph::edges(definition);
    let order = graph::in_order(definition, &edges);
    let (mut boxes, numbers) = boxes(definition, &order, &edges);
    let mut plans = plans(&edges, &numbers, &mut boxes);
    across(&mut boxes, &plans);
    go_around(&mut plans, &boxes);
    ports(&mut plans, &boxes);
    let gaps = tracks(&mut plans, &boxes);
    let tops = down(&mut boxes, &gaps);
    picture(boxes, &plans, &tops)
}

/// Puts the boxes of each line beside each other, each near those that lead to it.
fn across(boxes: &mut [Frame], plans: &[Plan]) {
    let last = boxes.iter().map(|found| found.layer).max().unwrap_or(0);
    for layer in 0..=last {
        let mut line: Vec<(f64, usize)> = (0..boxes.len())
            .filter(|number| boxes[*number].layer == layer)
            .map(|number| {
                let above: Vec<f64> = plans
                    .iter()
                    .filter(|plan| plan.to == number && boxes[plan.from].layer < layer)
                    .map(|plan| boxes[plan.from].x)
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

/// Puts the lines below each other, and says where the room above each begins.
fn down(boxes: &mut [Frame], gaps: &[usize]) -> Vec<f64> {
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

fn picture(boxes: Vec<Frame>, plans: &[Plan], tops: &[f64]) -> Picture {
    let side = |found: &Frame| cell(found) / 2.0;
    let left = boxes.iter().map(|found| found.x - side(found)).fold(0.0, f64::min);
    let right = boxes.iter().map(|found| found.x + side(found)).fold(0.0, f64::max);
    let ways: Vec<Way> = plans.iter().map(|plan| way(plan, &boxes, tops, (left, right))).collect();
    let (mut least, mut most) = (left, right);
    for way in &ways {
        let label = width(&way.label, SMALL_LETTER);
        let (start, end) = if way.label_ends { (label, 0.0) } else { (0.0, label) };
        let xs = way.points.iter().map(|point| point.0);
        for x in xs.chain([way.label_at.0 - start, way.label_at.0 + end]) {
            least = least.min(x);
            most = most.max(x);
        }
    }
    let height = tops.last().copied().unwrap_or(0.0) + MARGIN;
    Picture { boxes, ways, left: least - MARGIN, width: most - least + 2.0 * MARGIN, height }
}

fn way(plan: &Plan, boxes: &[Frame], tops: &[f64], (left, right): (f64, f64)) -> Way {
    let (from, to) = (&boxes[plan.from], &boxes[plan.to]);
    let track = |gap: usize, track: usize| {
        let above = if gap == 0 { 0.0 } else { GAP / 2.0 };
        tops.get(gap).copied().unwrap_or(0.0) + above + BETWEEN_TRACKS * track as f64
    };
    let start = (plan.out, edge_of(from, plan.out, from.y + from.height));
    let end = (plan.into, edge_of(to, plan.into, to.y));
    let out_y = track(from.layer + 1, plan.out_track);
    let lane = match plan.side {
        Side::Straight => None,
        Side::Left(lane) => Some(left - 14.0 - BETWEEN_LANES * lane as f64),
        Side::Right(lane) => Some(right + 14.0 + BETWEEN_LANES * lane as f64),
    };
    let mut points = vec![start, (plan.out, out_y)];
    match lane {
        None => points.push((plan.into, out_y)),
        Some(lane) => {
            let into_y = track(to.layer, plan.into_track);
            points.extend([(lane, out_y), (lane, into_y), (plan.into, into_y)]);
        }
    }
    points.push(end);
    let label_ends = !to_the_right(plan);
    let label_x = if label_ends { plan.out - 5.0 } else { plan.out + 5.0 };
    Way {
        points,
        label: plan.label.clone(),
        label_at: (label_x, out_y - 4.0),
        label_ends,
        leads_on: plan.leads_on,
    }
}
