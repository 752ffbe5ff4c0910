//! The variables in climpt's prompts: their names, and where their values come from here.

use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::Importer;
use super::names::snake;
use crate::names::is_variable;
use crate::prompt_variables::RUNTIME_NAMES;
use crate::template;

/// Names of the variables of climpt's runner, with ours.
const OF_THE_RUNNER: [(&str, &str); 3] = [
    ("verdict_criteria", "completion_criteria"),
    ("verdict_keyword", "completion_keyword"),
    ("completed_steps", "completed_iterations"),
];

/// Variables that climpt derives from a parameter, with that parameter.
const OF_A_PARAMETER: [(&str, &str); 2] = [("issue_number", "issue"), ("project_number", "project")];

/// A prompt with our placeholders.
pub(super) struct RewrittenPrompt {
    pub(super) text: String,
    /// Placeholders that name no variable and became text.
    pub(super) literal: Vec<String>,
}

/// Renames the variables of a prompt. `braces` are the names that climpt's first generation also accepted without `uv-`.
pub(super) fn rewrite(
    text: &str,
    names: &BTreeMap<String, String>,
    agent: &str,
    first_generation: bool,
) -> RewrittenPrompt {
    let mut literal = Vec::new();
    // Both are constant and valid.
    let prefixed = Regex::new(r"\{(\{?)uv-([^}\n]*)(\}?)(\}?)").expect("a valid expression");
    let text = prefixed.replace_all(text, |found: &Captures<'_>| {
        let name = &found[2];
        if name == "agent_name" {
            return agent.to_owned();
        }
        if found[3].is_empty() || !is_variable(name) {
            literal.push(found[0].to_owned());
            return found[0].replace("{uv-", "(uv-").replace('}', ")");
        }
        let new = names.get(name).cloned().unwrap_or_else(|| snake(name));
        let rest = if found[1].is_empty() { &found[4] } else { "" };
        format!("{{uv-{new}}}{rest}")
    });
    let mut text = text.into_owned();
    if first_generation {
        for (old, new) in names {
            for bare in [format!("{{{{{old}}}}}"), format!("{{{old}}}")] {
                text = text.replace(&bare, &format!("{{uv-{new}}}"));
            }
        }
    }
    if template::parse(&text).is_err() {
        // What is left is front matter that is not closed: a rule at the top.
        text.insert(0, '\n');
    }
    RewrittenPrompt { text, literal }
}

impl Importer<'_> {
    /// The new names of variables, by their names in prompts.
    pub(super) fn names_in_prompts(&self) -> BTreeMap<String, String> {
        let mut names = self.renamed.clone();
        names.extend(self.parameters.keys().map(|name| (name.clone(), name.clone())));
        names.extend(OF_THE_RUNNER.map(|(old, new)| (old.to_owned(), new.to_owned())));
        for (derived, parameter) in OF_A_PARAMETER {
            if self.parameters.contains_key(parameter) && !self.parameters.contains_key(derived) {
                names.insert(derived.to_owned(), parameter.to_owned());
            }
        }
        names
    }

    /// Declares every variable of the prompts: as an input where another step hands it over, otherwise as a parameter.
    pub(super) fn declare_variables(&mut self) {
        let mut added = BTreeSet::new();
        for (step, path) in self.prompt_of.clone() {
            for name in self.undeclared(&path, Some(&step)) {
                match self.handed_over(&name) {
                    Some(from) => self.add_input(&step, &name, &from),
                    None => drop(added.insert(name)),
                }
            }
        }
        // The prompts of checks and the system prompt belong to no step.
        for path in self.prompts.keys().cloned().collect::<Vec<_>>() {
            let of_step = self.prompt_of.values().any(|found| *found == path);
            if !of_step {
                added.extend(self.undeclared(&path, None));
            }
        }
        if added.is_empty() {
            return;
        }
        for name in &added {
            let description = "Set by climpt's runner in the original";
            self.parameters
                .insert(name.clone(), json!({ "type": "string", "description": description, "default": "" }));
        }
        let names: Vec<&str> = added.iter().map(String::as_str).collect();
        let what = format!(
            "climpt's runner sets these variables, or nothing did; they are parameters with an empty default: {}.",
            names.join(", ")
        );
        self.report.change("prompts", what);
    }

    /// The variables of a prompt that nothing sets.
    fn undeclared(&mut self, path: &str, step: Option<&str>) -> Vec<String> {
        let Ok(template) = template::parse(&self.prompts[path]) else { return Vec::new() };
        let inputs = step.and_then(|step| self.steps.get(step)?.get("inputs")?.as_object().cloned());
        let variables = template.variables();
        if variables.contains("input_text") {
            self.reads_input = true;
        }
        let is_declared = |name: &String| {
            self.parameters.contains_key(name)
                || RUNTIME_NAMES.contains(&name.as_str())
                || inputs.as_ref().is_some_and(|inputs| inputs.contains_key(name))
        };
        variables.into_iter().filter(|name| !is_declared(name)).collect()
    }

    /// The step and field that a variable named after both comes from: `initial_issue_status` is `initial.issue` and `status`.
    fn handed_over(&self, variable: &str) -> Option<String> {
        self.source.steps.iter().find_map(|(old, step)| {
            let prefix = format!("{}_", snake(&old.replace('.', "_")));
            let key = variable.strip_prefix(&prefix)?;
            let name = self.step_names.get(old).filter(|name| self.has_output(name))?;
            let fields = step.pointer("/structuredGate/handoffFields")?.as_array()?;
            let field = fields.iter().filter_map(Value::as_str).find(|field| last_part(field) == key)?;
            Some(format!("{name}.{field}"))
        })
    }

    pub(super) fn has_output(&self, step: &str) -> bool {
        self.steps.get(step).is_some_and(|step| step.contains_key("output"))
    }

    fn add_input(&mut self, step: &str, name: &str, from: &str) {
        if let Some(step) = self.steps.get_mut(step) {
            let inputs = step.entry("inputs").or_insert_with(|| json!({}));
            inputs[name] = json!({ "from": from, "required": false, "default": "" });
        }
    }
}

pub(super) fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
