//! Each step by itself: its name, the fields that its type requires, its actions, its answer and its inputs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::targets::missing;
use super::{branches, schemas, sub_steps, transitions};
use crate::definition::{
    ActionCommand, AgentDefinition, CommandParameter, ParameterKind, ProjectAccess, Step, StepCheck, StepKind,
};
use crate::json_location::JsonLocation;
use crate::names;
use crate::problem::ValidationResult;
use crate::prompt_variables::RUNTIME_NAMES;

/// The highest time limit of a command or a program, in seconds.
pub const TIME_LIMIT: u64 = 3_600;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    entry(definition, result);
    for (id, step) in &definition.steps.steps {
        let at = JsonLocation::step(id);
        if !names::is_step(id) {
            let remedy = "Use letters, digits, hyphens and underscores, starting with a letter.";
            result.error(&at, id.as_str(), "it is not a valid step name", remedy);
        }
        kind(&at, step, result);
        access(&at, definition, step, result);
        actions(&at, definition, step, result);
        inputs(&at, definition, step, result);
        if let Some(schema) = &step.output {
            schemas::check(&at.key("output"), schema, result);
            if step.prompt.is_none() && !result.unread.covers(&at.key("prompt")) {
                let what = "the step has no prompt, so it cannot return an answer";
                result.error(&at.key("output"), Value::Null, what, "Add a prompt, or remove `output`.");
            }
        }
        check_of_step(&at, step, result);
        transitions::check(&at, definition, id, step, result);
        branches::check(&at, definition, id, step, result);
        sub_steps::check(&at, definition, id, step, result);
    }
}

fn entry(definition: &AgentDefinition, result: &mut ValidationResult) {
    let at = JsonLocation::steps("entryStep");
    let entry = definition.steps.entry_step.as_str();
    match definition.step(entry).map(|step| step.kind) {
        None => missing(&at, definition, entry, result),
        Some(StepKind::SubStep) => {
            let what = "a sub-step cannot be the entry step";
            result.error(&at, entry, what, "Name its parent step.");
        }
        Some(StepKind::Normal | StepKind::Gateway) => {}
    }
}

fn kind(at: &JsonLocation, step: &Step, result: &mut ValidationResult) {
    let needs_prompt = match step.kind {
        StepKind::Normal => step.sub_steps.is_empty(),
        StepKind::SubStep => true,
        StepKind::Gateway => false,
    };
    if needs_prompt && step.prompt.is_none() && !result.unread.touches(&at.key("subSteps")) {
        let remedy = "Add a `prompt`, or `subSteps` that have one.";
        result.error(&at.key("prompt"), Value::Null, "the step has no prompt", remedy);
    }
    let is_unread = ["branch", "check"].iter().any(|field| result.unread.touches(&at.key(field)));
    if step.kind == StepKind::Gateway && step.branch.is_none() && !is_unread {
        let ends = step.check.as_ref().map(|check| (check.on_pass().is_some(), check.on_fail().is_some()));
        if ends != Some((true, true)) {
            let remedy = "Add a `branch`, or a `check` with `onPass` and `onFail`.";
            result.error(at, "gateway", "a gateway must branch", remedy);
        }
    }
}

fn access(at: &JsonLocation, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    if (definition.agent.access, step.access) == (ProjectAccess::Read, Some(ProjectAccess::Write)) {
        let what = "the agent may only read, and a step cannot have more access than its agent";
        result.error(&at.key("access"), "write", what, "Remove it, or set `access` in agent.json to write.");
    }
}

fn actions(at: &JsonLocation, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    let mut names = BTreeSet::new();
    for (number, action) in step.actions.iter().enumerate() {
        let at = at.key("actions").item(number);
        if action.kind.trim().is_empty() {
            result.error(&at.key("type"), action.kind.as_str(), "the action has no name", "Write a name.");
        } else if !names.insert(action.kind.as_str()) {
            let what = "another action of the step has the same name";
            result.error(&at.key("type"), action.kind.as_str(), what, "Rename one of them.");
        }
        command(&at.key("command"), definition, &action.command, result);
        time_limit(&at.key("timeLimit"), action.time_limit, result);
    }
}

