//! Prompts: each one exists, and all of its variables are defined.

use std::collections::BTreeSet;

use crate::definition::{AgentDefinition, Completion, PROMPTS_DIR, PromptRef, Resource, Step, StepCheck};
use crate::json_location::JsonLocation;
use crate::problem::ValidationResult;
use crate::prompt::{SYSTEM_PROMPT, checked_paths_of, paths_of};
use crate::prompt_variables::RUNTIME_NAMES;
use crate::template;

/// Variables that have no value in the first iteration.
const AFTER_FIRST_ITERATION: [&str; 3] = ["completed_iterations", "previous_summary", "previous_response"];

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    system(definition, result);
    for (id, step) in &definition.steps.steps {
        let at = JsonLocation::step(id);
        if let Some(prompt) = &step.prompt {
            let at = at.key("prompt");
            if let Some(file) = file(&at, definition, prompt, result) {
                variables(&at, definition, Some((id, step)), &file, result);
                if *id == definition.steps.entry_step {
                    too_early(&at, definition, &file, result);
                }
            }
        }
        if let Some(StepCheck::Prompt { prompt, .. }) = &step.check {
            let at = at.key("check").key("prompt");
            if let Some(file) = file(&at, definition, prompt, result) {
                variables(&at, definition, Some((id, step)), &file, result);
            }
        }
    }
    issues(&JsonLocation::agent("completion"), definition, &definition.agent.completion, result);
}

fn system(definition: &AgentDefinition, result: &mut ValidationResult) {
    let at = JsonLocation::agent("systemPrompt");
    let named = definition.agent.system_prompt.as_ref().map(|path| PromptRef::Path(path.clone()));
    let exists = definition.files.contains_key(&format!("{PROMPTS_DIR}/{SYSTEM_PROMPT}"));
    let prompt = named.or_else(|| exists.then(|| PromptRef::Path(SYSTEM_PROMPT.to_owned())));
    if let Some(file) = prompt.and_then(|prompt| file(&at, definition, &prompt, result)) {
        variables(&at, definition, None, &file, result);
    }
}

/// The file that would be used, if it exists.
fn file(
    at: &JsonLocation,
    definition: &AgentDefinition,
    prompt: &PromptRef,
    result: &mut ValidationResult,
) -> Option<String> {
    let written = paths_of(prompt).first().cloned().unwrap_or_default();
    let paths = match checked_paths_of(prompt) {
        Ok(paths) => paths,
        Err(fault) => {
            let remedy = "Use a relative path such as steps/plan.md, without `..`.";
            let what = "it is not a path inside the prompts directory";
            result.error(at, written, format!("{what} ({})", fault.message.trim_end_matches('.')), remedy);
            return None;
        }
    };
    let files: Vec<String> = paths.iter().map(|path| format!("{PROMPTS_DIR}/{path}")).collect();
    if files.iter().any(|file| result.unread.has_file(file)) {
        return None;
    }
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
        let what = "the fallback does not exist; it is not needed at the moment";
        result.warning(at, missing, what, format!("Write {PROMPTS_DIR}/{missing}, or remove the fallback."));
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
        PromptRef::C3l(c3l) => c3l.fallback.as_deref(),
    }
}

/// Reports every undefined variable of a file.
fn variables(
    at: &JsonLocation,
    definition: &AgentDefinition,
    step: Option<(&str, &Step)>,
    file: &str,
    result: &mut ValidationResult,
) {
    let template = match template::parse(&definition.files[file]) {
        Ok(template) => template,
        Err(error) => {
            result.error(at, file, format!("{file}:{error}"), "Fix the prompt at that position.");
            return;
        }
    };
    for name in template.variables() {
        let is_input = step.is_some_and(|(_, step)| step.inputs.contains_key(&name));
        if name == "input_text" && !definition.agent.stdin {
            let what = format!("{file} uses {{uv-{name}}}, but the agent does not read standard input");
            result.warning(at, name, what, "Set `stdin` of agent.json to true.");
        } else if !is_input
            && !is_declared(definition, &name)
            && !may_be_declared(step.map(|(id, _)| id), result)
        {
            let what = format!("{file} uses {{uv-{name}}}, which is not defined");
            let remedy = format!(
                "Add {name} to `parameters` or `environment` of agent.json or to the step's `inputs`, or remove it from the prompt."
            );
            result.error(at, name, what, remedy);
        }
    }
}

/// Warns about variables of the entry step that have no value in the first iteration.
fn too_early(at: &JsonLocation, definition: &AgentDefinition, file: &str, result: &mut ValidationResult) {
    for name in placeholders(&definition.files[file]) {
        if AFTER_FIRST_ITERATION.contains(&name.as_str()) {
            let what = format!("{file} uses {{uv-{name}}}, which has no value in the first iteration");
            result.warning(at, name, what, "Use it in a later step.");
        }
    }
}

/// Reports undefined variables in the reference to an issue.
fn issues(
    at: &JsonLocation,
    definition: &AgentDefinition,
    completion: &Completion,
    result: &mut ValidationResult,
) {
    match completion {
        Completion::ExternalState { resource: Resource::GithubIssue { issue, repository }, .. } => {
            for (field, text) in [("issue", issue), ("repository", repository)] {
                for name in placeholders(text) {
                    if !is_declared(definition, &name) && !may_be_declared(None, result) {
                        let what = format!("it uses {{uv-{name}}}, which is not defined");
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

/// Whether the declaration may be in a part of the files that could not be read.
fn may_be_declared(step: Option<&str>, result: &ValidationResult) -> bool {
    let unread = &result.unread;
    let of_agent = ["parameters", "environment"].map(JsonLocation::agent);
    of_agent.iter().any(|field| unread.covers(field))
        || step.is_some_and(|id| unread.touches(&JsonLocation::step(id).key("inputs")))
}

/// The variables of a text; empty if it is malformed, which is reported as a problem of its own.
fn placeholders(text: &str) -> BTreeSet<String> {
    template::parse(text).map(|template| template.variables()).unwrap_or_default()
}
