//! Builds the edges of the graph from the definition.

use super::edge::{Edge, EdgeKind};
use crate::definition::{
    AgentDefinition, Branch, DEFAULT_MAX_RETRIES, Escalation, Notification, OnExhausted, ReturnFlow, Step,
    Transition,
};

/// All edges, ordered by the name of their step.
pub fn edges(definition: &AgentDefinition) -> Vec<Edge> {
    let mut builder = EdgeBuilder { definition, edges: Vec::new() };
    for (id, step) in &definition.steps.steps {
        builder.add_step(id, step);
    }
    let helpers = builder.only_helpers();
    let ends = |edge: &Edge| edge.kind == EdgeKind::Next && edge.to.is_none() && helpers.contains(&edge.from);
    let mut edges = builder.edges;
    edges.retain(|edge| !ends(edge));
    edges
}

struct EdgeBuilder<'a> {
    definition: &'a AgentDefinition,
    edges: Vec<Edge>,
}

/// A step, or `None` for the end.
type EdgeTarget = Option<String>;

impl EdgeBuilder<'_> {
    fn add_step(&mut self, id: &str, step: &Step) {
        match step.sub_steps.as_slice() {
            [] => self.add_exits(id, id, step, &self.successor(id, step)),
            [first, ..] => {
                self.add_edge(id, Some(first.clone()), "first", EdgeKind::SubStep);
                let last = step.sub_steps.last().unwrap_or(first);
                self.add_exits(last, id, step, &Successor::Edge(step.next.clone(), EdgeKind::Next));
            }
        }
        if let Some(escalation) = &step.escalation {
            self.escalation(id, escalation);
        }
    }

    /// What comes after a step by default.
    fn successor(&self, id: &str, step: &Step) -> Successor {
        let Some(parent) = self.definition.parent_of(id) else {
            return Successor::Edge(step.next.clone(), EdgeKind::Next);
        };
        let siblings = self.definition.step(parent).map_or(&[][..], |parent| &parent.sub_steps);
        let next = siblings.iter().skip_while(|sub| *sub != id).nth(1);
        match next {
            Some(next) => Successor::Edge(Some(next.clone()), EdgeKind::SubStep),
            None => Successor::Parent,
        }
    }

    /// Adds the exits of the step `owner`. They start at `from`: the step itself, or its last sub-step.
    fn add_exits(&mut self, from: &str, owner: &str, step: &Step, successor: &Successor) {
        let Some(check) = &step.check else {
            return match &step.branch {
                Some(branch) => self.branch(from, branch),
                None => self.follow(from, "", successor),
            };
        };
        match (check.on_pass(), &step.branch) {
            (Some(on_pass), _) => self.transition(from, owner, on_pass, "pass", successor),
            (None, Some(branch)) => self.branch(from, branch),
            (None, None) => self.follow(from, "pass", successor),
        }
        match check.on_fail() {
            Some(on_fail) => self.transition(from, owner, on_fail, "fail", successor),
            None => self.retry(owner, DEFAULT_MAX_RETRIES),
        }
    }

    fn follow(&mut self, from: &str, label: &str, successor: &Successor) {
        match successor {
            Successor::Edge(to, kind) => self.add_edge(from, to.clone(), label, *kind),
            Successor::Parent => {}
        }
    }

    fn transition(&mut self, from: &str, owner: &str, to: &Transition, label: &str, successor: &Successor) {
        let kind = if label == "pass" { EdgeKind::Pass } else { EdgeKind::Fail };
        if to.complete {
            self.add_edge(from, None, &format!("{label}: complete"), EdgeKind::Complete);
        }
        if let Some(next) = &to.next {
            self.add_edge(from, Some(next.clone()), label, kind);
        }
        let Some(policy) = to.retry.as_ref().and_then(|retry| retry.policy()) else { return };
        self.retry(owner, policy.max_retries);
        let then = format!("after {}", retries(policy.max_retries));
        match (policy.on_exhausted, policy.fallback_step) {
            (OnExhausted::Fallback, Some(step)) => self.add_edge(from, Some(step), &then, EdgeKind::Fallback),
            (OnExhausted::Skip, _) => {
                let label = format!("{then}: skip");
                match successor {
                    Successor::Edge(to, _) => self.add_edge(from, to.clone(), &label, EdgeKind::Skip),
                    Successor::Parent => {}
                }
            }
            (OnExhausted::Fallback, None) | (OnExhausted::Error, _) => {}
        }
    }

    fn retry(&mut self, owner: &str, max_retries: u32) {
        if max_retries > 0 {
            let label = format!("fail: {}", retries(max_retries));
            self.add_edge(owner, Some(owner.to_owned()), &label, EdgeKind::Retry);
        }
    }

    fn branch(&mut self, from: &str, branch: &Branch) {
        for (value, to) in &branch.targets {
            self.add_edge(from, to.clone(), &format!("{} = {value}", branch.field), EdgeKind::Branch);
        }
        if let Some(default) = &branch.default {
            self.add_edge(
                from,
                Some(default.clone()),
                &format!("{} = anything else", branch.field),
                EdgeKind::Branch,
            );
        }
    }

    fn escalation(&mut self, id: &str, escalation: &Escalation) {
        let steps = &self.definition.steps;
        let flow = escalation.flow(steps);
        let helper = match escalation.method(steps) {
            Notification::InAgent => {
                self.add_edge(id, Some(escalation.escalate_to.clone()), "escalates", EdgeKind::Escalation);
                escalation.escalate_to.as_str()
            }
            Notification::Webhook | Notification::Log => id,
        };
        match flow {
            ReturnFlow::Resume => {
                self.add_edge(helper, Some(id.to_owned()), "returns: resume", EdgeKind::Return)
            }
            // The helper itself has succeeded, so this is not a failure of the helper.
            ReturnFlow::Abort if helper != id => {
                self.add_edge(helper, None, "returns: abort", EdgeKind::Return)
            }
            ReturnFlow::Abort => self.add_edge(helper, None, "escalated: abort", EdgeKind::Abort),
            ReturnFlow::Restart => {
                self.add_edge(helper, Some(steps.entry_step.clone()), "returns: restart", EdgeKind::Return);
            }
        }
    }

    /// The steps that are reached only by escalation. They return, so that they have no edge to the end.
    fn only_helpers(&self) -> Vec<String> {
        let is_called = |edge: &&Edge| edge.kind == EdgeKind::Escalation;
        let called = self.edges.iter().filter(is_called).filter_map(|edge| edge.to.clone());
        let is_reached_otherwise = |step: &String| {
            *step == self.definition.steps.entry_step
                || self.edges.iter().any(|edge| {
                    edge.to.as_ref() == Some(step) && edge.from != *step && edge.kind != EdgeKind::Escalation
                })
        };
        called.filter(|step| !is_reached_otherwise(step)).collect()
    }

    fn add_edge(&mut self, from: &str, to: EdgeTarget, label: &str, kind: EdgeKind) {
        self.edges.push(Edge { from: from.to_owned(), to, label: label.to_owned(), kind });
    }
}

/// What comes after a step by default.
enum Successor {
    Edge(EdgeTarget, EdgeKind),
    /// The exits of the parent, whose edges start at its last sub-step.
    Parent,
}

fn retries(max_retries: u32) -> String {
    match max_retries {
        0 => "no retry".to_owned(),
        1 => "1 retry".to_owned(),
        more => format!("{more} retries"),
    }
}
