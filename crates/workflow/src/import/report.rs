//! What the import did: carried over, changed, left out.

use std::collections::BTreeMap;

use serde::Serialize;

/// One thing of a climpt agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportNote {
    /// The file, and the field or the step in it.
    pub place: String,
    /// What became of it, as a sentence.
    pub what: String,
    /// What to do instead, as a sentence; `None` if nothing is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    pub carried_over: Vec<ImportNote>,
    pub changed: Vec<ImportNote>,
    pub not_carried_over: Vec<ImportNote>,
}

impl ImportReport {
    pub(super) fn carry(&mut self, place: &str, what: impl Into<String>) {
        self.carried_over.push(ImportNote { place: place.to_owned(), what: what.into(), instead: None });
    }

    pub(super) fn change(&mut self, place: &str, what: impl Into<String>) {
        self.changed.push(ImportNote { place: place.to_owned(), what: what.into(), instead: None });
    }

    pub(super) fn drop(&mut self, place: &str, what: impl Into<String>, instead: impl Into<String>) {
        let note = ImportNote { place: place.to_owned(), what: what.into(), instead: Some(instead.into()) };
        if !self.not_carried_over.contains(&note) {
            self.not_carried_over.push(note);
        }
    }

    /// The steps and prompts, with the new names of those that have one.
    pub(super) fn steps(&mut self, names: &BTreeMap<String, String>, prompts: usize) {
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let what = format!("{} and {}.", count(names.len(), "step"), count(prompts, "prompt"));
        self.carry("steps_registry.json", what);
        let renamed: Vec<String> = names
            .iter()
            .filter(|(old, new)| old != new)
            .map(|(old, new)| format!("{old} is now {new}"))
            .collect();
        if !renamed.is_empty() {
            let what = format!("A step's name has no dots here: {}.", renamed.join(", "));
            self.change("steps_registry.json", what);
        }
    }
}
