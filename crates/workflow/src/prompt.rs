//! Prompts: finds the file that a reference points to, and fills in its variables.
//!
//! All files were read when the definition was loaded, so that no reference can reach outside of the agent's directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use autonoe_core::fault::Fault;

use crate::definition::{AgentDefinition, AgentFile, PROMPTS_DIR, PromptRef};
use crate::faults;
use crate::template::{self, Template};
use crate::variables::{INPUT_TEXT, Variables};

/// The default system prompt.
pub const SYSTEM_PROMPT: &str = "system.md";

/// The longest prompt after filling in its values, in bytes.
pub const MAX_PROMPT_BYTES: usize = 1024 * 1024;

/// The system prompt of an agent that has none of its own.
const BUILT_IN_SYSTEM: &str = include_str!("prompt/system.md");

/// Shown as the path of [`BUILT_IN_SYSTEM`].
const BUILT_IN: &str = "(built in)";

/// Finds prompts and fills in their variables.
#[derive(Debug, Clone)]
pub struct PromptResolver {
    files: BTreeMap<String, String>,
    agent: AgentFile,
}

/// A prompt with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPrompt {
    /// Never empty.
    pub text: String,
    /// The file, relative to the agent's directory.
    pub path: String,
    /// Variables without a value. Their placeholders stay in the text.
    pub missing: BTreeSet<String>,
}

impl PromptResolver {
    pub fn new(definition: &AgentDefinition) -> Self {
        let below = |path: &str| path.strip_prefix(PROMPTS_DIR).is_some_and(|rest| rest.starts_with('/'));
        let files = definition.files.iter().filter(|(path, _)| below(path));
        Self {
            files: files.map(|(path, text)| (path.clone(), text.clone())).collect(),
            agent: definition.agent.clone(),
        }
    }

    /// The prompt that a reference points to, with these values.
    pub fn resolve(&self, reference: &PromptRef, variables: &Variables) -> Result<ResolvedPrompt, Fault> {
        self.first_of(&checked_paths_of(reference)?, variables)
    }

    /// The system prompt, with these values.
    pub fn resolve_system(&self, variables: &Variables) -> Result<ResolvedPrompt, Fault> {
        match &self.agent.system_prompt {
            Some(path) => self.resolve(&PromptRef::Path(path.clone()), variables),
            None if self.files.contains_key(&in_directory(SYSTEM_PROMPT)) => {
                self.resolve(&PromptRef::Path(SYSTEM_PROMPT.to_owned()), variables)
            }
            None => Ok(ResolvedPrompt {
                text: BUILT_IN_SYSTEM.trim().to_owned(),
                path: BUILT_IN.to_owned(),
                missing: BTreeSet::new(),
            }),
        }
    }

    fn first_of(&self, paths: &[String], variables: &Variables) -> Result<ResolvedPrompt, Fault> {
        let mut files = paths.iter().map(|path| in_directory(path));
        let Some((path, text)) = files.find_map(|file| self.files.get_key_value(&file)) else {
            let files: Vec<String> = paths.iter().map(|path| format!("`{}`", in_directory(path))).collect();
            let message = format!("There is no prompt at {}.", files.join(" or "));
            return Err(faults::PROMPT_NOT_FOUND
                .fault(message)
                .hint("Create the file, or fix the reference, which is relative to the prompts directory."));
        };
        let template = template::parse(text).map_err(|error| {
            faults::PROMPT_PARSE.fault(format!("{path}:{error}.")).hint("Fix the prompt at that position.")
        })?;
        self.fill(path, &template, variables)
    }

