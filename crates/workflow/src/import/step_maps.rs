//! Registries without transitions: climpt's runner takes one prompt for the first iteration and another one for all that follow.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;

use super::Importer;
use crate::faults::CONFIGURATION_VALIDATION;

/// The names that climpt uses in steps for each completion type.
const MODES: [(&[&str], &[&str]); 5] = [
    (&["externalState", "issue", "poll:state"], &["issue", "polling", "externalstate"]),
    (&["iterationBudget", "iterate", "count:iteration"], &["iterate", "iteration", "iterationbudget"]),
    (&["keywordSignal", "manual", "detect:keyword"], &["manual", "keyword", "keywordsignal"]),
    (&["phaseCompletion", "project"], &["project.preparation", "project_preparation", "project"]),
    (&["custom", "meta:custom"], &["custom", "default"]),
];

impl Importer<'_> {
    /// Imports the prompt of the first iteration and that of the others. Returns the first step.
    pub(super) fn import_map(&mut self, entry: Option<&str>) -> Result<String, Fault> {
        let first = match self.named_entry(entry)? {
            Some(entry) => entry,
            None => self.of_mode("initial").or_else(|| self.only_step()).ok_or_else(|| {
                let names: Vec<&str> = self.source.steps.keys().map(String::as_str).collect();
                let what = format!("The agent {} has no step for the first iteration.", self.name);
                let hint = format!("Name one with --entry: {}.", names.join(", "));
                CONFIGURATION_VALIDATION.fault(what).hint(hint)
            })?,
        };
        let following = self.following(&first);
        let reached: BTreeSet<String> = [first.clone()].into_iter().chain(following.clone()).collect();
        for old in &reached {
            let mut step = self.base_step(old, &self.source.steps[old], &first);
            // Without a prompt of its own, every iteration has the first one.
            let next = following.as_deref().unwrap_or(&first);
            step.insert("next".to_owned(), self.new_name(next).into());
            self.steps.insert(self.new_name(old), step);
        }
        self.report_unreached(&reached);
        Ok(self.new_name(&first))
    }

    pub(super) fn new_name(&self, old: &str) -> String {
        self.step_names.get(old).unwrap_or(old).to_owned()
    }

    /// The step of this phase for the agent's completion type; otherwise the first one of the phase.
    pub(super) fn of_mode(&self, phase: &str) -> Option<String> {
        let kind = self.source.completion_type();
        let modes = MODES.iter().find(|(kinds, _)| kinds.contains(&kind)).map_or(&[][..], |(_, modes)| modes);
        let of_phase = |old: &&String| {
            old.strip_prefix(phase).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
        };
        let is_named =
            |old: &str, mode: &str| [".", "_"].iter().any(|dot| old == format!("{phase}{dot}{mode}"));
        let exact = modes.iter().chain(&["default"]).find_map(|mode| {
            self.source.steps.keys().filter(of_phase).find(|old| is_named(old, mode)).cloned()
        });
        exact.or_else(|| self.source.steps.keys().find(of_phase).cloned())
    }

    fn only_step(&self) -> Option<String> {
        let mut steps = self.source.steps.keys().filter(|old| *old != "system");
        let only = steps.next().cloned();
        only.filter(|_| steps.next().is_none())
    }

    /// The step of all later iterations.
    fn following(&self, first: &str) -> Option<String> {
        let rest = first.strip_prefix("initial").unwrap_or_default();
        let same = format!("continuation{rest}");
        let same = self.source.steps.contains_key(&same).then_some(same);
        same.filter(|same| same != first)
            .or_else(|| self.of_mode("continuation").filter(|step| step != first))
    }
}
