//! The way through the steps: whether each is come to, whether there is a way out, and whether what is looked at was there before.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use crate::definition::{AgentDefinition, Completion, Mode};
use crate::graph::{self, Edge, EdgeKind};

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    let edges = graph::edges(definition);
    unreachable(definition, result);
    seen_before(definition, &edges, result);
    if needs_the_end(&definition.agent.completion) {
        no_exit(definition, &edges, result);
    } else {
        budgets(definition, &edges, result);
    }
}

fn unreachable(definition: &AgentDefinition, result: &mut ValidationResult) {
    if definition.step(&definition.steps.entry_step).is_none() {
        return;
    }
    let reachable = graph::reachable(definition);
    for id in definition.steps.steps.keys().filter(|id| !reachable.contains(*id)) {
        let what = format!("no way leads here from the entry step, {}", definition.steps.entry_step);
        result.error(&Place::step(id), id.as_str(), what, "Lead to it from another step, or take it away.");
    }
}

/// Whether the agent is only done when its steps are through.
fn needs_the_end(completion: &Completion) -> bool {
    match completion {
        Completion::StepMachine => true,
        Completion::Composite { mode: Mode::Any, conditions } => {
            !conditions.is_empty() && conditions.iter().all(needs_the_end)
        }
        Completion::Composite { mode: Mode::All, conditions } => conditions.iter().any(needs_the_end),
        Completion::IterationBudget { .. }
        | Completion::CheckBudget { .. }
        | Completion::KeywordSignal { .. }
        | Completion::StructuredSignal { .. }
        | Completion::ExternalState { .. }
        | Completion::Custom { .. } => false,
    }
}

fn no_exit(definition: &AgentDefinition, edges: &[Edge], result: &mut ValidationResult) {
    let stuck = graph::steps_without_exit(definition);
    let ways: Vec<Edge> = edges.iter().filter(|edge| edge.kind.leads_on()).cloned().collect();
    let in_cycle = |step: &&String| graph::from(step, &ways).contains(*step);
    let cycle: Vec<&str> = stuck.iter().filter(in_cycle).map(String::as_str).collect();
    let steps = match (cycle.as_slice(), stuck.as_slice()) {
        (_, []) => return,
        ([], stuck) => stuck.join(", "),
        (cycle, _) => cycle.join(", "),
    };
    let what =
        format!("the agent is done when its steps are through, and there is no way out of these: {steps}");
    let remedy =
        "Lead one of them to the end or to a step outside, or choose another `completion` in agent.json.";
    result.error(&Place::steps("steps"), Value::Null, what, remedy);
}

/// A step that is run again and again is stopped by `stepLoopLimit`; a budget above that is never used up.
fn budgets(definition: &AgentDefinition, edges: &[Edge], result: &mut ValidationResult) {
    let Some(step) = looping(definition, edges) else { return };
    let limit = definition.agent.step_loop_limit;
    let at = Place::agent("completion");
    let what = |budget: u32| {
        format!(
            "{step} is run again and again, which `stepLoopLimit` stops after {limit} times in a row, before the {budget} iterations are over"
        )
    };
    let remedy = "Make `stepLoopLimit` at least as large, or the budget smaller.";
    match &definition.agent.completion {
        Completion::IterationBudget { max_iterations } if *max_iterations > limit => {
            result.error(&at.key("maxIterations"), *max_iterations, what(*max_iterations), remedy);
        }
        Completion::Composite { mode, conditions } => {
            for (number, condition) in conditions.iter().enumerate() {
                if let Completion::IterationBudget { max_iterations } = condition
                    && *max_iterations > limit
                {
                    let at = at.key("conditions").item(number).key("maxIterations");
                    match mode {
                        Mode::All => result.error(&at, *max_iterations, what(*max_iterations), remedy),
                        Mode::Any => result.warning(&at, *max_iterations, what(*max_iterations), remedy),
                    }
                }
            }
        }
        Completion::IterationBudget { .. }
        | Completion::CheckBudget { .. }
        | Completion::KeywordSignal { .. }
        | Completion::StructuredSignal { .. }
        | Completion::ExternalState { .. }
        | Completion::StepMachine
        | Completion::Custom { .. } => {}
    }
}

/// A step that is followed only by itself, be it that the steps begin anew with it.
fn looping(definition: &AgentDefinition, edges: &[Edge]) -> Option<String> {
    let entry = &definition.steps.entry_step;
    let reachable = graph::reachable(definition);
    reachable
        .iter()
        .find(|step| {
            let mut ways = edges.iter().filter(|edge| edge.from == **step && edge.kind.leads_on()).peekable();
            let stays = |edge: &Edge| match &edge.to {
                Some(to) => to == *step,
                None => *step == entry && edge.kind != EdgeKind::Complete,
            };
            ways.peek().is_some() && ways.all(stays)
        })
        .cloned()
}

/// Answers that are looked at must be given before.
fn seen_before(definition: &AgentDefinition, edges: &[Edge], result: &mut ValidationResult) {
    let edges = begun_anew(definition, edges);
    let is_before =
        |from: &str, id: &str| definition.step(from).is_none() || graph::from(from, &edges).contains(id);
    let reachable: BTreeSet<String> = graph::reachable(definition);
    for (id, step) in definition.steps.steps.iter().filter(|(id, _)| reachable.contains(*id)) {
        let what = |from: &str| format!("{from} is never run before {id}");
        if let Some(from) = step.branch.as_ref().and_then(|branch| branch.from.as_deref())
            && !is_before(from, id)
        {
            let at = Place::step(id).key("branch").key("from");
            result.warning(&at, from, what(from), "Name a step that comes before the gateway.");
        }
        for (name, input) in &step.inputs {
            let from = input.from.split('.').next().unwrap_or_default();
            if !is_before(from, id) {
                let at = Place::step(id).key("inputs").key(name).key("from");
                let remedy = "Name a step that comes before it.";
                if input.required && input.default.is_none() {
                    result.error(&at, input.from.as_str(), what(from), remedy);
                } else {
                    result.warning(&at, input.from.as_str(), what(from), remedy);
                }
            }
        }
    }
}

/// The ways with those from the end to the entry step, if the agent may have to begin anew.
fn begun_anew(definition: &AgentDefinition, edges: &[Edge]) -> Vec<Edge> {
    let is_last = |edge: &Edge| matches!(edge.kind, EdgeKind::Complete | EdgeKind::Abort);
    let begins_anew = !matches!(definition.agent.completion, Completion::StepMachine);
    let mut edges = edges.to_vec();
    for edge in edges.iter_mut().filter(|edge| begins_anew && edge.to.is_none() && !is_last(edge)) {
        edge.to = Some(definition.steps.entry_step.clone());
    }
    edges
}
