//! The steps as a graph: every way that leads from one to another or to the end, as data. Who validates asks what can be
//! reached; who draws asks for all of it.

#[cfg(test)]
mod tests;
mod ways;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::definition::{AgentDefinition, Step};

pub use ways::edges;

/// One way
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The step that it leads from.
    pub from: String,
    /// The step that it leads to; none is the end.
    pub to: Option<String>,
    /// When it is gone; empty if always.
    pub label: String,
    /// What kind of way it is.
    pub kind: EdgeKind,
}

/// What kind of way it is
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The step is over.
    Next,
    /// Its check has passed.
    Pass,
    /// Its check has failed.
    Fail,
    /// The agent is done, whatever its condition says.
    Complete,
    /// It is tried again.
    Retry,
    /// It was tried again in vain, and another comes instead.
    Fallback,
    /// It was tried again in vain, and is left as it is.
    Skip,
    /// An answer led there.
    Branch,
    /// To the first of its sub-steps, or from one of them to the next.
    SubStep,
    /// It has failed for good and calls for help.
    Escalation,
    /// Back from a call for help.
    Return,
    /// The end after a call for help, which is a failure.
    Abort,
}

impl EdgeKind {
    /// Whether it leads on. Another try does not, nor does a call for help.
    pub fn leads_on(self) -> bool {
        match self {
            Self::Next
            | Self::Pass
            | Self::Fail
            | Self::Complete
            | Self::Fallback
            | Self::Skip
            | Self::Branch
            | Self::SubStep
            | Self::Return => true,
            Self::Retry | Self::Escalation | Self::Abort => false,
        }
    }
}

/// The steps in the order in which they are come to, each followed by its sub-steps; then those that nothing leads to.
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

/// The steps that can be reached from the entry step, with that.
pub fn reachable(definition: &AgentDefinition) -> BTreeSet<String> {
    let edges = edges(definition);
    let mut found = from(&definition.steps.entry_step, &edges);
    found.insert(definition.steps.entry_step.clone());
    found.retain(|step| definition.steps.steps.contains_key(step));
    found
}

/// The steps that can be reached from this one by going at least one way. The step itself only if it can be come back to.
pub fn from(step: &str, edges: &[Edge]) -> BTreeSet<String> {
    let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        ways.entry(&edge.from).or_default().extend(edge.to.as_deref());
    }
    let mut found = BTreeSet::new();
    let mut waiting = VecDeque::from([step]);
    while let Some(step) = waiting.pop_front() {
        for to in ways.get(step).into_iter().flatten() {
            if found.insert((*to).to_owned()) {
                waiting.push_back(to);
            }
        }
    }
    found
}

/// The steps that can be reached, and from which the end cannot. A way to a step that does not exist is taken for one to the end:
/// that is another problem.
pub fn steps_without_exit(definition: &AgentDefinition) -> Vec<String> {
    let edges = edges(definition);
    let mut with_exit: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = with_exit.len();
        for edge in edges.iter().filter(|edge| edge.kind.leads_on()) {
            let leads_out = match edge.to.as_deref() {
                None => true,
                Some(to) => with_exit.contains(to) || definition.step(to).is_none(),
            };
            if leads_out {
                with_exit.insert(&edge.from);
            }
        }
        if with_exit.len() == before {
            break;
        }
    }
    reachable(definition).into_iter().filter(|step| !with_exit.contains(step.as_str())).collect()
}