    fn fill(&self, path: &str, template: &Template, variables: &Variables) -> Result<ResolvedPrompt, Fault> {
        let size = template.size(variables);
        if size > MAX_PROMPT_BYTES {
            let message = format!(
                "{path} has {size} bytes with its values filled in; the limit is {MAX_PROMPT_BYTES}."
            );
            return Err(faults::PROMPT_PARSE.fault(message).hint("Shorten the prompt or the values."));
        }
        let filled = template.fill(variables);
        if filled.text.is_empty() {
            let with = if template.variables().is_empty() { "" } else { " with its values filled in" };
            let message = format!("{path} is empty{with}.");
            return Err(faults::PROMPT_NOT_FOUND
                .fault(message)
                .hint("Write the instructions of the step in it."));
        }
        if self.agent.strict && !filled.missing.is_empty() {
            return Err(self.without_value(path, &filled.missing));
        }
        Ok(ResolvedPrompt { text: filled.text, path: path.to_owned(), missing: filled.missing })
    }

    fn without_value(&self, path: &str, missing: &BTreeSet<String>) -> Fault {
        let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let message = match names.as_slice() {
            [name] => {
                format!("{path} uses the variable {name}, which has no value, and the agent is strict.")
            }
            names => format!(
                "{path} uses the variables {}, which have no value, and the agent is strict.",
                names.join(", ")
            ),
        };
        let mut hint = String::new();
        for name in missing {
            let _ = write!(hint, "{} ", self.how_to_set(name));
        }
        hint.push_str("Or remove `strict` from agent.json.");
        faults::PROMPT_VARIABLE.fault(message).hint(hint)
    }

    fn how_to_set(&self, name: &str) -> String {
        if name == INPUT_TEXT && self.agent.stdin {
            "Pipe text into the command.".to_owned()
        } else if name == INPUT_TEXT {
            "Set `stdin` in agent.json to true, and pipe text into the command.".to_owned()
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

/// The candidate paths of a reference, relative to the prompts directory. The first one that exists is used.
pub fn paths_of(reference: &PromptRef) -> Vec<String> {
    match reference {
        PromptRef::Path(path) => vec![path.clone()],
        PromptRef::File(file) => {
            [Some(&file.path), file.fallback.as_ref()].into_iter().flatten().cloned().collect()
        }
        PromptRef::C3l(c3l) => {
            let plain = format!("{}/{}/{}/f_{}", c3l.c1, c3l.c2, c3l.c3, c3l.edition);
            let adapted = c3l.adaptation.as_ref().map(|adaptation| format!("{plain}_{adaptation}.md"));
            adapted.into_iter().chain([format!("{plain}.md")]).chain(c3l.fallback.clone()).collect()
        }
    }
}

/// The candidate paths of a reference; a fault if one of them is not inside the prompts directory.
pub fn checked_paths_of(reference: &PromptRef) -> Result<Vec<String>, Fault> {
    let invalid = |path: &str, why: &str| {
        let message = format!("The prompt reference `{path}` is invalid: {why}.");
        faults::PROMPT_NOT_FOUND
            .fault(message)
            .hint("Use a path inside the prompts directory, such as `steps/plan.md`.")
    };
    if let PromptRef::C3l(c3l) = reference {
        let parts =
            [Some(&c3l.c1), Some(&c3l.c2), Some(&c3l.c3), Some(&c3l.edition), c3l.adaptation.as_ref()];
        if let Some(part) = parts.into_iter().flatten().find(|part| part.is_empty() || part.contains('/')) {
            return Err(invalid(part, "its parts must not be empty or contain a slash"));
        }
    }
    let paths = paths_of(reference);
    match paths.iter().find_map(|path| Some((path, path_problem(path)?))) {
        Some((path, why)) => Err(invalid(path, why)),
        None => Ok(paths),
    }
}

/// Why a path is not inside the prompts directory; `None` if it is.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("it is empty")
    } else if path.starts_with('/') {
        Some("it is absolute")
    } else if path.contains('\\') {
        Some("it contains a backslash")
    } else if path.contains('\0') {
        Some("it contains a NUL")
    } else if path.split('/').any(|part| part.is_empty()) {
        Some("a part of it is empty")
    } else if path.split('/').any(|part| matches!(part, "." | "..")) {
        Some("it contains `.` or `..`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
