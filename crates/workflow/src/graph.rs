//! The steps as a graph, with every transition as an edge. Validation uses it to find unreachable steps and steps without an
//! exit; `draw` draws all of it.

mod edge;
mod edges;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::definition::{AgentDefinition, Step};

pub use edge::{Edge, EdgeKind};
pub use edges::edges;

/// The steps in breadth-first order, each followed by its sub-steps; then the unreachable ones.
pub fn in_order(definition: &AgentDefinition, edges: &[Edge]) -> Vec<String> {
    let steps = &definition.steps.steps;
    let mut order: Vec<String> = Vec::new();
    let entry = std::iter::once(&definition.steps.entry_step).filter(|entry| steps.contains_key(*entry));
    let mut at = 0;
    for first in entry.chain(steps.keys()) {
        add(definition, first, &mut order);
        while at < order.len() {
            let from = order[at].clone();
            for edge in edges.iter().filter(|edge| edge.from == from) {
                if let Some(to) = edge.to.as_ref().filter(|to| steps.contains_key(*to)) {
                    add(definition, to, &mut order);
                }
            }
            at += 1;
        }
    }
    order
}

fn add(definition: &AgentDefinition, id: &str, order: &mut Vec<String>) {
    if order.iter().any(|known| known == id) {
        return;
    }
    order.push(id.to_owned());
    let subs: &[String] = definition.step(id).map_or(&[], |step: &Step| &step.sub_steps);
    for sub in subs.iter().filter(|sub| definition.step(sub).is_some()) {
        if !order.contains(sub) {
            order.push(sub.clone());
        }
    }
}

/// The steps that can be reached from the entry step, including it.
pub fn reachable(definition: &AgentDefinition) -> BTreeSet<String> {
    let edges = edges(definition);
    let mut found = reachable_from(&definition.steps.entry_step, &edges);
    found.insert(definition.steps.entry_step.clone());
    found.retain(|step| definition.steps.steps.contains_key(step));
    found
}

/// The steps that can be reached from this one over at least one edge. Contains the step itself only if it is in a cycle.
pub fn reachable_from(step: &str, edges: &[Edge]) -> BTreeSet<String> {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        targets.entry(&edge.from).or_default().extend(edge.to.as_deref());
    }
    let mut found = BTreeSet::new();
    let mut waiting = VecDeque::from([step]);
    while let Some(step) = waiting.pop_front() {
        for to in targets.get(step).into_iter().flatten() {
            if found.insert((*to).to_owned()) {
                waiting.push_back(to);
            }
        }
    }
    found
}

/// The reachable steps from which the end cannot be reached. A transition to a missing step counts as one to the end, since
/// that is reported as a problem of its own.
pub fn steps_without_exit(definition: &AgentDefinition) -> Vec<String> {
    let edges = edges(definition);
    let mut with_exit: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = with_exit.len();
        for edge in edges.iter().filter(|edge| edge.kind.is_forward()) {
            let has_exit = match edge.to.as_deref() {
                None => true,
                Some(to) => with_exit.contains(to) || definition.step(to).is_none(),
            };
            if has_exit {
                with_exit.insert(&edge.from);
            }
        }
        if with_exit.len() == before {
            break;
        }
    }
    reachable(definition).into_iter().filter(|step| !with_exit.contains(step.as_str())).collect()
}
