//! When the agent is done: whether each condition can be asked, and can hold.

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use super::schemas;
use super::steps::{keywords, time_limit};
use crate::definition::{AgentDefinition, Completion, Resource};
use crate::graph;
use crate::names;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    condition(&Place::agent("completion"), definition, &definition.agent.completion, result);
}

fn condition(
    at: &Place,
    definition: &AgentDefinition,
    completion: &Completion,
    result: &mut ValidationResult,
) {
    match completion {
        Completion::IterationBudget { max_iterations } => {
            let at = at.key("maxIterations");
            budget(&at, *max_iterations, result);
            if *max_iterations > definition.agent.max_iterations {
                let most = definition.agent.max_iterations;
                let what = format!("the agent is stopped after {most} iterations, before it is done");
                let remedy = "Make it smaller, or `maxIterations` of the agent itself larger.";
                result.error(&at, *max_iterations, what, remedy);
            }
        }
        Completion::CheckBudget { max_checks } => budget(&at.key("maxChecks"), *max_checks, result),
        Completion::KeywordSignal { keywords: words } => keywords(&at.key("keywords"), words, result),
        Completion::StructuredSignal { schema, signal_type, required_fields } => {
            let (schema, signal_type) = (schema.as_ref(), signal_type.as_deref());
            if schema.is_none() && signal_type.is_none() && required_fields.is_empty() {
                let what = "nothing is asked of the answer, so any would do";
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
    at: &Place,
    definition: &AgentDefinition,
    conditions: &[Completion],
    result: &mut ValidationResult,
) {
    let at = at.key("conditions");
    if conditions.is_empty() {
        let remedy = "Name at least one condition.";
        result.error(&at, Value::Array(Vec::new()), "there is no condition to ask", remedy);
    }
    for (number, inner) in conditions.iter().enumerate() {
        let at = at.item(number);
        if matches!(inner, Completion::Composite { .. }) {
            let what = "a condition that is made of others cannot be part of another";
            result.error(&at, "composite", what, "Name its conditions here instead.");
        } else {
            condition(&at, definition, inner, result);
        }
    }
}

fn budget(at: &Place, count: u32, result: &mut ValidationResult) {
    if count == 0 {
        result.error(at, count, "the agent would be done before it begins", "Write a number from 1.");
    }
}

/// Somebody must give a structured answer.
fn answered(at: &Place, definition: &AgentDefinition, result: &mut ValidationResult) {
    let reachable = graph::reachable(definition);
    let answers = |id: &String| definition.step(id).is_some_and(|step| step.output.is_some());
    if !reachable.iter().any(answers) {
        let what = "no step gives a structured answer, so the agent is never done";
        result.error(at, "structuredSignal", what, "Give a step an `output`.");
    }
}

fn state(at: &Place, resource: &Resource, result: &mut ValidationResult) {
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
                let what = "that is not a path in the project";
                let remedy = "Write a path such as reports/done.txt, without `..` and not from the root.";
                result.error(&at.key("path"), path.as_str(), what, remedy);
            }
        }
        Resource::GithubIssue { issue, repository } => {
            filled("issue", issue, result);
            filled("repository", repository, result);
        }
    }
}

fn custom(at: &Place, definition: &AgentDefinition, program: &str, result: &mut ValidationResult) {
    if !names::is_path_below(program) {
        let what = "that is not a path in the agent's directory";
        let remedy = "Write a path such as bin/done, without `..` and not from the root.";
        result.error(at, program, what, remedy);
    } else if !definition.files.contains_key(program) {
        let what = "there is no such text file in the agent's directory";
        result.error(at, program, what, "Write the program there as a script that is not larger than 1 MiB.");
    }
}
