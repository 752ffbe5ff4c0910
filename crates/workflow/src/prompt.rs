//! Prompts: where a reference leads among the files of a definition, and what the agent is told in the end.
//!
//! Every file was read when the definition was loaded, so that no reference leads out of the agent's directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use autonoe_core::fault::Fault;

use crate::definition::{AgentDefinition, AgentFile, PROMPTS_DIR, PromptRef};
use crate::faults;
use crate::template::{self, Template};
use crate::variables::{INPUT_TEXT, Variables};

/// The prompt that stands before every other, if the agent does not name one.
pub const SYSTEM_PROMPT: &str = "system.md";

/// The longest prompt, values included, in bytes.
pub const MAX_PROMPT_BYTES: usize = 1024 * 1024;

/// What is said to an agent that has no prompt of its own to begin with.
const BUILT_IN_SYSTEM: &str = include_str!("prompt/system.md");

/// Where that is, for people.
const BUILT_IN: &str = "(built in)";

/// Finds prompts and puts variables into them.
#[derive(Debug, Clone)]
pub struct PromptResolver {
    files: BTreeMap<String, String>,
    agent: AgentFile,
}

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The text, which is never empty.
    pub text: String,
    /// The file that it is from, in the agent's directory.
    pub path: String,
    /// The variables that have no value. They stand in the text as they were written.
    pub missing: BTreeSet<String>,
}

impl PromptResolver {
    /// A resolver of the prompts of this definition.
    pub fn new(definition: &AgentDefinition) -> Self {
        let below = |path: &str| path.strip_prefix(PROMPTS_DIR).is_some_and(|rest| rest.starts_with('/'));
        let files = definition.files.iter().filter(|(path, _)| below(path));
        Self {
            files: files.map(|(path, text)| (path.clone(), text.clone())).collect(),
            agent: definition.agent.clone(),
        }
    }

    /// The prompt that a reference leads to, with these values.
    pub fn resolve(&self, reference: &PromptRef, variables: &Variables) -> Result<Resolved, Fault> {
        self.first_of(&checked_paths_of(reference)?, variables)
    }

    /// The prompt that stands before every other in a new conversation, with these values.
    pub fn resolve_system(&self, variables: &Variables) -> Result<Resolved, Fault> {
        match &self.agent.system_prompt {
            Some(path) => self.resolve(&PromptRef::Path(path.clone()), variables),
            None if self.files.contains_key(&in_directory(SYSTEM_PROMPT)) => {
                self.resolve(&PromptRef::Path(SYSTEM_PROMPT.to_owned()), variables)
            }
            None => Ok(Resolved {
                text: BUILT_IN_SYSTEM.trim().to_owned(),
                path: BUILT_IN.to_owned(),
                missing: BTreeSet::new(),
            }),
        }
    }

    fn first_of(&self, paths: &[String], variables: &Variables) -> Result<Resolved, Fault> {
        let mut places = paths.iter().map(|path| in_directory(path));
        let Some((path, text)) = places.find_map(|place| self.files.get_key_value(&place)) else {
            let places: Vec<String> = paths.iter().map(|path| format!("`{}`", in_directory(path))).collect();
            let message = format!("There is no prompt at {}.", places.join(", nor at "));
            return Err(faults::PROMPT_NOT_FOUND.fault(message).hint(
                "Write the file, or change the reference; it is relative to the directory of prompts.",
            ));
        };
        let template = template::parse(text).map_err(|error| {
            faults::PROMPT_PARSE.fault(format!("{path}:{error}.")).hint("Fix the prompt at that place.")
        })?;
        self.filled(path, &template, variables)
    }

    fn filled(&self, path: &str, template: &Template, variables: &Variables) -> Result<Resolved, Fault> {
        let size = template.size(variables);
        if size > MAX_PROMPT_BYTES {
            let message =
                format!("{path} has {size} bytes with its values; a prompt has at most {MAX_PROMPT_BYTES}.");
            return Err(faults::PROMPT_PARSE
                .fault(message)
                .hint("Shorten it, or the values that it is given."));
        }
        let filled = template.fill(variables);
        if filled.text.is_empty() {
            let with = if template.variables().is_empty() { "" } else { " with the values that it is given" };
            let message = format!("{path} is empty{with}.");
            return Err(faults::PROMPT_NOT_FOUND
                .fault(message)
                .hint("Write down what the agent is told there."));
        }
        if self.agent.strict && !filled.missing.is_empty() {
            return Err(self.without_value(path, &filled.missing));
        }
        Ok(Resolved { text: filled.text, path: path.to_owned(), missing: filled.missing })
    }

