//! Registries whose steps answer with an intent: each becomes a gateway that branches on that answer.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::fault::Fault;
use serde_json::{Map, Value, json};

use super::Importer;
use super::variables::last_part;
use crate::faults::CONFIGURATION_VALIDATION;

/// The field of the intent if a gate does not name it.
const INTENT_FIELD: &str = "next_action.action";

/// What climpt also accepts for an intent.
const SYNONYMS: [(&str, &str); 7] = [
    ("continue", "next"),
    ("pass", "next"),
    ("retry", "repeat"),
    ("wait", "repeat"),
    ("fail", "repeat"),
    ("done", "closing"),
    ("finished", "closing"),
];

/// Targets by intent; null is the end.
type IntentTargets = BTreeMap<String, Value>;

impl Importer<'_> {
    /// Imports all steps that the first one leads to. Returns the first step.
    pub(super) fn import_gates(&mut self, entry: Option<&str>) -> Result<String, Fault> {
        let first = self.registered_entry(entry)?;
        if self.is_program(&first) {
            let what = format!(
                "The agent {} starts with {first}, which runs a program and has no prompt.",
                self.name
            );
            let hint = "Run that program yourself, or as an action of a step.";
            return Err(CONFIGURATION_VALIDATION.fault(what).hint(hint));
        }
        let mut waiting = vec![first.clone()];
        let mut reached = BTreeSet::new();
        while let Some(old) = waiting.pop() {
            if !reached.insert(old.clone()) || self.is_program(&old) {
                continue;
            }
            let step = &self.source.steps[&old];
            let mut converted = self.base_step(&old, step, &first);
            self.gate(&old, step, &mut converted, &mut waiting);
            self.steps.insert(self.new_name(&old), converted);
        }
        for old in reached.clone() {
            self.import_inputs(&old);
        }
        self.report_unreached(&reached);
        Ok(self.new_name(&first))
    }

    /// Whether climpt runs a program for a step, without a model.
    fn is_program(&self, old: &str) -> bool {
        self.source.steps.get(old).is_some_and(|step| step.get("runner").is_some_and(Value::is_object))
    }

    fn gate(
        &mut self,
        old: &str,
        step: &Value,
        converted: &mut Map<String, Value>,
        waiting: &mut Vec<String>,
    ) {
        let gate = step.get("structuredGate").filter(|gate| gate.is_object());
        let Some(gate) = gate else {
            if let Some(output) = self.import_output(old, step) {
                converted.insert("output".to_owned(), output);
            }
            if let Some(next) = self.plain_next(old, step, waiting) {
                converted.insert("next".to_owned(), next.into());
            }
            return;
        };
        let field = intent_field(gate);
        let mut targets = IntentTargets::new();
        for intent in intents(step, gate) {
            let target = self.intent_target(old, step, gate, &intent, waiting);
            if let Some(target) = target {
                targets.insert(intent, target);
            }
        }
        let output = self.import_output(old, step);
        let output = self.with_intents(output, &field, &targets);
        add_synonyms(&mut targets, &output, &field);
        converted.insert("output".to_owned(), output);
        converted.insert("type".to_owned(), "gateway".into());
        let mut branch = json!({ "field": field, "targets": targets });
        let fallback = gate.get("fallbackIntent").and_then(Value::as_str);
        if gate.get("failFast") == Some(&Value::Bool(false))
            && let Some(Value::String(target)) = fallback.and_then(|intent| targets.get(intent))
        {
            branch["default"] = target.as_str().into();
        }
        converted.insert("branch".to_owned(), branch);
    }

    /// The next step of one that gives no intent.
    fn plain_next(&mut self, old: &str, step: &Value, waiting: &mut Vec<String>) -> Option<String> {
        let written = step.pointer("/transitions/next").map(|next| next.get("target").unwrap_or(next));
        let target = match written {
            Some(Value::String(target)) => target.clone(),
            Some(_) => return None,
            None => self.continuation(old)?,
        };
        self.target(old, &target, waiting).as_str().map(str::to_owned)
    }

    /// climpt's default after `initial.X` is `continuation.X`.
    fn continuation(&self, old: &str) -> Option<String> {
        let next = format!("continuation.{}", old.strip_prefix("initial.")?);
        self.source.steps.contains_key(&next).then_some(next)
    }

    /// The target of an intent; `None` if it has none.
    fn intent_target(
        &mut self,
        old: &str,
        step: &Value,
        gate: &Value,
        intent: &str,
        waiting: &mut Vec<String>,
    ) -> Option<Value> {
        let place = format!("steps_registry.json, {old}");
        let transition = step.get("transitions").and_then(|transitions| transitions.get(intent));
        if intent == "jump"
            && let Some(field) = gate.get("targetField").and_then(Value::as_str)
        {
            return Some(self.jump(old, field, waiting));
        }
        match transition {
            Some(rule) if rule.get("condition").is_some() => {
                Some(self.conditional(old, gate, intent, rule, waiting))
            }
            Some(Value::String(target)) => Some(self.target(old, target, waiting)),
            Some(rule) => match rule.get("target") {
                Some(Value::String(target)) => Some(self.target(old, target, waiting)),
                _ => Some(Value::Null),
            },
            None => match intent {
                "closing" => Some(Value::Null),
                "repeat" => Some(self.target(old, old, waiting)),
                "abort" => {
                    self.report.change(
                        &place,
                        "`abort` ends the steps; the agent then counts as done, as in climpt.",
                    );
                    Some(Value::Null)
                }
                "next" if self.continuation(old).is_some() => {
                    let next = self.continuation(old)?;
                    Some(self.target(old, &next, waiting))
                }
                _ => {
                    let what = format!("The intent {intent} has no transition.");
                    self.report.drop(&place, what, "Add a target for it to the branch in steps.json.");
                    None
                }
            },
        }
    }

    /// A target as a value: its new name, or null if it is not imported.
    fn target(&mut self, old: &str, target: &str, waiting: &mut Vec<String>) -> Value {
        if self.is_program(target) {
            let place = format!("steps_registry.json, {target}");
            let what = "climpt runs a program for this step, without a model; the steps end before it.";
            self.report.drop(
                &place,
                what,
                "Run that program yourself after the agent, or as an action of a step.",
            );
            return Value::Null;
        }
        self.known(old, target, waiting).map_or(Value::Null, Value::from)
    }

    /// A gateway for a target that the answer names.
    fn jump(&mut self, old: &str, field: &str, waiting: &mut Vec<String>) -> Value {
        let others: Vec<String> = self
            .source
            .steps
            .keys()
            .filter(|step| step.starts_with("section.") == old.starts_with("section."))
            .cloned()
            .collect();
        let mut targets = IntentTargets::new();
        for target in others.iter().filter(|target| !target.starts_with("section.")) {
            let new = self.target(old, target, waiting);
            targets.insert(target.clone(), new);
        }
        self.additional_gateway(old, "jump", field, &targets, None)
    }

    /// A gateway for a target that depends on another field of the answer.
    fn conditional(
        &mut self,
        old: &str,
        gate: &Value,
        intent: &str,
        rule: &Value,
        waiting: &mut Vec<String>,
    ) -> Value {
        let condition = rule.get("condition").and_then(Value::as_str).unwrap_or_default();
        let fields = gate.get("handoffFields").and_then(Value::as_array);
        let field = fields
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .find(|field| last_part(field) == condition)
            .unwrap_or(condition)
            .to_owned();
        let mut targets = IntentTargets::new();
        let mut default = None;
        for (value, target) in rule.get("targets").and_then(Value::as_object).into_iter().flatten() {
            let target = match target.get("target").unwrap_or(target).as_str() {
                Some(target) => self.target(old, target, waiting),
                None => Value::Null,
            };
            match value.as_str() {
                "default" => default = target.as_str().map(str::to_owned),
                value => drop(targets.insert(value.to_owned(), target)),
            }
        }
        self.additional_gateway(old, intent, &field, &targets, default)
    }

    fn additional_gateway(
        &mut self,
        old: &str,
        intent: &str,
        field: &str,
        targets: &IntentTargets,
        default: Option<String>,
    ) -> Value {
        let from = self.new_name(old);
        let name = self.step_names.additional(&from, intent);
        let mut branch = json!({ "from": from, "field": field, "targets": targets });
        if let Some(default) = default {
            branch["default"] = default.into();
        }
        let step = json!({ "type": "gateway", "branch": branch });
        self.steps.insert(name.clone(), step.as_object().cloned().unwrap_or_default());
        let what = format!("The target of `{intent}` depends on {field}; the gateway {name} decides it.");
        self.report.change(&format!("steps_registry.json, {old}"), what);
        name.into()
    }

    /// The inputs of a step: variables from the answers of other steps.
    fn import_inputs(&mut self, old: &str) {
        let Some(inputs) = self.source.steps[old].get("inputs").and_then(Value::as_object) else { return };
        let place = format!("steps_registry.json, {old}, inputs");
        for (variable, input) in inputs {
            let name = super::names::snake(variable);
            let from = input.get("from").and_then(Value::as_str).unwrap_or_default();
            let Some(from) = self.answer_field(from).filter(|_| !self.parameters.contains_key(&name)) else {
                let what = format!(
                    "{variable} comes from {from}, which gives no such answer, or is a parameter too."
                );
                self.report.drop(&place, what, "Add it to `inputs` of the step in steps.json.");
                continue;
            };
            let is_required = input.get("required").and_then(Value::as_bool).unwrap_or(false);
            let mut converted = json!({ "from": from, "required": is_required });
            match input.get("default") {
                Some(default) => converted["default"] = default.clone(),
                None if !is_required => converted["default"] = "".into(),
                None => {}
            }
            let new = self.new_name(old);
            if let Some(step) = self.steps.get_mut(&new) {
                step.entry("inputs").or_insert_with(|| json!({}))[&name] = converted;
            }
        }
    }

    /// `initial.issue.status` as a step of ours and a field of its answer.
    fn answer_field(&self, from: &str) -> Option<String> {
        let steps = self.source.steps.iter().filter(|(old, _)| from.starts_with(&format!("{old}.")));
        let (old, step) = steps.max_by_key(|(old, _)| old.len())?;
        let key = &from[old.len() + 1..];
        let name = self.step_names.get(old).filter(|name| self.has_output(name))?;
        let fields = step.pointer("/structuredGate/handoffFields").and_then(Value::as_array);
        let mut fields = fields.into_iter().flatten().filter_map(Value::as_str);
        let field = fields.find(|field| last_part(field) == key).unwrap_or(key);
        Some(format!("{name}.{field}"))
    }
}

