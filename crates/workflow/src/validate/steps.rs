//! Each step by itself: its name, what its kind must have and must not have, its actions, its answer and its variables.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use super::targets::missing;
use super::{branches, schemas, sub_steps, transitions};
use crate::definition::{Access, AgentDefinition, Check, Step, StepKind};
use crate::names;
use crate::prompt_variables::RUNTIME_NAMES;

/// The longest time that a command or a program may be given, in seconds.
pub const TIME_LIMIT: u64 = 3_600;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    entry(definition, result);
    for (id, step) in &definition.steps.steps {
        let at = Place::step(id);
        if !names::is_step(id) {
            let remedy = "Use letters, digits, hyphens and underscores, with a letter first.";
            result.error(&at, id.as_str(), "that cannot be the name of a step", remedy);
        }
        kind(&at, step, result);
        access(&at, definition, step, result);
        actions(&at, step, result);
        inputs(&at, definition, step, result);
        if let Some(schema) = &step.output {
            schemas::check(&at.key("output"), schema, result);
            if step.prompt.is_none() {
                let what = "the step has no prompt, so nobody gives this answer";
                result.error(
                    &at.key("output"),
                    Value::Null,
                    what,
                    "Give it a prompt, or leave out `output`.",
                );
            }
        }
        judged(&at, step, result);
        transitions::check(&at, definition, id, step, result);
        branches::check(&at, definition, id, step, result);
        sub_steps::check(&at, definition, id, step, result);
    }
}

fn entry(definition: &AgentDefinition, result: &mut ValidationResult) {
    let at = Place::steps("entryStep");
    let entry = definition.steps.entry_step.as_str();
    match definition.step(entry).map(|step| step.kind) {
        None => missing(&at, definition, entry, result),
        Some(StepKind::SubStep) => {
            let what = "a sub-step is part of another step, and cannot come first";
            result.error(&at, entry, what, "Name the step that it is part of.");
        }
        Some(StepKind::Normal | StepKind::Gateway) => {}
    }
}

fn kind(at: &Place, step: &Step, result: &mut ValidationResult) {
    let needs_prompt = match step.kind {
        StepKind::Normal => step.sub_steps.is_empty(),
        StepKind::SubStep => true,
        StepKind::Gateway => false,
    };
    if needs_prompt && step.prompt.is_none() {
        let remedy = "Give it a `prompt`, or `subSteps` that have some.";
        result.error(&at.key("prompt"), Value::Null, "the step has nothing to do: it has no prompt", remedy);
    }
    if step.kind == StepKind::Gateway && step.branch.is_none() {
        let ends = step.check.as_ref().map(|check| (check.on_pass().is_some(), check.on_fail().is_some()));
        if ends != Some((true, true)) {
            let remedy = "Give it a `branch`, or a `check` with `onPass` and `onFail`.";
            result.error(at, "gateway", "a gateway must branch, and this one does not", remedy);
        }
    }
}

fn access(at: &Place, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    if (definition.agent.access, step.access) == (Access::Read, Some(Access::Write)) {
        let what = "the agent may only read, and a step may do no more than the agent";
        result.error(
            &at.key("access"),
            "write",
            what,
            "Take it away here, or set `access` of agent.json to write.",
        );
    }
}

fn actions(at: &Place, step: &Step, result: &mut ValidationResult) {
    let mut seen = BTreeSet::new();
    for (number, action) in step.actions.iter().enumerate() {
        let at = at.key("actions").item(number);
        if action.kind.trim().is_empty() {
            result.error(&at.key("type"), action.kind.as_str(), "an action needs a name", "Name it.");
        } else if !seen.insert(action.kind.as_str()) {
            let what = "another action of the step has the same name";
            result.error(&at.key("type"), action.kind.as_str(), what, "Rename one of them.");
        }
        if action.command.trim().is_empty() {
            result.error(&at.key("command"), action.command.as_str(), "there is no command", "Write one.");
        }
        time_limit(&at.key("timeLimit"), action.time_limit, result);
    }
}

/// Notes a time that cannot be given.
pub(super) fn time_limit(at: &Place, seconds: u64, result: &mut ValidationResult) {
    if !(1..=TIME_LIMIT).contains(&seconds) {
        let remedy = format!("Write a number of seconds from 1 to {TIME_LIMIT}.");
        result.error(at, seconds, "so much time cannot be given", remedy);
    }
}

fn inputs(at: &Place, definition: &AgentDefinition, step: &Step, result: &mut ValidationResult) {
    for (name, input) in &step.inputs {
        let at = at.key("inputs").key(name);
        let agent = &definition.agent;
        if !names::is_variable(name) {
            let remedy = "Use letters, digits, hyphens and underscores, with no digit first.";
            result.error(&at, name.as_str(), "that cannot be the name of a variable", remedy);
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "a variable of this name is supplied in every run";
            result.error(&at, name.as_str(), what, "Give the input another name.");
        } else if agent.parameters.contains_key(name) || agent.environment.contains(name) {
            let what = "a parameter or an environment variable has the same name";
            result.error(&at, name.as_str(), what, "Give the input another name.");
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
                result.error(&at, input.from.as_str(), "the field has no name", remedy);
            }
            Some(step) if field.is_some() && step.output.is_none() => {
                let what = format!("the answer of {from} has no fields, for that step has no `output`");
                let remedy = format!("Give {from} an `output`, or write {from} alone for what it said.");
                result.error(&at, input.from.as_str(), what, remedy);
            }
            Some(_) => {}
        }
    }
}

fn judged(at: &Place, step: &Step, result: &mut ValidationResult) {
    let at = at.key("check");
    match &step.check {
        Some(Check::Action { action, .. }) if !step.actions.iter().any(|found| found.kind == *action) => {
            let names: Vec<&str> = step.actions.iter().map(|action| action.kind.as_str()).collect();
            let remedy = match names.as_slice() {
                [] => "Add it to the step's `actions`, which has none.".to_owned(),
                names => {
                    format!("Add it to the step's `actions`, or name one of these: {}.", names.join(", "))
                }
            };
            result.error(&at.key("action"), action.as_str(), "the step has no action of this name", remedy);
        }
        Some(Check::Keyword { keywords: words, .. }) => {
            keywords(&at.key("keywords"), words, result);
            if step.prompt.is_none() && step.sub_steps.is_empty() {
                let what = "the step has no prompt, so nobody can say a word";
                result.error(&at, "keyword", what, "Give it a prompt, or another check.");
            }
        }
        Some(Check::Action { .. } | Check::Prompt { .. }) | None => {}
    }
}

/// Notes words that nobody can say, or that everybody says.
pub(super) fn keywords(at: &Place, words: &[String], result: &mut ValidationResult) {
    if words.is_empty() {
        result.error(at, Value::Array(Vec::new()), "there is no word to look for", "Write at least one.");
    }
    for (number, word) in words.iter().enumerate() {
        if word.trim().is_empty() {
            let what = "a blank word is in everything that is said";
            result.error(&at.item(number), word.as_str(), what, "Write a word that is only said on purpose.");
        }
    }
}
