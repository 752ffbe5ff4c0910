//! Prompts: that each is there, and that every variable in it is one that somebody supplies.

use std::collections::BTreeSet;

use regex::Regex;

use super::parameters::RUNTIME_VARIABLES;
use super::problem::{Place, ValidationResult};
use crate::definition::{AgentDefinition, Check, Completion, PROMPTS_DIR, PromptRef, Resource, Step};
use crate::names;

/// The variables that have no value before the first iteration is over.
const OF_LATER_ITERATIONS: [&str; 3] = ["completed_iterations", "previous_summary", "previous_response"];

/// The prompt that stands before every other if the definition names none.
const SYSTEM_PROMPT: &str = "system.md";

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
    let (path, fallback) = paths(prompt);
    let mut is_wrong = false;
    for path in [Some(&path), fallback.as_ref()].into_iter().flatten() {
        if !names::is_path_below(path) {
            let what = "that is no path below the directory of prompts";
            let remedy = "Write a path such as steps/plan.md, without `..` and not from the root.";
            result.error(at, path.as_str(), what, remedy);
            is_wrong = true;
        }
    }
    if is_wrong {
        return None;
    }
    let in_files = |path: &String| {
        Some(format!("{PROMPTS_DIR}/{path}")).filter(|file| definition.files.contains_key(file))
    };
    let (first, second) = (in_files(&path), fallback.as_ref().and_then(in_files));
    if let (Some(_), Some(fallback), None) = (&first, &fallback, &second) {
        let what = "the fallback is not there, though it is not needed now";
        result.warning(
            at,
            fallback.as_str(),
            what,
            format!("Write {PROMPTS_DIR}/{fallback}, or take it away."),
        );
    }
    let Some(file) = first.or(second) else {
        let what = match &fallback {
            Some(fallback) => format!("there is neither {PROMPTS_DIR}/{path} nor {PROMPTS_DIR}/{fallback}"),
            None => format!("there is no {PROMPTS_DIR}/{path}"),
        };
        result.error(at, path.as_str(), what, format!("Write the prompt into {PROMPTS_DIR}/{path}."));
        return None;
    };
    if definition.files[&file].trim().is_empty() {
        result.error(at, path.as_str(), format!("{file} is empty"), "Write the prompt into it.");
    }
    Some(file)
}

/// The paths of a prompt below the directory of prompts: its own, and the one that is read without it.
fn paths(prompt: &PromptRef) -> (String, Option<String>) {
    match prompt {
        PromptRef::Path(path) => (path.clone(), None),
        PromptRef::File(file) => (file.path.clone(), file.fallback.clone()),
        PromptRef::C3l(place) => {
            let adaptation = place.adaptation.as_ref().map(|name| format!("_{name}")).unwrap_or_default();
            let name = format!("f_{}{adaptation}.md", place.edition);
            (format!("{}/{}/{}/{name}", place.c1, place.c2, place.c3), place.fallback.clone())
        }
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
    for name in placeholders(&definition.files[file]) {
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
        || RUNTIME_VARIABLES.contains(&name)
}

/// The variables of a text.
fn placeholders(text: &str) -> BTreeSet<String> {
    let Ok(pattern) = Regex::new(r"\{uv-([A-Za-z_][A-Za-z0-9_-]*)\}") else { return BTreeSet::new() };
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}
