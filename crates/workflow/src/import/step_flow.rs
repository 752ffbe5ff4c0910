//! Registries whose steps have a check with transitions.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;
use serde_json::{Map, Value, json};

use super::Importer;

/// The retries of a step whose registry does not limit them. climpt's documents say both 3 and unlimited.
const DEFAULT_RETRIES: u64 = 3;
/// The most retries here.
const MOST_RETRIES: u64 = 1_000;

impl Importer<'_> {
    /// Imports all steps that the first one leads to. Returns the first step.
    pub(super) fn import_step_flow(&mut self, entry: Option<&str>) -> Result<String, Fault> {
        let first = self.registered_entry(entry)?;
        let mut waiting = vec![first.clone()];
        let mut reached = BTreeSet::new();
        while let Some(old) = waiting.pop() {
            if !reached.insert(old.clone()) {
                continue;
            }
            let step = &self.source.steps[&old];
            let mut converted = self.base_step(&old, step, &first);
            self.flow_transitions(&old, step, &mut converted, &mut waiting);
            self.steps.insert(self.new_name(&old), converted);
        }
        self.report_unreached(&reached);
        Ok(self.new_name(&first))
    }

    fn flow_transitions(
        &mut self,
        old: &str,
        step: &Value,
        converted: &mut Map<String, Value>,
        waiting: &mut Vec<String>,
    ) {
        let Some(check) = step.get("check").filter(|check| check.is_object()) else {
            if let Some(next) =
                step.get("next").and_then(Value::as_str).and_then(|next| self.known(old, next, waiting))
            {
                converted.insert("next".to_owned(), next.into());
            }
            return;
        };
        let prompt = self.import_check_prompt(old, check);
        let on_pass = self.flow_transition(old, check.get("onPass"), waiting);
        let on_fail = self.flow_transition(old, check.get("onFail"), waiting);
        let mut on_pass = on_pass.unwrap_or_else(|| json!({ "complete": true }));
        if on_pass.get("retry").is_some() {
            on_pass = json!({ "next": self.new_name(old) });
        }
        let on_fail = on_fail.unwrap_or_else(|| json!({ "retry": true }));
        converted.insert(
            "check".to_owned(),
            json!({ "type": "prompt", "prompt": prompt, "onPass": on_pass, "onFail": on_fail }),
        );
        if check.get("responseFormat").is_some() {
            let what = format!("The check of {old} answers in our own form; `responseFormat` is not needed.");
            self.report.change("steps_registry.json", what);
        }
    }

    /// `None` if it leads nowhere.
    fn flow_transition(&mut self, old: &str, to: Option<&Value>, waiting: &mut Vec<String>) -> Option<Value> {
        let to = to?;
        let is_true = |name: &str| to.get(name).and_then(Value::as_bool).unwrap_or(false);
        if is_true("complete") {
            return Some(json!({ "complete": true }));
        }
        let text = |name: &str| to.get(name).and_then(Value::as_str);
        if let Some(next) = text("next") {
            return self.known(old, next, waiting).map(|next| json!({ "next": next }));
        }
        let fallback = text("fallback").and_then(|fallback| self.known(old, fallback, waiting));
        if !is_true("retry") {
            return fallback.map(|fallback| json!({ "next": fallback }));
        }
        let retries = to.get("maxRetries").and_then(Value::as_u64).filter(|retries| *retries > 0);
        if retries.is_none() {
            let what =
                format!("The retries of {old} have no limit in climpt; here there are {DEFAULT_RETRIES}.");
            self.report.change("steps_registry.json", what);
        }
        let mut policy = json!({ "maxRetries": retries.unwrap_or(DEFAULT_RETRIES).min(MOST_RETRIES) });
        if let Some(fallback) = fallback {
            policy["onExhausted"] = "fallback".into();
            policy["fallbackStep"] = fallback.into();
        }
        Some(json!({ "retry": policy }))
    }

    /// The new name of a target, which is then imported too.
    pub(super) fn known(&mut self, old: &str, target: &str, waiting: &mut Vec<String>) -> Option<String> {
        if self.source.steps.contains_key(target) {
            waiting.push(target.to_owned());
            return Some(self.new_name(target));
        }
        let place = format!("steps_registry.json, {old}");
        self.report.drop(
            &place,
            format!("It leads to {target}, which does not exist."),
            "Add a transition to steps.json.",
        );
        None
    }
}
