//! Branches: only gateways have one, and the answer that it branches on exists.

use std::collections::BTreeSet;

use serde_json::Value;

use super::targets::{missing, target};
use crate::definition::{AgentDefinition, Branch, Step, StepKind};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;

pub(super) fn check(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    result: &mut ValidationResult,
) {
    let Some(branch) = &step.branch else { return };
    let at_branch = at.key("branch");
    if step.kind != StepKind::Gateway && result.unread.covers(&at.key("type")) {
        // The type is reported already.
    } else if step.kind != StepKind::Gateway {
        let what = "only a gateway can branch";
        result.error(&at_branch, Value::Null, what, "Set the step's `type` to gateway, or use `next`.");
    } else if let Some(next) = &step.next {
        let what = "a gateway follows its branch, so `next` is ignored";
        result.warning(
            &at.key("next"),
            next.as_str(),
            what,
            "Make it the `default` of the branch, or remove it.",
        );
    }
    if branch.targets.is_empty() && branch.default.is_none() {
        let remedy = "Add at least one value and its step.";
        result.error(&at_branch.key("targets"), Value::Null, "the branch has no targets", remedy);
    }
    for (value, to) in &branch.targets {
        if let Some(to) = to {
            target(&at_branch.key("targets").key(value), definition, to, result);
        }
    }
    if let Some(default) = &branch.default {
        target(&at_branch.key("default"), definition, default, result);
    }
    if branch.field.split('.').any(|part| part.trim().is_empty()) {
        let remedy = "Write the field of the answer, such as verdict or next_action.kind.";
        result.error(&at_branch.key("field"), branch.field.as_str(), "the field name is empty", remedy);
    }
    answer(&at_branch, definition, id, step, branch, result);
}

/// Checks the answer that the gateway branches on.
fn answer(
    at: &JsonLocation,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    branch: &Branch,
    result: &mut ValidationResult,
) {
    let source = JsonLocation::step(branch.from.as_deref().unwrap_or(id));
    if ["prompt", "output"].iter().any(|field| result.unread.covers(&source.key(field))) {
        return;
    }
    let output = match branch.from.as_deref() {
        None if step.prompt.is_none() => {
            let what = "the gateway branches on its own answer, but has no prompt";
            let remedy =
                "Name the step whose answer decides in `from`, or give it a `prompt` and an `output`.";
            return result.error(at, Value::Null, what, remedy);
        }
        None if step.output.is_none() => {
            let what = "the gateway branches on its own answer, but has no `output`";
            return result.error(at, Value::Null, what, format!("Give {id} an `output` that has the field."));
        }
        None => &step.output,
        Some(from) => match definition.step(from) {
            None => return missing(&at.key("from"), definition, from, result),
            Some(source) if source.output.is_none() => {
                let what = format!("the step {from} has no `output`");
                let remedy = format!("Give {from} an `output` that has the field.");
                return result.error(&at.key("from"), from, what, remedy);
            }
            Some(source) => &source.output,
        },
    };
    if let Some(schema) = output {
        values(at, schema, branch, result);
    }
}

/// Warns about values that the answer cannot have, and about values without a target, as far as its schema lists them.
fn values(at: &JsonLocation, schema: &Value, branch: &Branch, result: &mut ValidationResult) {
    let mut field = schema;
    for name in branch.field.split('.') {
        let Some(properties) = field.get("properties").and_then(Value::as_object) else { return };
        let Some(found) = properties.get(name) else {
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            let what = format!("the `output` has no field {name}");
            let remedy = format!("Add it there, or use one of these: {}.", names.join(", "));
            return result.warning(&at.key("field"), branch.field.as_str(), what, remedy);
        };
        field = found;
    }
    let Some(choices) = field.get("enum").and_then(Value::as_array) else { return };
    let choices: BTreeSet<String> = choices.iter().map(plain).collect();
    for value in branch.targets.keys().filter(|value| !choices.contains(*value)) {
        let what = "the answer cannot have this value";
        let remedy = "Add it to the `enum` of the field, or remove it.";
        result.warning(&at.key("targets").key(value), value.as_str(), what, remedy);
    }
    let unhandled: Vec<&str> =
        choices.iter().map(String::as_str).filter(|choice| !branch.targets.contains_key(*choice)).collect();
    if !unhandled.is_empty() && branch.default.is_none() {
        let what = format!("these values of the answer have no target: {}", unhandled.join(", "));
        result.warning(&at.key("targets"), Value::Null, what, "Add targets for them, or a `default`.");
    }
}

/// A value as it appears in `targets`.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
