//! Sub-steps: each is part of exactly one step, and has no next step of its own.

use serde_json::Value;

use super::targets::missing;
use crate::definition::{AgentDefinition, STEPS_FILE, Step, StepKind};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

pub(super) fn check(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    result: &mut ValidationResult,
) {
    if step.sequential == Some(false) {
        let what = "sub-steps always run one after the other";
        let remedy = "Remove it; to work in parallel, start several agents.";
        result.error(&at.key("sequential"), false, what, remedy);
    }
    parent(at, definition, step, result);
    if step.kind == StepKind::SubStep {
        part(at, definition, id, step, result);
    }
}

fn parent(at: &JsonLocation, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    if step.kind == StepKind::Gateway && !step.sub_steps.is_empty() {
        let what = "a gateway cannot have sub-steps";
        result.error(&at.key("subSteps"), Value::Null, what, "Move them to a step before it.");
    }
    for (number, sub) in step.sub_steps.iter().enumerate() {
        let at = at.key("subSteps").item(number);
        match definition.step(sub).map(|step| step.kind) {
            None => missing(&at, definition, sub, result),
            Some(StepKind::SubStep) => {
                if step.sub_steps[..number].contains(sub) {
                    result.error(&at, sub.as_str(), "it is listed twice", "Remove one of them.");
                }
            }
            Some(_) if result.unread.covers(&JsonLocation::step(sub).key("type")) => {}
            Some(StepKind::Normal | StepKind::Gateway) => {
                let what = "this step is not a sub-step";
                result.error(
                    &at,
                    sub.as_str(),
                    what,
                    "Set its `type` to subStep, or lead to it with `next`.",
                );
            }
        }
    }
}

fn part(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    result: &mut ValidationResult,
) {
    let parents: Vec<&str> = definition
        .steps
        .steps
        .iter()
        .filter(|(_, step)| step.sub_steps.iter().any(|sub| sub == id))
        .map(|(parent, _)| parent.as_str())
        .collect();
    match parents.as_slice() {
        [_] => {}
        // The list with it may not have been read.
        [] if result.unread.touches(&JsonLocation::root(STEPS_FILE)) => {}
        [] => {
            let what = "no step lists it in `subSteps`";
            result.error(
                &at.key("type"),
                "subStep",
                what,
                "Add it to the `subSteps` of one step, or make it a normal step.",
            );
        }
        parents => {
            let what = format!("it is part of several steps: {}", parents.join(", "));
            result.error(
                &at.key("type"),
                "subStep",
                what,
                "Keep it in one of them, and add a copy for the others.",
            );
        }
    }
    let remedy = "Remove it; the parent step defines what follows its sub-steps.";
    if let Some(next) = &step.next {
        result.error(&at.key("next"), next.as_str(), "a sub-step cannot have a next step", remedy);
    }
    if let Some(next) = step.check.as_ref().and_then(|check| check.on_pass()?.next.as_deref()) {
        let at = at.key("check").key("onPass").key("next");
        result.error(&at, next, "a sub-step cannot have a next step", remedy);
    }
    if !step.sub_steps.is_empty() {
        let what = "a sub-step cannot have sub-steps";
        result.error(&at.key("subSteps"), Value::Null, what, "Add them to its parent step.");
    }
}
