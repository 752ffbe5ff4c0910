//! The parts of a definition that could not be read. They are reported once, where they were read; what follows from their
//! absence, such as a step that nothing leads to, is not reported.

use std::collections::BTreeSet;

use crate::json_location::JsonLocation;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Unread {
    locations: BTreeSet<JsonLocation>,
    /// Paths of files other than `agent.json` and `steps.json`.
    files: BTreeSet<String>,
}

impl Unread {
    pub(crate) fn insert(&mut self, at: JsonLocation) {
        self.locations.insert(at);
    }

    pub(crate) fn insert_file(&mut self, path: &str) {
        self.files.insert(path.to_owned());
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.locations.extend(other.locations);
        self.files.extend(other.files);
    }

    /// Whether this location could not be read, alone or as a part of another one.
    pub(crate) fn covers(&self, at: &JsonLocation) -> bool {
        self.locations.iter().any(|unread| at.is_within(unread))
    }

    /// Whether this location, a part of it or all around it could not be read.
    pub(crate) fn touches(&self, at: &JsonLocation) -> bool {
        self.locations.iter().any(|unread| at.is_within(unread) || unread.is_within(at))
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }
}
