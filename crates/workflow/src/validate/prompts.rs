//! Prompts: that each is there, and that every variable in it is one that somebody supplies.

use std::collections::BTreeSet;

use super::problem::{Place, ValidationResult};
use crate::definition::{AgentDefinition, Check, Completion, PROMPTS_DIR, PromptRef, Resource, Step};
use crate::prompt::{SYSTEM_PROMPT, checked_paths_of, paths_of};
use crate::prompt_variables::RUNTIME_NAMES;
use crate::template;

/// The variables that have no value before the first iteration is over.
const OF_LATER_ITERATIONS: [&str; 3] = ["completed_iterations", "previous_summary", "previous_response"];

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    system(definition, result);
    for (id, step) in &definition.steps.steps {
        let at = Place::step(id);
        if let Some(prompt) = &step.prompt {
            let at = at.key("prompt");
            if let Some(file) = file(&at, definition, prompt, result) {
                variables(&at, definition, Some(step), &file, result);
                if *id == definition.steps.entry_step {
                    too_early(&at, definition, &file, result);
                }
            }
        }
        if let Some(Check::Prompt { prompt, .. }) = &step.check {
            let at = at.key("check").key("prompt");
            if let Some(file) = file(&at, definition, prompt, result) {
                variables(&at, definition, Some(step), &file, result);
            }
        }
    }
    issues(&Place::agent("completion"), definition, &definition.agent.completion, result);
}

fn system(definition: &AgentDefinition, result: &mut ValidationResult) {
    let at = Place::agent("systemPrompt");
    let named = definition.agent.system_prompt.as_ref().map(|path| PromptRef::Path(path.clone()));
    let is_there = definition.files.contains_key(&format!("{PROMPTS_DIR}/{SYSTEM_PROMPT}"));
    let prompt = named.or_else(|| is_there.then(|| PromptRef::Path(SYSTEM_PROMPT.to_owned())));
    if let Some(file) = prompt.and_then(|prompt| file(&at, definition, &prompt, result)) {
        variables(&at, definition, None, &file, result);
    }
}

/// The file that would be read, if it is there.
fn file(
    at: &Place,
    definition: &AgentDefinition,
    prompt: &PromptRef,
    result: &mut ValidationResult,
) -> Option<String> {
    let written = paths_of(prompt).first().cloned().unwrap_or_default();
    let paths = match checked_paths_of(prompt) {
        Ok(paths) => paths,
        Err(fault) => {
            let remedy = "Write a path such as steps/plan.md, without `..` and not from the root.";
            let what = "that is not a path below the directory of prompts";
            result.error(at, written, format!("{what} ({})", fault.message.trim_end_matches('.')), remedy);
            return None;
        }
    };
    let files: Vec<String> = paths.iter().map(|path| format!("{PROMPTS_DIR}/{path}")).collect();
    let Some(file) = files.iter().find(|file| definition.files.contains_key(*file)) else {
        let what = match files.as_slice() {
            [file] => format!("there is no {file}"),
            files => format!("there is neither {}", files.join(" nor ")),
        };
        result.error(at, written, what, format!("Write the prompt into {PROMPTS_DIR}/{}.", paths[0]));
        return None;
    };
    if let Some(missing) =
        fallback(prompt).filter(|path| !definition.files.contains_key(&format!("{PROMPTS_DIR}/{path}")))
    {
        let what = "the fallback is not there, though it is not needed now";
        result.warning(at, missing, what, format!("Write {PROMPTS_DIR}/{missing}, or take it away."));
    }
    if definition.files[file].trim().is_empty() {
        result.error(at, written, format!("{file} is empty"), "Write the prompt into it.");
    }
    Some(file.clone())
}

fn fallback(prompt: &PromptRef) -> Option<&str> {
    match prompt {
        PromptRef::Path(_) => None,
        PromptRef::File(file) => file.fallback.as_deref(),
        PromptRef::C3l(place) => place.fallback.as_deref(),
    }
}

/// Notes every variable of a file that nobody supplies.
fn variables(
    at: &Place,
    definition: &AgentDefinition,
    step: Option<&Step>,
    file: &str,
    result: &mut ValidationResult,
) {
    let template = match template::parse(&definition.files[file]) {
        Ok(template) => template,
        Err(error) => {
            result.error(at, file, format!("{file}:{error}"), "Fix the prompt at that place.");
            return;
        }
    };
    for name in template.variables() {
        let is_input = step.is_some_and(|step| step.inputs.contains_key(&name));
        if name == "input_text" && !definition.agent.stdin {
            let what = format!("{file} uses {{uv-{name}}}, and the agent does not read its standard input");
            result.warning(at, name, what, "Set `stdin` of agent.json to true.");
        } else if !is_input && !is_declared(definition, &name) {
            let what = format!("{file} uses {{uv-{name}}}, and nothing supplies it");
            let remedy = format!(
                "Add {name} to `parameters` or `environment` of agent.json or to the step's `inputs`, or take it out of the prompt."
            );
            result.error(at, name, what, remedy);
        }
    }
}

/// Notes variables of the first step that have no value yet when that is run first.
fn too_early(at: &Place, definition: &AgentDefinition, file: &str, result: &mut ValidationResult) {
    for name in placeholders(&definition.files[file]) {
        if OF_LATER_ITERATIONS.contains(&name.as_str()) {
            let what = format!("{file} uses {{uv-{name}}}, which has no value in the first iteration");
            result.warning(at, name, what, "Use it in a step that comes later.");
        }
    }
}

/// Notes variables that nobody supplies in the name of an issue.
fn issues(at: &Place, definition: &AgentDefinition, completion: &Completion, result: &mut ValidationResult) {
    match completion {
        Completion::ExternalState { resource: Resource::GithubIssue { issue, repository }, .. } => {
            for (field, text) in [("issue", issue), ("repository", repository)] {
                for name in placeholders(text) {
                    if !is_declared(definition, &name) {
                        let what = format!("it uses {{uv-{name}}}, and nothing supplies that");
                        let remedy = format!("Add {name} to `parameters` or `environment`.");
                        result.error(&at.key("resource").key(field), text.as_str(), what, remedy);
                    }
                }
            }
        }
        Completion::Composite { conditions, .. } => {
            for (number, condition) in conditions.iter().enumerate() {
                issues(&at.key("conditions").item(number), definition, condition, result);
            }
        }
        Completion::ExternalState { resource: Resource::Command { .. } | Resource::File { .. }, .. }
        | Completion::IterationBudget { .. }
        | Completion::CheckBudget { .. }
        | Completion::KeywordSignal { .. }
        | Completion::StructuredSignal { .. }
        | Completion::StepMachine
        | Completion::Custom { .. } => {}
    }
}

fn is_declared(definition: &AgentDefinition, name: &str) -> bool {
    let agent = &definition.agent;
    agent.parameters.contains_key(name)
        || agent.environment.iter().any(|variable| variable == name)
        || RUNTIME_NAMES.contains(&name)
}

/// The variables of a text; of a malformed one none, and that is another problem.
fn placeholders(text: &str) -> BTreeSet<String> {
    template::parse(text).map(|template| template.variables()).unwrap_or_default()
}
