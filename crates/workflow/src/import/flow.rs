//! What the dialects share: the first step, and the steps that are left out.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;
use serde_json::{Map, Value};

use super::Importer;
use crate::faults::CONFIGURATION_VALIDATION;

impl Importer<'_> {
    /// The first step that the user named, if there is such a step.
    pub(super) fn named_entry(&self, entry: Option<&str>) -> Result<Option<String>, Fault> {
        let Some(entry) = entry else { return Ok(None) };
        if self.source.steps.contains_key(entry) {
            return Ok(Some(entry.to_owned()));
        }
        let names: Vec<&str> = self.source.steps.keys().map(String::as_str).collect();
        let what = format!("The agent {} has no step {entry}.", self.name);
        let hint = format!("Its steps are: {}.", names.join(", "));
        Err(CONFIGURATION_VALIDATION.fault(what).hint(hint))
    }

    /// The first step by `entryStepMapping` or `entryStep`.
    pub(super) fn registered_entry(&mut self, entry: Option<&str>) -> Result<String, Fault> {
        if let Some(entry) = self.named_entry(entry)? {
            return Ok(entry);
        }
        let source = self.source;
        let mapping = source.registry.get("entryStepMapping").and_then(Value::as_object);
        let by_type = mapping.and_then(|mapping| mapping.get(source.completion_type()));
        let only = mapping.filter(|mapping| mapping.len() == 1).and_then(|mapping| mapping.values().next());
        let entry = by_type.or_else(|| source.registry.get("entryStep")).or(only);
        let entry = entry.and_then(|entry| entry.as_str().or_else(|| entry.get("initial")?.as_str()));
        let entry = entry.filter(|entry| source.steps.contains_key(*entry)).map(str::to_owned);
        let Some(entry) = entry.or_else(|| self.assumed_entry()) else {
            let names: Vec<&str> = source.steps.keys().map(String::as_str).collect();
            let what = format!(
                "The agent {} has no first step: neither `entryStep` nor `entryStepMapping` names a step for {}.",
                self.name,
                source.completion_type()
            );
            let hint = format!("Name one with --entry: {}.", names.join(", "));
            return Err(CONFIGURATION_VALIDATION.fault(what).hint(hint));
        };
        Ok(entry)
    }

    /// The step whose name begins as climpt's first steps do, if the registry names no other one.
    fn assumed_entry(&mut self) -> Option<String> {
        let entry = self.of_mode("initial")?;
        let what = format!(
            "It names no first step for {}; {entry} is the first one. --entry names another.",
            self.source.completion_type()
        );
        self.report.change("steps_registry.json", what);
        Some(entry)
    }

    /// Reports the steps that the chosen first step does not lead to.
    pub(super) fn report_unreached(&mut self, reached: &BTreeSet<String>) {
        let (mut sections, mut others) = (Vec::new(), Vec::new());
        for (old, step) in self.source.steps.iter().filter(|(old, _)| !reached.contains(*old)) {
            let is_part = old.as_str() == "system" || step.get("c2") == Some(&Value::from("section"));
            if is_part { sections.push(old.as_str()) } else { others.push(old.as_str()) }
        }
        let place = "steps_registry.json";
        if !sections.is_empty() {
            let what = format!("Prompts that climpt inserts into others: {}.", sections.join(", "));
            self.report.drop(place, what, "Copy their text into the prompts that need it.");
        }
        if !others.is_empty() {
            let what = format!("Steps that the first step does not lead to: {}.", others.join(", "));
            let instead = "Import once more with --entry STEP and --name NAME for another of climpt's modes.";
            self.report.drop(place, what, instead);
        }
    }

    /// A step with its description and its prompt.
    pub(super) fn base_step(&mut self, old: &str, step: &Value, entry: &str) -> Map<String, Value> {
        let mut converted = Map::new();
        let text = |name: &str| step.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if let Some(description) = text("description").or(text("name")) {
            converted.insert("description".to_owned(), description.into());
        }
        converted.insert("prompt".to_owned(), self.import_prompt(old, step).into());
        // In climpt, every iteration after the first one resumes the conversation.
        if old != entry {
            converted.insert("session".to_owned(), "resume".into());
        }
        if super::access::only_reads(step) {
            converted.insert("access".to_owned(), "read".into());
        }
        converted
    }
}
