//! The flow of the steps: each is reachable, the end is reachable if the agent needs it, and answers exist before they are used.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::definition::{AgentDefinition, Completion, CompositeMode, STEPS_FILE};
use crate::graph::{self, Edge, EdgeKind};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    // A transition that could not be read, or whose target is misspelt, may lead anywhere.
    if result.has_missing_target || result.unread.touches(&JsonLocation::root(STEPS_FILE)) {
        return;
    }
    let edges = graph::edges(definition);
    unreachable(definition, result);
    answered_before(definition, &edges, result);
    if result.unread.touches(&JsonLocation::agent("completion")) {
        return;
    }
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
        let what = format!("it cannot be reached from the entry step, {}", definition.steps.entry_step);
        result.error(
            &JsonLocation::step(id),
            id.as_str(),
            what,
            "Add a transition to it from another step, or remove it.",
        );
    }
}

/// Whether the agent is done only when all steps are finished.
fn needs_the_end(completion: &Completion) -> bool {
    match completion {
        Completion::StepMachine => true,
        Completion::Composite { mode: CompositeMode::Any, conditions } => {
            !conditions.is_empty() && conditions.iter().all(needs_the_end)
        }
        Completion::Composite { mode: CompositeMode::All, conditions } => {
            conditions.iter().any(needs_the_end)
        }
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
    let forward: Vec<Edge> = edges.iter().filter(|edge| edge.kind.is_forward()).cloned().collect();
    let in_cycle = |step: &&String| graph::reachable_from(step, &forward).contains(*step);
    let cycle: Vec<&str> = stuck.iter().filter(in_cycle).map(String::as_str).collect();
    let steps = match (cycle.as_slice(), stuck.as_slice()) {
        (_, []) => return,
        ([], stuck) => stuck.join(", "),
        (cycle, _) => cycle.join(", "),
    };
    let what =
        format!("the agent is done when its steps are finished, but these never reach the end: {steps}");
    let remedy = "Add a transition from one of them to the end or to another step, or change `completion` in agent.json.";
    result.error(&JsonLocation::steps("steps"), Value::Null, what, remedy);
}

/// `stepLoopLimit` stops a step that repeats itself, so a higher iteration budget is never used up.
fn budgets(definition: &AgentDefinition, edges: &[Edge], result: &mut ValidationResult) {
    let Some(step) = looping(definition, edges) else { return };
    let limit = definition.agent.step_loop_limit;
    let at = JsonLocation::agent("completion");
    let what = |budget: u32| {
        format!(
            "{step} repeats itself, which `stepLoopLimit` stops after {limit} times in a row, before the {budget} iterations are done"
        )
    };
    let remedy = "Raise `stepLoopLimit` to at least the budget, or lower the budget.";
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
                        CompositeMode::All => {
                            result.error(&at, *max_iterations, what(*max_iterations), remedy)
                        }
                        CompositeMode::Any => {
                            result.warning(&at, *max_iterations, what(*max_iterations), remedy)
                        }
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

/// A step that is followed only by itself, possibly because the steps start again with it.
fn looping(definition: &AgentDefinition, edges: &[Edge]) -> Option<String> {
    let entry = &definition.steps.entry_step;
    let reachable = graph::reachable(definition);
    reachable
        .iter()
        .find(|step| {
            let mut outgoing =
                edges.iter().filter(|edge| edge.from == **step && edge.kind.is_forward()).peekable();
            let stays = |edge: &Edge| match &edge.to {
                Some(to) => to == *step,
                None => *step == entry && edge.kind != EdgeKind::Complete,
            };
            outgoing.peek().is_some() && outgoing.all(stays)
        })
        .cloned()
}

/// Reports answers that are used before the step that gives them has run.
fn answered_before(definition: &AgentDefinition, edges: &[Edge], result: &mut ValidationResult) {
    let edges = with_restart(definition, edges);
    let is_before = |from: &str, id: &str| {
        definition.step(from).is_none() || graph::reachable_from(from, &edges).contains(id)
    };
    let reachable: BTreeSet<String> = graph::reachable(definition);
    for (id, step) in definition.steps.steps.iter().filter(|(id, _)| reachable.contains(*id)) {
        let what = |from: &str| format!("{from} never runs before {id}");
        if let Some(from) = step.branch.as_ref().and_then(|branch| branch.from.as_deref())
            && !is_before(from, id)
        {
            let at = JsonLocation::step(id).key("branch").key("from");
            result.warning(&at, from, what(from), "Name a step that comes before the gateway.");
        }
        for (name, input) in &step.inputs {
            let from = input.from.split('.').next().unwrap_or_default();
            if !is_before(from, id) {
                let at = JsonLocation::step(id).key("inputs").key(name).key("from");
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

/// The edges, with the end connected to the entry step if the steps may start again.
fn with_restart(definition: &AgentDefinition, edges: &[Edge]) -> Vec<Edge> {
    let is_last = |edge: &Edge| matches!(edge.kind, EdgeKind::Complete | EdgeKind::Abort);
    let may_restart = !matches!(definition.agent.completion, Completion::StepMachine);
    let mut edges = edges.to_vec();
    for edge in edges.iter_mut().filter(|edge| may_restart && edge.to.is_none() && !is_last(edge)) {
        edge.to = Some(definition.steps.entry_step.clone());
    }
    edges
}
