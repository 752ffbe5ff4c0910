//! The parameters of an agent: their names, their defaults, and what is asked of their values.

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use crate::definition::{AgentDefinition, Parameter, ParameterKind, Validation};
use crate::names;
use crate::parameters::{problem_with, whole};
use crate::prompt_variables::RUNTIME_NAMES;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    for (name, parameter) in &definition.agent.parameters {
        let at = Place::agent("parameters").key(name);
        if !names::is_parameter(name) {
            let remedy = "Use small letters, digits, hyphens and underscores, with a letter first.";
            result.error(&at, name.as_str(), "that cannot be the name of a parameter", remedy);
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "a variable of this name is supplied in every run";
            result.error(&at, name.as_str(), what, "Give the parameter another name.");
        }
        if let Some(validation) = &parameter.validation {
            rules(&at.key("validation"), parameter.kind, validation, result);
        }
        default(&at, parameter, result);
    }
}

fn rules(at: &Place, kind: ParameterKind, rules: &Validation, result: &mut ValidationResult) {
    let of = format!("a parameter of the type {} has none", word(kind));
    for (field, bound) in [("min", rules.min), ("max", rules.max)] {
        if let Some(bound) = bound.filter(|_| kind != ParameterKind::Number) {
            result.error(
                &at.key(field),
                bound,
                of.clone(),
                "Only a number has a least and a greatest value.",
            );
        }
    }
    if let (Some(min), Some(max)) = (rules.min, rules.max)
        && min > max
    {
        let what = format!("it is greater than the maximum, which is {max}");
        result.error(&at.key("min"), min, what, "Exchange the two.");
    }
    if let Some(pattern) = &rules.pattern {
        match kind {
            ParameterKind::String | ParameterKind::Array => {
                if let Err(error) = whole(pattern) {
                    let what = format!("that is not a regular expression: {}", last_line(&error.to_string()));
                    result.error(&at.key("pattern"), pattern.as_str(), what, "Fix the expression.");
                }
            }
            ParameterKind::Number | ParameterKind::Boolean => {
                result.error(&at.key("pattern"), pattern.as_str(), of, "Only a text has a pattern.");
            }
        }
    }
    choices(&at.key("enum"), kind, rules.choices.as_deref(), result);
}

fn choices(at: &Place, kind: ParameterKind, choices: Option<&[Value]>, result: &mut ValidationResult) {
    let Some(choices) = choices else { return };
    if choices.is_empty() {
        result.error(
            at,
            Value::Array(Vec::new()),
            "no value could be given",
            "Name at least one value, or leave it out.",
        );
    }
    // Of an array each item is one of the choices.
    let kind = if kind == ParameterKind::Array { ParameterKind::String } else { kind };
    for (number, choice) in choices.iter().enumerate() {
        if !is_of(kind, choice) {
            let what = format!("the values must be of the type {}", word(kind));
            result.error(&at.item(number), choice.clone(), what, "Write a value of that type.");
        }
    }
}

fn default(at: &Place, parameter: &Parameter, result: &mut ValidationResult) {
    let Some(default) = &parameter.default else { return };
    let at = at.key("default");
    if parameter.required {
        let what = "the parameter must be given, so its default is never used";
        result.warning(&at, default.clone(), what, "Leave out `required` or `default`.");
    }
    if let Some(problem) = problem_with(parameter, default) {
        let what =
            format!("the parameter is of the type {} and has a default {problem}", word(parameter.kind));
        result.error(
            &at,
            default.clone(),
            what,
            "Write a value that its own type and validation let through.",
        );
    }
}

fn is_of(kind: ParameterKind, value: &Value) -> bool {
    match kind {
        ParameterKind::String => value.is_string(),
        ParameterKind::Number => value.is_number(),
        ParameterKind::Boolean => value.is_boolean(),
        ParameterKind::Array => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
    }
}

fn word(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::String => "string",
        ParameterKind::Number => "number",
        ParameterKind::Boolean => "boolean",
        ParameterKind::Array => "array",
    }
}

/// The last line of what the parser says, which is what is wrong.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}
