//! Locations in the files of a definition.

use serde_json::Value;

use crate::definition::{AGENT_FILE, STEPS_FILE};

/// A location in one of the two files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JsonLocation {
    pub(crate) file: &'static str,
    pub(crate) path: String,
}

impl JsonLocation {
    /// The top level of a file.
    pub(crate) fn root(file: &'static str) -> Self {
        Self { file, path: "$".to_owned() }
    }

    pub(crate) fn agent(field: &str) -> Self {
        Self::root(AGENT_FILE).key(field)
    }

    pub(crate) fn steps(field: &str) -> Self {
        Self::root(STEPS_FILE).key(field)
    }

    pub(crate) fn step(id: &str) -> Self {
        Self::steps("steps").key(id)
    }

    /// The field with this name.
    pub(crate) fn key(&self, name: &str) -> Self {
        let is_plain =
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-' || c == '$');
        let path = if is_plain {
            format!("{}.{name}", self.path)
        } else {
            format!("{}[{}]", self.path, Value::from(name))
        };
        Self { file: self.file, path }
    }

    /// The list item with this index.
    pub(crate) fn item(&self, index: usize) -> Self {
        Self { file: self.file, path: format!("{}[{index}]", self.path) }
    }

    /// Whether this is the other location or a part of it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let rest = self.path.strip_prefix(&other.path);
        self.file == other.file && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}
