//! Assigns each step to a row of the diagram: below all steps that lead to it, ignoring edges that lead back.

use std::collections::BTreeMap;

use crate::graph::{Edge, EdgeKind};

/// The row of each step, counted from 0.
pub(super) fn layers(order: &[String], edges: &[Edge]) -> BTreeMap<String, usize> {
    let forward = forward_edges(order, edges);
    let mut layers: BTreeMap<String, usize> = order.iter().map(|id| (id.clone(), 0)).collect();
    // Without cycles, an edge moves its target down at most once per step.
    for _ in 0..order.len() {
        let mut is_settled = true;
        for (from, to) in &forward {
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

/// The edges without those that close a cycle, found by a depth-first search.
fn forward_edges<'a>(order: &'a [String], edges: &'a [Edge]) -> Vec<(&'a str, &'a str)> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        let counts = !matches!(edge.kind, EdgeKind::Retry | EdgeKind::Return);
        if let Some(to) = edge.to.as_deref().filter(|to| counts && *to != edge.from) {
            targets.entry(&edge.from).or_default().push(to);
        }
    }
    let mut states: BTreeMap<&str, VisitState> = BTreeMap::new();
    let mut forward = Vec::new();
    for start in order {
        if states.contains_key(start.as_str()) {
            continue;
        }
        states.insert(start, VisitState::Open);
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((from, number)) = path.pop() {
            let Some(to) = targets.get(from).and_then(|targets| targets.get(number)).copied() else {
                states.insert(from, VisitState::Closed);
                continue;
            };
            path.push((from, number + 1));
            match states.get(to) {
                Some(VisitState::Open) => {}
                Some(VisitState::Closed) => forward.push((from, to)),
                None => {
                    forward.push((from, to));
                    states.insert(to, VisitState::Open);
                    path.push((to, 0));
                }
            }
        }
    }
    forward
}

/// The state of a step in the depth-first search: on the current path, or done.
enum VisitState {
    Open,
    Closed,
}
