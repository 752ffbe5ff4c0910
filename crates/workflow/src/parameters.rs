//! Parses the arguments given as `--arg NAME=VALUE` and checks them against the declared parameters. All problems are reported
//! together.

use std::collections::BTreeMap;

use autonoe_core::fault::Fault;
use regex::Regex;
use serde_json::{Number, Value};

use crate::definition::{AgentFile, AgentParameter, ParameterKind, Validation};
use crate::faults;

/// The most characters shown of a value.
const MAX_SHOWN: usize = 200;

/// The arguments by name, including defaults. A parameter without an argument and without a default is not included.
pub fn read_arguments(
    agent: &AgentFile,
    given: &[(String, String)],
) -> Result<BTreeMap<String, Value>, Fault> {
    let mut problems = ArgumentProblems::default();
    let mut arguments = BTreeMap::new();
    for (name, text) in given {
        let Some(parameter) = agent.parameters.get(name) else {
            problems.wrong.push(undeclared(agent, name));
            continue;
        };
        if arguments.contains_key(name) {
            problems.wrong.push(format!("`{}` is given more than once; give it once", shown(name)));
            continue;
        }
        let value = parse(parameter.kind, text);
        let problem = match &value {
            Ok(value) => problem_with(parameter, value),
            Err(mismatch) => Some(mismatch.to_string()),
        };
        if let Some(problem) = problem {
            problems
                .wrong
                .push(format!("`{name}` is `{}`, {problem}; give it as --arg {name}=VALUE", shown(text)));
        }
        arguments.insert(name.clone(), value.unwrap_or(Value::Null));
    }
    for (name, parameter) in &agent.parameters {
        match &parameter.default {
            _ if arguments.contains_key(name) => {}
            Some(default) => {
                arguments.insert(name.clone(), default.clone());
            }
            None if parameter.required => problems.missing.push(missing(name, parameter)),
            None => {}
        }
    }
    problems.none_or(arguments, agent)
}

#[derive(Default)]
struct ArgumentProblems {
    wrong: Vec<String>,
    missing: Vec<String>,
}

impl ArgumentProblems {
    fn none_or<T>(self, value: T, agent: &AgentFile) -> Result<T, Fault> {
        let class = match (self.wrong.as_slice(), self.missing.as_slice()) {
            ([], []) => return Ok(value),
            ([], _) => faults::DEPENDENCY_RESOLUTION,
            (_, _) => faults::CONFIGURATION_VALIDATION,
        };
        let all: Vec<String> = self.wrong.into_iter().chain(self.missing).collect();
        let message = format!("The agent {} cannot be started: {}.", agent.name, all.join(". "));
        Err(class
            .fault(message)
            .hint("`parameters` in its agent.json declares the parameters and their allowed values."))
    }
}

fn undeclared(agent: &AgentFile, name: &str) -> String {
    let known: Vec<String> = agent.parameters.keys().map(|known| format!("`{known}`")).collect();
    let known = match known.as_slice() {
        [] => "it has none".to_owned(),
        known => format!("it has {}", known.join(", ")),
    };
    format!("`{}` is not a parameter of this agent; {known}", shown(name))
}

fn missing(name: &str, parameter: &AgentParameter) -> String {
    let purpose = match parameter.description.trim().trim_end_matches('.') {
        "" => String::new(),
        purpose => format!(" ({})", shown(purpose)),
    };
    format!("`{name}`{purpose} is missing; give it as --arg {name}=VALUE, {}", allowed(parameter))
}

/// Why a value is not of a type, as a relative clause that follows the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum KindMismatch {
    #[error("which is not a string")]
    String,
    #[error("which is not a number, such as 3 or 2.5")]
    Number,
    #[error("which is neither true nor false")]
    Boolean,
    #[error("which is not a list of strings")]
    Array,
}

/// Parses a value of this type.
fn parse(kind: ParameterKind, text: &str) -> Result<Value, KindMismatch> {
    match kind {
        ParameterKind::String => Ok(text.into()),
        ParameterKind::Number => number(text.trim()).map(Value::Number).ok_or(KindMismatch::Number),
        ParameterKind::Boolean => match text.trim() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(KindMismatch::Boolean),
        },
        ParameterKind::Array if text.trim().is_empty() => Ok(Value::Array(Vec::new())),
        ParameterKind::Array => Ok(text.split(',').map(str::trim).collect()),
    }
}

