//! Where each step leads, as its definition has it.

use super::{Edge, EdgeKind};
use crate::definition::{
    AgentDefinition, Branch, DEFAULT_MAX_RETRIES, Escalation, Notification, OnExhausted, ReturnFlow, Step,
    Transition,
};

/// Every way of the graph, step by step in the order of their names.
pub fn edges(definition: &AgentDefinition) -> Vec<Edge> {
    let mut ways = Ways { definition, edges: Vec::new() };
    for (id, step) in &definition.steps.steps {
        ways.of(id, step);
    }
    let helpers = ways.only_helpers();
    let ends = |edge: &Edge| edge.kind == EdgeKind::Next && edge.to.is_none() && helpers.contains(&edge.from);
    let mut edges = ways.edges;
    edges.retain(|edge| !ends(edge));
    edges
}

struct Ways<'a> {
    definition: &'a AgentDefinition,
    edges: Vec<Edge>,
}

/// Where a step leads when it is over: to a step or to the end.
type Target = Option<String>;

impl Ways<'_> {
    fn of(&mut self, id: &str, step: &Step) {
        match step.sub_steps.as_slice() {
            [] => self.out_of(id, id, step, &self.follows(id, step)),
            [first, ..] => {
                self.add(id, Some(first.clone()), "first", EdgeKind::SubStep);
                let last = step.sub_steps.last().unwrap_or(first);
                self.out_of(last, id, step, &Follows::Way(step.next.clone(), EdgeKind::Next));
            }
        }
        if let Some(escalation) = &step.escalation {
            self.escalation(id, escalation);
        }
    }

    /// What comes when a step is over and nothing else was said.
    fn follows(&self, id: &str, step: &Step) -> Follows {
        let Some(parent) = self.definition.parent_of(id) else {
            return Follows::Way(step.next.clone(), EdgeKind::Next);
        };
        let siblings = self.definition.step(parent).map_or(&[][..], |parent| &parent.sub_steps);
        let next = siblings.iter().skip_while(|sub| *sub != id).nth(1);
        match next {
            Some(next) => Follows::Way(Some(next.clone()), EdgeKind::SubStep),
            None => Follows::Parent,
        }
    }

    /// The ways out of a step `owner` that are gone `from` another if it has sub-steps: from the last of those.
    fn out_of(&mut self, from: &str, owner: &str, step: &Step, follows: &Follows) {
        let Some(check) = &step.check else {
            return match &step.branch {
                Some(branch) => self.branch(from, branch),
                None => self.follow(from, "", follows),
            };
        };
        match (check.on_pass(), &step.branch) {
            (Some(on_pass), _) => self.transition(from, owner, on_pass, "pass", follows),
            (None, Some(branch)) => self.branch(from, branch),
            (None, None) => self.follow(from, "pass", follows),
        }
        match check.on_fail() {
            Some(on_fail) => self.transition(from, owner, on_fail, "fail", follows),
            None => self.retry(owner, DEFAULT_MAX_RETRIES),
        }
    }

    fn follow(&mut self, from: &str, label: &str, follows: &Follows) {
        match follows {
            Follows::Way(to, kind) => self.add(from, to.clone(), label, *kind),
            Follows::Parent => {}
        }
    }

    fn transition(&mut self, from: &str, owner: &str, to: &Transition, label: &str, follows: &Follows) {
        let kind = if label == "pass" { EdgeKind::Pass } else { EdgeKind::Fail };
        if to.complete {
            self.add(from, None, &format!("{label}: complete"), EdgeKind::Complete);
        }
        if let Some(next) = &to.next {
            self.add(from, Some(next.clone()), label, kind);
        }
        let Some(policy) = to.retry.as_ref().and_then(|retry| retry.policy()) else { return };
        self.retry(owner, policy.max_retries);
        let then = format!("after {}", tries(policy.max_retries));
        match (policy.on_exhausted, policy.fallback_step) {
            (OnExhausted::Fallback, Some(step)) => self.add(from, Some(step), &then, EdgeKind::Fallback),
            (OnExhausted::Skip, _) => {
                let label = format!("{then}: skip");
                match follows {
                    Follows::Way(to, _) => self.add(from, to.clone(), &label, EdgeKind::Skip),
                    Follows::Parent => {}
                }
            }
            (OnExhausted::Fallback, None) | (OnExhausted::Error, _) => {}
        }
    }

    fn retry(&mut self, owner: &str, max_retries: u32) {
        if max_retries > 0 {
            let label = format!("fail: {}", tries(max_retries));
            self.add(owner, Some(owner.to_owned()), &label, EdgeKind::Retry);
        }
    }

    fn branch(&mut self, from: &str, branch: &Branch) {
        for (value, to) in &branch.targets {
            self.add(from, to.clone(), &format!("{} = {value}", branch.field), EdgeKind::Branch);
        }
        if let Some(default) = &branch.default {
            self.add(
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
                self.add(id, Some(escalation.escalate_to.clone()), "calls for help", EdgeKind::Escalation);
                escalation.escalate_to.as_str()
            }
            Notification::Webhook | Notification::Log => id,
        };
        match flow {
            ReturnFlow::Resume => self.add(helper, Some(id.to_owned()), "helped: resume", EdgeKind::Return),
            // One who helped has done what it is there for.
            ReturnFlow::Abort if helper != id => self.add(helper, None, "helped: abort", EdgeKind::Return),
            ReturnFlow::Abort => self.add(helper, None, "called for help: abort", EdgeKind::Abort),
            ReturnFlow::Restart => {
                self.add(helper, Some(steps.entry_step.clone()), "helped: restart", EdgeKind::Return);
            }
        }
    }

    /// The steps that are only come to by a call for help. They go back, and not to the end.
    fn only_helpers(&self) -> Vec<String> {
        let is_called = |edge: &&Edge| edge.kind == EdgeKind::Escalation;
        let called = self.edges.iter().filter(is_called).filter_map(|edge| edge.to.clone());
        let otherwise = |step: &String| {
            *step == self.definition.steps.entry_step
                || self.edges.iter().any(|edge| {
                    edge.to.as_ref() == Some(step) && edge.from != *step && edge.kind != EdgeKind::Escalation
                })
        };
        called.filter(|step| !otherwise(step)).collect()
    }

    fn add(&mut self, from: &str, to: Target, label: &str, kind: EdgeKind) {
        self.edges.push(Edge { from: from.to_owned(), to, label: label.to_owned(), kind });
    }
}

/// What comes when a step is over and nothing else was said.
enum Follows {
    /// This way.
    Way(Target, EdgeKind),
    /// What its parent says, whose ways lead from its last sub-step.
    Parent,
}

fn tries(max_retries: u32) -> String {
    match max_retries {
        0 => "no retry".to_owned(),
        1 => "1 retry".to_owned(),
        more => format!("{more} retries"),
    }
}
