//! The parameters of an agent: their names, defaults and constraints.

use serde_json::Value;

use crate::definition::{AgentDefinition, AgentParameter, ParameterKind, Validation};
use crate::json_location::JsonLocation;
use crate::names;
use crate::parameters::{full_match, problem_with};
use crate::problem::ValidationResult;
use crate::prompt_variables::RUNTIME_NAMES;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    for (name, parameter) in &definition.agent.parameters {
        let at = JsonLocation::agent("parameters").key(name);
        if !names::is_parameter(name) {
            let remedy = "Use lowercase letters, digits, hyphens and underscores, starting with a letter.";
            result.error(&at, name.as_str(), "it is not a valid parameter name", remedy);
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "the name is reserved for a variable of the run";
            result.error(&at, name.as_str(), what, "Rename the parameter.");
        }
        if result.unread.covers(&at.key("type")) {
            continue;
        }
        if let Some(validation) = &parameter.validation {
            rules(&at.key("validation"), parameter.kind, validation, result);
        }
        default(&at, parameter, result);
    }
}

fn rules(at: &JsonLocation, kind: ParameterKind, rules: &Validation, result: &mut ValidationResult) {
    let of = format!("a parameter of the type {} cannot have it", type_name(kind));
    for (field, bound) in [("min", rules.min), ("max", rules.max)] {
        if let Some(bound) = bound.filter(|_| kind != ParameterKind::Number) {
            result.error(&at.key(field), bound, of.clone(), "Only a number can have `min` and `max`.");
        }
    }
    if let (Some(min), Some(max)) = (rules.min, rules.max)
        && min > max
    {
        let what = format!("it is greater than the maximum, which is {max}");
        result.error(&at.key("min"), min, what, "Swap the two.");
    }
    if let Some(pattern) = &rules.pattern {
        match kind {
            ParameterKind::String | ParameterKind::Array => {
                if let Err(error) = full_match(pattern) {
                    let what =
                        format!("it is not a valid regular expression: {}", last_line(&error.to_string()));
                    result.error(&at.key("pattern"), pattern.as_str(), what, "Fix the expression.");
                }
            }
            ParameterKind::Number | ParameterKind::Boolean => {
                result.error(
                    &at.key("pattern"),
                    pattern.as_str(),
                    of,
                    "Only a string or an array can have a `pattern`.",
                );
            }
        }
    }
    choices(&at.key("enum"), kind, rules.choices.as_deref(), result);
}

fn choices(at: &JsonLocation, kind: ParameterKind, choices: Option<&[Value]>, result: &mut ValidationResult) {
    let Some(choices) = choices else { return };
    if choices.is_empty() {
        result.error(
            at,
            Value::Array(Vec::new()),
            "no value would be allowed",
            "Add at least one value, or remove it.",
        );
    }
    // The choices of an array apply to each of its items.
    let kind = if kind == ParameterKind::Array { ParameterKind::String } else { kind };
    for (number, choice) in choices.iter().enumerate() {
        if !has_type(kind, choice) {
            let what = format!("the values must be of the type {}", type_name(kind));
            result.error(&at.item(number), choice.clone(), what, "Write a value of that type.");
        }
    }
}

fn default(at: &JsonLocation, parameter: &AgentParameter, result: &mut ValidationResult) {
    let Some(default) = &parameter.default else { return };
    let at = at.key("default");
    if parameter.required {
        let what = "the parameter is required, so its default is never used";
        result.warning(&at, default.clone(), what, "Remove `required` or `default`.");
    }
    if let Some(problem) = problem_with(parameter, default) {
        let what =
            format!("the parameter has the type {} and a default {problem}", type_name(parameter.kind));
        result.error(&at, default.clone(), what, "Write a value that matches its type and validation.");
    }
}

fn has_type(kind: ParameterKind, value: &Value) -> bool {
    match kind {
        ParameterKind::String => value.is_string(),
        ParameterKind::Number => value.is_number(),
        ParameterKind::Boolean => value.is_boolean(),
        ParameterKind::Array => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
    }
}

fn type_name(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::String => "string",
        ParameterKind::Number => "number",
        ParameterKind::Boolean => "boolean",
        ParameterKind::Array => "array",
    }
}

/// The last line of a parser error, which contains the message.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}
