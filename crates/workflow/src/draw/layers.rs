//! On which line of a picture each step stands: one below all that lead to it, those ways aside that lead back.

use std::collections::BTreeMap;

use crate::graph::{Edge, EdgeKind};

/// The line of each step, counted from 0.
pub(super) fn layers(order: &[String], edges: &[Edge]) -> BTreeMap<String, usize> {
    let ways = forward(order, edges);
    let mut layers: BTreeMap<String, usize> = order.iter().map(|id| (id.clone(), 0)).collect();
    // A way that does not lead back raises its target at most once for each step.
    for _ in 0..order.len() {
        let mut is_settled = true;
        for (from, to) in &ways {
            let below = layers.get(*from).copied().unwrap_or(0) + 1;
            if layers.get(*to).is_some_and(|layer| *layer < below) {
                layers.insert((*to).to_owned(), below);
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    layers
}

/// The ways without those that lead back, found by going down every way once.
fn forward<'a>(order: &'a [String], edges: &'a [Edge]) -> Vec<(&'a str, &'a str)> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        let counts = !matches!(edge.kind, EdgeKind::Retry | EdgeKind::Return);
        if let Some(to) = edge.to.as_deref().filter(|to| counts && *to != edge.from) {
            targets.entry(&edge.from).or_default().push(to);
        }
    }
    let mut states: BTreeMap<&str, State> = BTreeMap::new();
    let mut ways = Vec::new();
    for start in order {
        if states.contains_key(start.as_str()) {
            continue;
        }
        states.insert(start, State::Open);
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((from, number)) = path.pop() {
            let Some(to) = targets.get(from).and_then(|targets| targets.get(number)).copied() else {
                states.insert(from, State::Closed);
                continue;
            };
            path.push((from, number + 1));
            match states.get(to) {
                Some(State::Open) => {}
                Some(State::Closed) => ways.push((from, to)),
                None => {
                    ways.push((from, to));
                    states.insert(to, State::Open);
                    path.push((to, 0));
                }
            }
        }
    }
    ways
}

/// Whether a step is on the way that is being gone.
enum State {
    Open,
    Closed,
}
