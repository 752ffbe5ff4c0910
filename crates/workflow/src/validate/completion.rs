//! The completion condition: it can be checked, and it can hold.

use serde_json::Value;

use super::schemas;
use super::steps::{keywords, time_limit};
use crate::definition::{AgentDefinition, Completion, Resource, STEPS_FILE};
use crate::graph;
use crate::json_location::JsonLocation;
use crate::names;
use crate::problem::ValidationResult;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    condition(&JsonLocation::agent("completion"), definition, &definition.agent.completion, result);
}

fn condition(
    at: &JsonLocation,
    definition: &AgentDefinition,
    completion: &Completion,
    result: &mut ValidationResult,
) {
    match completion {
        Completion::IterationBudget { max_iterations } => {
            let at = at.key("maxIterations");
            budget(&at, *max_iterations, result);
            if *max_iterations > definition.agent.max_iterations
                && !result.unread.covers(&JsonLocation::agent("maxIterations"))
            {
                let most = definition.agent.max_iterations;
                let what = format!("the agent ends after {most} iterations, before this condition can hold");
                let remedy = "Lower it, or raise `maxIterations` of the agent.";
                result.error(&at, *max_iterations, what, remedy);
            }
        }
        Completion::CheckBudget { max_checks } => budget(&at.key("maxChecks"), *max_checks, result),
        Completion::KeywordSignal { keywords: words } => keywords(&at.key("keywords"), words, result),
        Completion::StructuredSignal { schema, signal_type, required_fields } => {
            let (schema, signal_type) = (schema.as_ref(), signal_type.as_deref());
            let is_empty = schema.is_none() && signal_type.is_none() && required_fields.is_empty();
            if is_empty && !result.unread.touches(at) {
                let what = "it has no requirements, so any answer would match";
                result.error(
                    at,
                    "structuredSignal",
                    what,
                    "Give it a `schema`, a `signalType` or `requiredFields`.",
                );
            }
            if let Some(signal) = signal_type.filter(|signal| signal.trim().is_empty()) {
                result.error(&at.key("signalType"), signal, "it is blank", "Write a word, or leave it out.");
            }
            if let Some(schema) = schema {
                schemas::check(&at.key("schema"), schema, result);
            }
            answered(at, definition, result);
        }
        Completion::ExternalState { resource, .. } => state(&at.key("resource"), resource, result),
        Completion::StepMachine => {}
        Completion::Custom { program, time_limit: seconds } => {
            custom(&at.key("program"), definition, program, result);
            time_limit(&at.key("timeLimit"), *seconds, result);
        }
        Completion::Composite { conditions, .. } => composite(at, definition, conditions, result),
    }
}

fn composite(
    at: &JsonLocation,
    definition: &AgentDefinition,
    conditions: &[Completion],
    result: &mut ValidationResult,
) {
    let at = at.key("conditions");
    if conditions.is_empty() {
        let remedy = "Add at least one condition.";
        result.error(&at, Value::Array(Vec::new()), "there are no conditions", remedy);
    }
    for (number, inner) in conditions.iter().enumerate() {
        let at = at.item(number);
        if matches!(inner, Completion::Composite { .. }) {
            let what = "a composite condition cannot contain another one";
            result.error(&at, "composite", what, "List its conditions here instead.");
        } else {
            condition(&at, definition, inner, result);
        }
    }
}

fn budget(at: &JsonLocation, count: u32, result: &mut ValidationResult) {
    if count == 0 {
        result.error(at, count, "the agent would be done before it starts", "Write a number of at least 1.");
    }
}

/// At least one step must return a structured answer.
fn answered(at: &JsonLocation, definition: &AgentDefinition, result: &mut ValidationResult) {
    if result.unread.touches(&JsonLocation::root(STEPS_FILE)) {
        return;
    }
    let reachable = graph::reachable(definition);
    let answers = |id: &String| definition.step(id).is_some_and(|step| step.output.is_some());
    if !reachable.iter().any(answers) {
        let what = "no step returns a structured answer, so the agent is never done";
        result.error(at, "structuredSignal", what, "Give a step an `output`.");
    }
}

fn state(at: &JsonLocation, resource: &Resource, result: &mut ValidationResult) {
    let filled = |field: &str, text: &str, result: &mut ValidationResult| {
        if text.trim().is_empty() {
            result.error(&at.key(field), text, "it is blank", "Write it.");
        }
    };
    match resource {
        Resource::Command { command, time_limit: seconds } => {
            filled("command", command, result);
            time_limit(&at.key("timeLimit"), *seconds, result);
        }
        Resource::File { path } => {
            if !names::is_path_below(path) {
                let what = "it is not a path inside the project";
                let remedy = "Use a relative path such as reports/done.txt, without `..`.";
                result.error(&at.key("path"), path.as_str(), what, remedy);
            }
        }
        Resource::GithubIssue { issue, repository } => {
            filled("issue", issue, result);
            filled("repository", repository, result);
        }
    }
}

fn custom(at: &JsonLocation, definition: &AgentDefinition, program: &str, result: &mut ValidationResult) {
    if !names::is_path_below(program) {
        let what = "it is not a path inside the agent's directory";
        let remedy = "Use a relative path such as bin/done, without `..`.";
        result.error(at, program, what, remedy);
    } else if !definition.files.contains_key(program) && !result.unread.has_file(program) {
        let what = "there is no such text file in the agent's directory";
        result.error(at, program, what, "Add the program as a script of at most 1 MiB.");
    }
}