fn intent_field(gate: &Value) -> String {
    let written = gate.get("intentField").and_then(Value::as_str).map(str::to_owned);
    let from_schema = || {
        let pointer = gate.get("intentSchemaRef").and_then(Value::as_str)?;
        let parts: Vec<&str> = pointer.strip_prefix("#/properties/")?.split("/properties/").collect();
        Some(parts.join("."))
    };
    let field = written.or_else(from_schema).unwrap_or_else(|| INTENT_FIELD.to_owned());
    match field.split('.').any(|part| part.trim().is_empty()) {
        true => INTENT_FIELD.to_owned(),
        false => field,
    }
}

/// The intents that a step may have, in their order.
fn intents(step: &Value, gate: &Value) -> Vec<String> {
    let allowed = gate.get("allowedIntents").and_then(Value::as_array);
    let mut intents: Vec<String> =
        allowed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if intents.is_empty() {
        let transitions = step.get("transitions").and_then(Value::as_object);
        intents.extend(transitions.into_iter().flat_map(|transitions| transitions.keys().cloned()));
    }
    intents
}

/// Adds targets for other words of an intent, if the schema of the answer allows them.
fn add_synonyms(targets: &mut IntentTargets, output: &Value, field: &str) {
    let pointer: String = field.split('.').map(|part| format!("/properties/{part}")).collect();
    let choices = output.pointer(&format!("{pointer}/enum")).and_then(Value::as_array);
    for choice in choices.into_iter().flatten().filter_map(Value::as_str) {
        let meant = SYNONYMS.iter().find(|(synonym, _)| *synonym == choice).map(|(_, intent)| *intent);
        if let Some(target) = meant.and_then(|intent| targets.get(intent).cloned()) {
            targets.entry(choice.to_owned()).or_insert(target);
        }
    }
}