fn number(text: &str) -> Option<Number> {
    let integer = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    integer.ok().or_else(|| Number::from_f64(text.parse().ok()?))
}

/// Why a value is not allowed for a parameter, as a relative clause that follows the value; `None` if it is allowed.
pub fn problem_with(parameter: &AgentParameter, value: &Value) -> Option<String> {
    let wrong_kind = match (parameter.kind, value) {
        (ParameterKind::String, Value::String(_))
        | (ParameterKind::Number, Value::Number(_))
        | (ParameterKind::Boolean, Value::Bool(_)) => None,
        (ParameterKind::Array, Value::Array(items)) if items.iter().all(Value::is_string) => None,
        (ParameterKind::String, _) => Some(KindMismatch::String),
        (ParameterKind::Number, _) => Some(KindMismatch::Number),
        (ParameterKind::Boolean, _) => Some(KindMismatch::Boolean),
        (ParameterKind::Array, _) => Some(KindMismatch::Array),
    };
    if let Some(wrong_kind) = wrong_kind {
        return Some(wrong_kind.to_string());
    }
    let validation = parameter.validation.as_ref()?;
    match value {
        Value::Array(items) => items.iter().zip(1..).find_map(|(item, number)| {
            violation(validation, item).map(|violation| format!("whose item {number} {violation}"))
        }),
        value => violation(validation, value).map(|violation| format!("which {violation}")),
    }
}

fn violation(Validation { min, max, pattern, choices }: &Validation, value: &Value) -> Option<String> {
    if let Some(number) = value.as_f64() {
        match (min, max) {
            (Some(min), _) if number < *min => return Some(format!("is below {min}")),
            (_, Some(max)) if number > *max => return Some(format!("is above {max}")),
            (_, _) => {}
        }
    }
    if let (Some(pattern), Some(text)) = (pattern, value.as_str()) {
        match full_match(pattern) {
            Ok(regex) if regex.is_match(text) => {}
            Ok(_) => return Some(format!("does not match the pattern `{pattern}`")),
            Err(_) => {
                return Some(format!(
                    "cannot be checked against `{pattern}`, which is not a valid regular expression"
                ));
            }
        }
    }
    let choices = choices.as_ref().filter(|choices| !choices.iter().any(|choice| is_same(choice, value)))?;
    Some(format!("is not among {}", listed(choices)))
}

/// A regular expression that must match the whole text.
pub(crate) fn full_match(pattern: &str) -> Result<Regex, regex::Error> {
    // The pattern must be valid by itself, not only inside of the group.
    Regex::new(pattern)?;
    Regex::new(&format!(r"\A(?:{pattern})\z"))
}

/// Compares numbers by value, so that 2 equals 2.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        (_, _) => one == other,
    }
}

/// A description of the allowed values.
fn allowed(parameter: &AgentParameter) -> String {
    let kind = match parameter.kind {
        ParameterKind::String => "a string",
        ParameterKind::Number => "a number",
        ParameterKind::Boolean => "true or false",
        ParameterKind::Array => "comma-separated strings",
    };
    let mut words = vec![kind.to_owned()];
    if let Some(Validation { min, max, pattern, choices }) = &parameter.validation {
        words.extend(min.map(|min| format!("from {min}")));
        words.extend(max.map(|max| format!("to {max}")));
        words.extend(pattern.as_ref().map(|pattern| format!("that matches `{pattern}`")));
        words.extend(choices.as_ref().map(|choices| format!("that is one of {}", listed(choices))));
    }
    words.join(" ")
}

fn listed(choices: &[Value]) -> String {
    let choices: Vec<String> =
        choices.iter().map(|choice| format!("`{}`", shown(&crate::variables::text_of(choice)))).collect();
    choices.join(", ")
}

/// The start of a value, on one line.
fn shown(text: &str) -> String {
    let one_line = |char: char| if char.is_control() { ' ' } else { char };
    let mut shown: String = text.chars().take(MAX_SHOWN).map(one_line).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
