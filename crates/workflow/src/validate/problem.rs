//! What was found: problems, and where they are.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::definition::{AGENT_FILE, STEPS_FILE};

/// How much of a value is told, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// What was found in a definition
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ValidationResult {
    /// What is wrong.
    pub errors: Vec<Problem>,
    /// What may be meant otherwise than it is written.
    pub warnings: Vec<Problem>,
}

impl ValidationResult {
    /// Whether nothing is wrong.
    pub fn valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Notes what is wrong.
    pub(super) fn error(
        &mut self,
        at: &Place,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.errors.push(at.problem(value.into(), what.into(), remedy.into()));
    }

    /// Notes what may be meant otherwise.
    pub(super) fn warning(
        &mut self,
        at: &Place,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.warnings.push(at.problem(value.into(), what.into(), remedy.into()));
    }
}

/// One thing that is wrong
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The file, in the agent's directory.
    pub file: String,
    /// Its place in that, as a JSON path.
    pub path: String,
    /// What is there; null if nothing is.
    pub value: Value,
    /// What is wrong with it, without a full stop.
    pub what: String,
    /// What to do.
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

/// A place in one of the two files
#[derive(Debug, Clone)]
pub(super) struct Place {
    file: &'static str,
    path: String,
}

impl Place {
    /// A field of `agent.json`.
    pub(super) fn agent(field: &str) -> Self {
        Self { file: AGENT_FILE, path: "$".to_owned() }.key(field)
    }

    /// A field of `steps.json`.
    pub(super) fn steps(field: &str) -> Self {
        Self { file: STEPS_FILE, path: "$".to_owned() }.key(field)
    }

    /// A step.
    pub(super) fn step(id: &str) -> Self {
        Self::steps("steps").key(id)
    }

    /// What it has under this name.
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

    /// What it has at this place, counted from 0.
    pub(super) fn item(&self, at: usize) -> Self {
        Self { file: self.file, path: format!("{}[{at}]", self.path) }
    }

    fn problem(&self, value: Value, what: String, remedy: String) -> Problem {
        Problem { file: self.file.to_owned(), path: self.path.clone(), value, what, remedy }
    }
}