    fn without_value(&self, path: &str, missing: &BTreeSet<String>) -> Fault {
        let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let message = match names.as_slice() {
            [name] => {
                format!("{path} names the variable {name}, which has no value, and the agent is strict.")
            }
            names => format!(
                "{path} names the variables {}, which have no value, and the agent is strict.",
                names.join(", ")
            ),
        };
        let mut hint = String::new();
        for name in missing {
            let _ = write!(hint, "{} ", self.how_to_give(name));
        }
        hint.push_str("Or take `strict` out of agent.json.");
        faults::PROMPT_VARIABLE.fault(message).hint(hint)
    }

    fn how_to_give(&self, name: &str) -> String {
        if name == INPUT_TEXT && self.agent.stdin {
            "Pipe a text into the command.".to_owned()
        } else if name == INPUT_TEXT {
            "Set `stdin` in agent.json to true, and pipe a text into the command.".to_owned()
        } else if self.agent.parameters.contains_key(name) {
            format!("Give it as --arg {name}=VALUE.")
        } else if self.agent.environment.iter().any(|known| known == name) {
            format!("Set the environment variable {name}.")
        } else {
            format!("Declare `{name}` under `parameters` in agent.json, or under `inputs` of the step.")
        }
    }
}

fn in_directory(path: &str) -> String {
    format!("{PROMPTS_DIR}/{path}")
}

/// Where a reference leads, in the directory of prompts: the first that is there is read.
pub fn paths_of(reference: &PromptRef) -> Vec<String> {
    match reference {
        PromptRef::Path(path) => vec![path.clone()],
        PromptRef::File(file) => {
            [Some(&file.path), file.fallback.as_ref()].into_iter().flatten().cloned().collect()
        }
        PromptRef::C3l(place) => {
            let plain = format!("{}/{}/{}/f_{}", place.c1, place.c2, place.c3, place.edition);
            let adapted = place.adaptation.as_ref().map(|adaptation| format!("{plain}_{adaptation}.md"));
            adapted.into_iter().chain([format!("{plain}.md")]).chain(place.fallback.clone()).collect()
        }
    }
}

/// Where a reference leads, if all of that is in the directory of prompts.
pub fn checked_paths_of(reference: &PromptRef) -> Result<Vec<String>, Fault> {
    let refused = |path: &str, why: &str| {
        let message = format!("The prompt `{path}` cannot be referred to: {why}.");
        faults::PROMPT_NOT_FOUND
            .fault(message)
            .hint("Write a path below the directory of prompts, such as `steps/plan.md`.")
    };
    if let PromptRef::C3l(place) = reference {
        let parts = [
            Some(&place.c1),
            Some(&place.c2),
            Some(&place.c3),
            Some(&place.edition),
            place.adaptation.as_ref(),
        ];
        if let Some(part) = parts.into_iter().flatten().find(|part| part.is_empty() || part.contains('/')) {
            return Err(refused(part, "a part of a place is neither empty nor has a slash in it"));
        }
    }
    let paths = paths_of(reference);
    match paths.iter().find_map(|path| Some((path, why_refused(path)?))) {
        Some((path, why)) => Err(refused(path, why)),
        None => Ok(paths),
    }
}

/// Why a path cannot be one below the directory of prompts.
fn why_refused(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("it is empty")
    } else if path.starts_with('/') {
        Some("it is absolute")
    } else if path.contains('\\') {
        Some("it has a backslash in it")
    } else if path.contains('\0') {
        Some("it has a NUL in it")
    } else if path.split('/').any(|part| part.is_empty()) {
        Some("a part of it is empty")
    } else if path.split('/').any(|part| matches!(part, "." | "..")) {
        Some("it has `.` or `..` in it")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
