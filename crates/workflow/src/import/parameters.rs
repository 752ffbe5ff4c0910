//! The parameters of a climpt agent.

use serde_json::{Map, Value, json};

use super::Importer;
use super::names::snake;
use crate::definition::AgentParameter;
use crate::parameters::{full_match, problem_with};
use crate::prompt_variables::RUNTIME_NAMES;

/// Parameters that climpt's runner interprets itself, with what to use instead.
const OF_THE_RUNNER: [(&str, &str); 4] = [
    ("iterate_max", "Set `maxIterations` in agent.json; --max-iterations limits a single run."),
    ("resume", "`autonoe agent run NAME --resume` resumes any agent."),
    ("branch", "Every run works in a workspace of its own, on a branch of its own."),
    ("base_branch", "Every run starts from the branch of your checkout and lands there."),
];

impl Importer<'_> {
    pub(super) fn import_parameters(&mut self) {
        let Some(parameters) = self.source.agent.get("parameters").and_then(Value::as_object) else { return };
        let mut flags = Vec::new();
        for (old, parameter) in parameters {
            let mut name = snake(old);
            if RUNTIME_NAMES.contains(&name.as_str()) || self.parameters.contains_key(&name) {
                name = format!("given_{name}");
            }
            let place = format!("agent.json, $.parameters.{old}");
            if let Some((_, instead)) = OF_THE_RUNNER.iter().find(|(of_runner, _)| *of_runner == name)
                && !self.is_used(old, &name)
            {
                self.report.drop(&place, "It is for climpt's own runner.", *instead);
                continue;
            }
            if name != *old {
                self.renamed.insert(old.clone(), name.clone());
            }
            let converted = self.parameter(&place, parameter);
            self.parameters.insert(name.clone(), converted);
            let flag = parameter.get("cli").and_then(Value::as_str).unwrap_or(old);
            flags.push(format!("{flag} is now --arg {name}=VALUE"));
        }
        if !flags.is_empty() {
            self.report.change("agent.json, $.parameters", format!("{}.", flags.join(", ")));
        }
    }

    /// Whether a prompt has this variable, under its old or its new name.
    fn is_used(&self, old: &str, new: &str) -> bool {
        let placeholders = [format!("{{uv-{old}}}"), format!("{{uv-{new}}}")];
        let is_in = |text: &String| placeholders.iter().any(|placeholder| text.contains(placeholder));
        self.source.files.iter().any(|(path, text)| path.ends_with(".md") && is_in(text))
    }

    fn parameter(&mut self, place: &str, parameter: &Value) -> Value {
        let kind = parameter.get("type").and_then(Value::as_str).unwrap_or("string");
        let kind = match kind {
            "string" | "number" | "boolean" | "array" => kind,
            other => {
                self.report.change(place, format!("The type {other} is unknown; it is a string now."));
                "string"
            }
        };
        let mut converted = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        let text = |name: &str| parameter.get(name).and_then(Value::as_str);
        if let Some(description) = text("description") {
            converted.insert("description".to_owned(), description.into());
        }
        let is_required = parameter.get("required").and_then(Value::as_bool).unwrap_or(false);
        if is_required {
            converted.insert("required".to_owned(), true.into());
        }
        if let Some(rules) = self.validation(place, kind, parameter.get("validation")) {
            converted.insert("validation".to_owned(), rules);
        }
        if let Some(default) = parameter.get("default").filter(|default| !default.is_null() && !is_required) {
            let mut with_default = converted.clone();
            with_default.insert("default".to_owned(), default.clone());
            let typed = serde_json::from_value::<AgentParameter>(Value::Object(with_default.clone())).ok();
            match typed.and_then(|typed| problem_with(&typed, default)) {
                None => converted = with_default,
                Some(problem) => {
                    let instead = "Write a default that fits into agent.json.";
                    self.report.drop(place, format!("Its default is {default}, {problem}."), instead);
                }
            }
        }
        Value::Object(converted)
    }

    /// The constraints that a parameter of this type can have.
    fn validation(&mut self, place: &str, kind: &str, rules: Option<&Value>) -> Option<Value> {
        let rules = rules?.as_object()?;
        let mut kept = Map::new();
        for (name, rule) in rules {
            let fits = match name.as_str() {
                "min" | "max" => kind == "number" && rule.is_number(),
                "pattern" => {
                    matches!(kind, "string" | "array")
                        && rule.as_str().is_some_and(|rule| full_match(rule).is_ok())
                }
                "enum" => rule.as_array().is_some_and(|choices| {
                    !choices.is_empty()
                        && choices.iter().all(|choice| choice.is_string() == (kind != "number"))
                }),
                _ => false,
            };
            match fits {
                true => drop(kept.insert(name.clone(), rule.clone())),
                false => {
                    let what = format!("`{name}` of its validation does not apply to the type {kind} here.");
                    self.report.drop(
                        place,
                        what,
                        "Add a constraint to agent.json that docs/declarative-agents.md names.",
                    );
                }
            }
        }
        (!kept.is_empty()).then(|| json!(kept))
    }
}
