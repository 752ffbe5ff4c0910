//! The problems of a definition and their locations.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::definition::{AGENT_FILE, STEPS_FILE};

/// The most characters shown of a value.
const MAX_VALUE_CHARS: usize = 80;

/// The problems of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ValidationResult {
    pub errors: Vec<Problem>,
    /// Problems that do not keep the agent from running.
    pub warnings: Vec<Problem>,
}

impl ValidationResult {
    pub fn valid(&self) -> bool {
        self.errors.is_empty()
    }

    pub(super) fn error(
        &mut self,
        at: &JsonLocation,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.errors.push(at.problem(value.into(), what.into(), remedy.into()));
    }

    pub(super) fn warning(
        &mut self,
        at: &JsonLocation,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.warnings.push(at.problem(value.into(), what.into(), remedy.into()));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The name of the file in the agent's directory.
    pub file: String,
    /// The JSON path of the value.
    pub path: String,
    /// The value; null if it is missing or not worth showing.
    pub value: Value,
    /// The problem, without a full stop.
    pub what: String,
    /// What to do, as a sentence.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file, self.path)?;
        if !self.value.is_null() {
            let value = self.value.to_string();
            let cut: String = value.chars().take(MAX_VALUE_CHARS).collect();
            let dots = if cut.len() < value.len() { "…" } else { "" };
            write!(f, " ({cut}{dots})")?;
        }
        write!(f, ": {}. {}", self.what, self.remedy)
    }
}

/// A location in one of the two files.
#[derive(Debug, Clone)]
pub(super) struct JsonLocation {
    file: &'static str,
    path: String,
}

impl JsonLocation {
    pub(super) fn agent(field: &str) -> Self {
        Self { file: AGENT_FILE, path: "$".to_owned() }.key(field)
    }

    pub(super) fn steps(field: &str) -> Self {
        Self { file: STEPS_FILE, path: "$".to_owned() }.key(field)
    }

    pub(super) fn step(id: &str) -> Self {
        Self::steps("steps").key(id)
    }

    /// The field with this name.
    pub(super) fn key(&self, name: &str) -> Self {
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
    pub(super) fn item(&self, index: usize) -> Self {
        Self { file: self.file, path: format!("{}[{index}]", self.path) }
    }

    fn problem(&self, value: Value, what: String, remedy: String) -> Problem {
        Problem { file: self.file.to_owned(), path: self.path.clone(), value, what, remedy }
    }
}
