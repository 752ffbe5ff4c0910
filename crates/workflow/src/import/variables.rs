//! The variables in climpt's prompts: their names, and where their values come from here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Importer;
use super::names::snake;
use crate::names::is_variable;
use crate::prompt_variables::RUNTIME_NAMES;
use crate::template;

/// What every placeholder starts with.
const PREFIX: &str = "{uv-";

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

/// Renames the variables of a prompt. climpt's first generation also accepts them without `uv-`.
pub(super) fn rewrite(
    text: &str,
    names: &BTreeMap<String, String>,
    agent: &str,
    first_generation: bool,
) -> RewrittenPrompt {
    let (mut rewritten, mut literal) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(start) = rest.find(PREFIX) {
        let (before, found) = rest.split_at(start);
        let name = &found[PREFIX.len()..];
        let name = &name[..name.find(['}', '\n']).unwrap_or(name.len())];
        let after = &found[PREFIX.len() + name.len()..];
        let is_closed = after.starts_with('}');
        rest = after.strip_prefix('}').unwrap_or(after);
        // `{{uv-name}}` is the same as `{uv-name}`.
        let (before, is_double) = match before.strip_suffix('{') {
            Some(outer) if is_closed && rest.starts_with('}') => (outer, true),
            _ => (before, false),
        };
        rewritten.push_str(before);
        if is_double {
            rest = &rest[1..];
        }
        if name == "agent_name" && is_closed {
            rewritten.push_str(agent);
        } else if is_closed && is_variable(name) {
            let new = names.get(name).cloned().unwrap_or_else(|| snake(name));
            rewritten.push_str(&format!("{PREFIX}{new}}}"));
        } else {
            let end = if is_closed { ")" } else { "" };
            literal.push(format!("{PREFIX}{name}{}", if is_closed { "}" } else { "" }));
            rewritten.push_str(&format!("(uv-{name}{end}"));
        }
    }
    rewritten.push_str(rest);
    let mut text = rewritten;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::rewrite;
    use crate::template;

    #[test]
    fn placeholders_are_renamed_and_others_become_text() {
        let names = BTreeMap::from([("theTask".to_owned(), "task".to_owned())]);
        for (text, first_generation, expected) in [
            ("{uv-theTask} {{uv-theTask}} {uv-otherOne}", false, "{uv-task} {uv-task} {uv-other_one}"),
            ("{\"a\": {uv-theTask}}", false, "{\"a\": {uv-task}}"),
            ("{{uv-theTask}", false, "{{uv-task}"),
            ("{uv-agent_name}!", false, "helper!"),
            ("{uv-} {uv-a b} {uv-open\nx", false, "(uv-) (uv-a b) (uv-open\nx"),
            ("{theTask} {{theTask}} {other}", true, "{uv-task} {uv-task} {other}"),
            ("{theTask}", false, "{theTask}"),
            ("---\na rule, not front matter", false, "\n---\na rule, not front matter"),
        ] {
            let rewritten = rewrite(text, &names, "helper", first_generation).text;
            assert_eq!(rewritten, expected, "{text}");
            assert!(template::parse(&rewritten).is_ok(), "{rewritten}");
        }
    }
}
