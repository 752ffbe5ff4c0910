//! Branches: only gateways have one, and each looks at an answer that somebody gives.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use super::targets::{missing, target};
use crate::definition::{AgentDefinition, Branch, Step, StepKind};

pub(super) fn check(
    at: &Place,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    result: &mut ValidationResult,
) {
    let Some(branch) = &step.branch else { return };
    let at_branch = at.key("branch");
    if step.kind != StepKind::Gateway {
        let what = "only a gateway branches";
        result.error(&at_branch, Value::Null, what, "Set the step's `type` to gateway, or use `next`.");
    } else if let Some(next) = &step.next {
        let what = "a gateway goes where its branch leads, and not here";
        result.warning(
            &at.key("next"),
            next.as_str(),
            what,
            "Make it the `default` of the branch, or take it away.",
        );
    }
    if branch.targets.is_empty() && branch.default.is_none() {
        let remedy = "Name at least one value and its step.";
        result.error(&at_branch.key("targets"), Value::Null, "the branch leads nowhere", remedy);
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
        result.error(&at_branch.key("field"), branch.field.as_str(), "the field has no name", remedy);
    }
    answer(&at_branch, definition, id, step, branch, result);
}

/// The answer that is looked at.
fn answer(
    at: &Place,
    definition: &AgentDefinition,
    id: &str,
    step: &Step,
    branch: &Branch,
    result: &mut ValidationResult,
) {
    let output = match branch.from.as_deref() {
        None if step.prompt.is_none() => {
            let what = "the gateway looks at its own answer, and has no prompt to give one";
            let remedy =
                "Name the step whose answer it looks at in `from`, or give it a `prompt` and an `output`.";
            return result.error(at, Value::Null, what, remedy);
        }
        None if step.output.is_none() => {
            let what = "the gateway looks at its own answer, and that has no fields";
            return result.error(at, Value::Null, what, format!("Give {id} an `output` that has the field."));
        }
        None => &step.output,
        Some(from) => match definition.step(from) {
            None => return missing(&at.key("from"), definition, from, result),
            Some(source) if source.output.is_none() => {
                let what = format!("the answer of {from} has no fields");
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

/// Whether the values of the branch are those that the answer can have, as far as its schema says so.
fn values(at: &Place, schema: &Value, branch: &Branch, result: &mut ValidationResult) {
    let mut field = schema;
    for name in branch.field.split('.') {
        let Some(properties) = field.get("properties").and_then(Value::as_object) else { return };
        let Some(found) = properties.get(name) else {
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            let what = format!("the `output` that it looks at has no field {name}");
            let remedy = format!("Add it there, or name one of these: {}.", names.join(", "));
            return result.warning(&at.key("field"), branch.field.as_str(), what, remedy);
        };
        field = found;
    }
    let Some(choices) = field.get("enum").and_then(Value::as_array) else { return };
    let choices: BTreeSet<String> = choices.iter().map(plain).collect();
    for value in branch.targets.keys().filter(|value| !choices.contains(*value)) {
        let what = "the answer cannot have this value";
        let remedy = "Add it to the `enum` of the field, or take it away.";
        result.warning(&at.key("targets").key(value), value.as_str(), what, remedy);
    }
    let lost: Vec<&str> =
        choices.iter().map(String::as_str).filter(|choice| !branch.targets.contains_key(*choice)).collect();
    if !lost.is_empty() && branch.default.is_none() {
        let what = format!("these values of the answer lead nowhere: {}", lost.join(", "));
        result.warning(&at.key("targets"), Value::Null, what, "Name their steps, or a `default`.");
    }
}

/// A value as the branch writes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
