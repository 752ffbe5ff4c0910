//! The completion type of a climpt agent, under all of its names.

use serde_json::{Map, Value, json};

use super::Importer;
use super::source::{Generation, StepsDialect};

/// The iterations after which an agent of the first generation ends, done or not.
const FIRST_ITERATIONS: u64 = 100;
/// The default of the second generation.
const SECOND_ITERATIONS: u64 = 10;
const DEFAULT_CHECKS: u64 = 10;
const DEFAULT_KEYWORD: &str = "TASK_COMPLETE";
/// The most iterations that an agent can have here.
const MOST_ITERATIONS: u64 = 10_000;

const PLACE: &str = "agent.json, completion type";

impl Importer<'_> {
    /// The iterations after which the agent ends.
    pub(super) fn max_iterations(&self) -> u64 {
        let default = match self.source.generation {
            Generation::First => FIRST_ITERATIONS,
            Generation::Second => SECOND_ITERATIONS,
        };
        iterations(self.source.completion_config(), default)
    }

    /// The completion condition in our format.
    pub(super) fn completion(&mut self) -> Value {
        let source = self.source;
        let (kind, config) = (source.completion_type(), source.completion_config());
        let condition = self.condition(kind, config);
        let has_flow = matches!(source.dialect, StepsDialect::StepFlow | StepsDialect::Gates);
        let kind_of = |condition: &Value| condition["type"].as_str().unwrap_or_default().to_owned();
        let condition = match (has_flow, kind_of(&condition).as_str()) {
            // The steps of a map have no end of their own.
            (false, "stepMachine") => self.budget(),
            (true, "stepMachine") if !self.can_end() => self.budget(),
            (true, "composite") if condition["mode"] == "any" => {
                let mut condition = condition;
                if let Some(conditions) = condition["conditions"].as_array_mut()
                    && !conditions.iter().any(|part| part["type"] == "stepMachine")
                {
                    conditions.insert(0, json!({ "type": "stepMachine" }));
                }
                condition
            }
            (true, "stepMachine" | "composite") | (false, _) => condition,
            // In climpt, a step that closes ends the agent whatever its type is.
            (true, _) => {
                json!({ "type": "composite", "mode": "any", "conditions": [{ "type": "stepMachine" }, condition] })
            }
        };
        self.report.carry(PLACE, format!("{kind} is now {}.", words(&condition)));
        condition
    }

    fn budget(&self) -> Value {
        json!({ "type": "iterationBudget", "maxIterations": self.max_iterations() })
    }

    /// Whether a transition leads to the end of the steps.
    fn can_end(&self) -> bool {
        self.steps.values().any(|step| {
            let targets = step.get("branch").and_then(|branch| branch.get("targets")?.as_object());
            match targets {
                Some(targets) => targets.values().any(Value::is_null),
                None => {
                    let completes =
                        |at: &str| step.get("check").and_then(|check| check.pointer(at)).is_some();
                    !step.contains_key("next") || completes("/onPass/complete")
                }
            }
        })
    }

    fn condition(&mut self, kind: &str, config: &Value) -> Value {
        let number =
            |name: &str, default: u64| config.get(name).and_then(Value::as_u64).unwrap_or(default).max(1);
        match kind {
            "iterationBudget" | "iterate" | "count:iteration" => {
                json!({ "type": "iterationBudget", "maxIterations": iterations(config, self.max_iterations()) })
            }
            "checkBudget" | "count:check" => {
                json!({ "type": "checkBudget", "maxChecks": number("maxChecks", DEFAULT_CHECKS) })
            }
            "keywordSignal" | "manual" | "detect:keyword" => {
                let keyword = ["completionKeyword", "verdictKeyword", "keyword"].into_iter();
                let keyword = keyword
                    .filter_map(|name| config.get(name)?.as_str())
                    .find(|word| !word.trim().is_empty());
                json!({ "type": "keywordSignal", "keywords": [keyword.unwrap_or(DEFAULT_KEYWORD)] })
            }
            "structuredSignal" | "detect:structured" => self.structured(config),
            "externalState" | "issue" | "poll:state" => self.external(config),
            "stepMachine" | "stepFlow" | "detect:graph" => json!({ "type": "stepMachine" }),
            "composite" | "meta:composite" | "facilitator" => self.composite(config),
            "phaseCompletion" | "project" => {
                let instead = "Let the last step say a word and use keywordSignal, or check a state with externalState.";
                self.replaced(kind, "climpt follows the phases of a GitHub project", instead)
            }
            "custom" | "meta:custom" => {
                let instead = "Write a program that prints {\"complete\": true, \"reason\": \"…\"}, and use the completion type custom.";
                self.replaced(kind, "it is a TypeScript module of climpt's own interface", instead)
            }
            other => {
                let instead = "Choose one of the completion types in docs/declarative-agents.md.";
                self.replaced(other, "it is unknown", instead)
            }
        }
    }

    /// An iteration budget in place of a type that does not exist here.
    fn replaced(&mut self, kind: &str, why: &str, instead: &str) -> Value {
        let condition = self.budget();
        self.report.drop(PLACE, format!("{kind}: {why}. The agent now ends after its iterations."), instead);
        condition
    }

    fn structured(&mut self, config: &Value) -> Value {
        if !self.steps.values().any(|step| step.contains_key("output")) {
            let instead = "Give a step an `output`, and use structuredSignal.";
            return self.replaced("structuredSignal", "no step of it gives a structured answer", instead);
        }
        let mut condition = Map::from_iter([("type".to_owned(), Value::from("structuredSignal"))]);
        if let Some(signal) =
            config.get("signalType").and_then(Value::as_str).filter(|signal| !signal.trim().is_empty())
        {
            condition.insert("signalType".to_owned(), signal.into());
        }
        match config.get("requiredFields") {
            Some(Value::Object(fields)) => drop(condition.insert("requiredFields".to_owned(), json!(fields))),
            Some(Value::Array(names)) => {
                condition.insert("schema".to_owned(), json!({ "type": "object", "required": names }));
            }
            _ => {}
        }
        if condition.len() == 1 {
            return self.replaced(
                "structuredSignal",
                "it has no `signalType` and no `requiredFields`",
                "Add one of them.",
            );
        }
        Value::Object(condition)
    }

    /// climpt asks about an issue of the current repository; here the repository has a name.
    fn external(&mut self, config: &Value) -> Value {
        let resource = config.get("resourceType").and_then(Value::as_str).unwrap_or("github-issue");
        if resource != "github-issue" {
            let why = format!("climpt ignores the resource {resource} and always asks about an issue");
            self.report.change(PLACE, format!("{why}; so does this agent."));
        }
        let issue = json!({ "type": "number", "description": "The GitHub issue", "required": true });
        let issue = self.parameters.entry("issue".to_owned()).or_insert(issue);
        issue["required"] = true.into();
        if let Some(fields) = issue.as_object_mut() {
            fields.remove("default");
        }
        let repository = json!({
            "type": "string", "required": true, "description": "The GitHub repository of the issue, as OWNER/NAME",
            "validation": { "pattern": "[^/ ]+/[^/ ]+" },
        });
        self.parameters.entry("repository".to_owned()).or_insert(repository);
        self.report.change(PLACE, "The issue is looked up in --arg repository=OWNER/NAME, and nobody closes it but you or the agent.");
        let mut condition = json!({
            "type": "externalState",
            "resource": { "type": "github-issue", "issue": "{uv-issue}", "repository": "{uv-repository}" },
        });
        if let Some(state) = config.get("targetState").and_then(Value::as_str) {
            condition["targetState"] = state.into();
        }
        condition
    }

    fn composite(&mut self, config: &Value) -> Value {
        let parts = config.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut conditions = Vec::new();
        for part in &parts {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if matches!(kind, "composite" | "meta:composite" | "facilitator") {
                let instead = "List its conditions in the outer one.";
                self.report.drop(PLACE, "A composite inside of a composite is left out.", instead);
                continue;
            }
            let part_config = part.get("config").unwrap_or(part);
            conditions.push(self.condition(kind, part_config));
        }
        if conditions.is_empty() {
            return self.replaced("composite", "it has no conditions", "Add conditions to it.");
        }
        let operator = config.get("operator").or_else(|| config.get("mode")).and_then(Value::as_str);
        let mode = if matches!(operator, Some("and" | "all")) { "all" } else { "any" };
        json!({ "type": "composite", "mode": mode, "conditions": conditions })
    }
}

fn iterations(config: &Value, default: u64) -> u64 {
    config.get("maxIterations").and_then(Value::as_u64).unwrap_or(default).clamp(1, MOST_ITERATIONS)
}

/// A condition by its type, or those of its parts.
fn words(condition: &Value) -> String {
    let name = condition["type"].as_str().unwrap_or_default();
    match condition["conditions"].as_array() {
        None => name.to_owned(),
        Some(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(|part| part["type"].as_str()).collect();
            let word = if condition["mode"] == "all" { "all of" } else { "one of" };
            format!("{word} {}", parts.join(", "))
        }
    }
}