/// A command of a parameter must have a value in every run.
fn command(
    at: &JsonLocation,
    definition: &AgentDefinition,
    command: &ActionCommand,
    result: &mut ValidationResult,
) {
    let name = match command {
        ActionCommand::Text(text) if text.trim().is_empty() => {
            return result.error(at, text.as_str(), "there is no command", "Write one.");
        }
        ActionCommand::Text(_) => return,
        ActionCommand::Parameter(CommandParameter { parameter }) => parameter.as_str(),
    };
    let at = at.key("parameter");
    let declared = JsonLocation::agent("parameters").key(name);
    match definition.agent.parameters.get(name) {
        _ if result.unread.touches(&declared) => {}
        None => {
            let remedy = "Add it to `parameters` of agent.json, or write the command itself.";
            result.error(&at, name, "there is no parameter with this name", remedy);
        }
        Some(parameter) if parameter.kind != ParameterKind::String => {
            let what = "the value of this parameter is not a string, so it cannot be a command";
            result.error(&at, name, what, "Use a parameter of the type string.");
        }
        Some(parameter) if !parameter.required && parameter.default.is_none() => {
            let what = "this parameter may have no value, so there may be no command";
            result.error(&at, name, what, "Make it required, or give it a default.");
        }
        Some(_) => {}
    }
}

/// Reports a time limit that is out of range.
pub(super) fn time_limit(at: &JsonLocation, seconds: u64, result: &mut ValidationResult) {
    if !(1..=TIME_LIMIT).contains(&seconds) {
        let remedy = format!("Write a number of seconds from 1 to {TIME_LIMIT}.");
        result.error(at, seconds, "the time limit is out of range", remedy);
    }
}

fn inputs(at: &JsonLocation, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    for (name, input) in &step.inputs {
        let at = at.key("inputs").key(name);
        let agent = &definition.agent;
        if !names::is_variable(name) {
            let remedy = "Use letters, digits, hyphens and underscores, not starting with a digit.";
            result.error(&at, name.as_str(), "it is not a valid variable name", remedy);
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "the name is reserved for a variable of the run";
            result.error(&at, name.as_str(), what, "Rename the input.");
        } else if agent.parameters.contains_key(name) || agent.environment.contains(name) {
            let what = "a parameter or an environment variable has the same name";
            result.error(&at, name.as_str(), what, "Rename the input.");
        }
        let (from, field) = match input.from.split_once('.') {
            Some((from, field)) => (from, Some(field)),
            None => (input.from.as_str(), None),
        };
        let at = at.key("from");
        match definition.step(from) {
            None => missing(&at, definition, from, result),
            Some(_) if field.is_some_and(|field| field.split('.').any(str::is_empty)) => {
                let remedy = "Write the step and the field, such as plan.summary, or the step alone.";
                result.error(&at, input.from.as_str(), "the field name is empty", remedy);
            }
            Some(_) if result.unread.covers(&JsonLocation::step(from).key("output")) => {}
            Some(step) if field.is_some() && step.output.is_none() => {
                let what = format!("the step {from} has no `output`, so its answer has no fields");
                let remedy = format!("Add an `output` to {from}, or write {from} alone for its response.");
                result.error(&at, input.from.as_str(), what, remedy);
            }
            Some(_) => {}
        }
    }
}

fn check_of_step(at_step: &JsonLocation, step: &Step, result: &mut ValidationResult) {
    let at = at_step.key("check");
    let has_all_actions = !result.unread.touches(&at_step.key("actions"));
    match &step.check {
        Some(StepCheck::Action { .. }) if !has_all_actions => {}
        Some(StepCheck::Action { action, .. }) if !step.actions.iter().any(|found| found.kind == *action) => {
            let names: Vec<&str> = step.actions.iter().map(|action| action.kind.as_str()).collect();
            let remedy = match names.as_slice() {
                [] => "Add it to the step's `actions`, which are empty.".to_owned(),
                names => {
                    format!("Add it to the step's `actions`, or use one of these: {}.", names.join(", "))
                }
            };
            result.error(&at.key("action"), action.as_str(), "the step has no action with this name", remedy);
        }
        Some(StepCheck::Keyword { keywords: words, .. }) => {
            keywords(&at.key("keywords"), words, result);
            let is_unread =
                ["prompt", "subSteps"].iter().any(|field| result.unread.touches(&at_step.key(field)));
            if step.prompt.is_none() && step.sub_steps.is_empty() && !is_unread {
                let what = "the step has no prompt, so there is no response to search";
                result.error(&at, "keyword", what, "Add a prompt, or use another check.");
            }
        }
        Some(StepCheck::Action { .. } | StepCheck::Prompt { .. }) | None => {}
    }
}

/// Reports missing and blank keywords.
pub(super) fn keywords(at: &JsonLocation, words: &[String], result: &mut ValidationResult) {
    if words.is_empty() {
        result.error(at, Value::Array(Vec::new()), "there are no keywords", "Add at least one.");
    }
    for (number, word) in words.iter().enumerate() {
        if word.trim().is_empty() {
            let what = "a blank keyword matches every response";
            result.error(
                &at.item(number),
                word.as_str(),
                what,
                "Use a word that does not occur by accident.",
            );
        }
    }
}
