//! The target steps of transitions.

use crate::definition::{AgentDefinition, StepKind};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

/// Reports a target that does not exist or is a sub-step.
pub(super) fn target(
    at: &JsonLocation,
    definition: &AgentDefinition,
    name: &str,
    result: &mut ValidationResult,
) {
    match definition.step(name).map(|step| step.kind) {
        None => missing(at, definition, name, result),
        Some(StepKind::SubStep) => {
            let what = "a sub-step only runs as a part of its parent step";
            result.error(at, name, what, "Name its parent step.");
        }
        Some(StepKind::Normal | StepKind::Gateway) => {}
    }
}

pub(super) fn missing(
    at: &JsonLocation,
    definition: &AgentDefinition,
    name: &str,
    result: &mut ValidationResult,
) {
    if result.unread.covers(&JsonLocation::steps("steps")) {
        return;
    }
    result.has_missing_target = true;
    let names: Vec<&str> = definition.steps.steps.keys().map(String::as_str).collect();
    let remedy = match names.as_slice() {
        [] => "Add it to `steps`, which is empty.".to_owned(),
        names => format!("Add it to `steps`, or use one of these: {}.", names.join(", ")),
    };
    result.error(at, name, "there is no step with this name", remedy);
}
