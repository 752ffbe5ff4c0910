//! The steps that others name: that each is there, and may be led to.

use super::problem::{Place, ValidationResult};
use crate::definition::{AgentDefinition, StepKind};

/// Notes a step that does not exist, or that nothing may lead to.
pub(super) fn target(at: &Place, definition: &AgentDefinition, name: &str, result: &mut ValidationResult) {
    match definition.step(name).map(|step| step.kind) {
        None => missing(at, definition, name, result),
        Some(StepKind::SubStep) => {
            let what = "a sub-step is only run as a part of its own step";
            result.error(at, name, what, "Name the step that it is part of.");
        }
        Some(StepKind::Normal | StepKind::Gateway) => {}
    }
}

/// Notes that there is no such step.
pub(super) fn missing(at: &Place, definition: &AgentDefinition, name: &str, result: &mut ValidationResult) {
    let names: Vec<&str> = definition.steps.steps.keys().map(String::as_str).collect();
    let remedy = match names.as_slice() {
        [] => "Add it to `steps`, where there are none.".to_owned(),
        names => format!("Add it to `steps`, or name one of these: {}.", names.join(", ")),
    };
    result.error(at, name, "there is no step of this name", remedy);
}
