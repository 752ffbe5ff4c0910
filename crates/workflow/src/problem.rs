//! The problems of a definition and their locations.

use std::fmt;

use autonoe_core::fault::Fault;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::definition::{AGENT_FILE, STEPS_FILE};
use crate::faults::{CONFIGURATION_VALIDATION, ErrorClass};
use crate::json_location::JsonLocation;
use crate::unread::Unread;

/// The most characters shown of a value.
const MAX_VALUE_CHARS: usize = 80;

/// The problems of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ValidationResult {
    pub errors: Vec<Problem>,
    /// Problems that do not keep the agent from running.
    pub warnings: Vec<Problem>,
    /// What could not be read and is reported already. Nothing is reported about it again.
    #[serde(skip)]
    pub(crate) unread: Unread,
    /// Whether a transition leads to a step that does not exist. Where it should lead is not known then.
    #[serde(skip)]
    pub(crate) has_missing_target: bool,
}

impl ValidationResult {
    pub fn valid(&self) -> bool {
        self.errors.is_empty()
    }

    pub(crate) fn error(
        &mut self,
        at: &JsonLocation,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if !self.unread.covers(at) {
            self.errors.push(at.problem(CONFIGURATION_VALIDATION, value.into(), what.into(), remedy.into()));
        }
    }

    pub(crate) fn warning(
        &mut self,
        at: &JsonLocation,
        value: impl Into<Value>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if !self.unread.covers(at) {
            let problem = at.problem(CONFIGURATION_VALIDATION, value.into(), what.into(), remedy.into());
            self.warnings.push(problem);
        }
    }
}

/// A fault that lists these errors. Its code is that of the first one that cannot be read, if there is one.
pub(crate) fn fault(agent: &str, errors: &[Problem]) -> Fault {
    let mut classes = errors.iter().map(|error| error.class);
    let class = classes.find(|class| *class != CONFIGURATION_VALIDATION).unwrap_or(CONFIGURATION_VALIDATION);
    let count = match errors.len() {
        1 => "1 error".to_owned(),
        more => format!("{more} errors"),
    };
    let lines: Vec<String> = errors.iter().map(|error| format!("\n  {error}")).collect();
    let message = format!("The agent '{agent}' has {count}:{}", lines.concat());
    class.fault(message).hint("Fix these errors; nothing was run.")
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The path of the file in the agent's directory.
    pub file: String,
    /// The line, starting with 1; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The JSON path of the value; empty if the whole file is meant.
    pub path: String,
    /// The value; null if it is missing or not worth showing.
    pub value: Value,
    /// The problem, without a full stop.
    pub what: String,
    /// What to do, as a sentence.
    pub remedy: String,
    #[serde(rename = "code", serialize_with = "code")]
    pub class: ErrorClass,
}

fn code<S: Serializer>(class: &ErrorClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.code)
}

impl Problem {
    /// A problem of a whole file.
    pub(crate) fn of_file(
        class: ErrorClass,
        file: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            line: None,
            path: String::new(),
            value: Value::Null,
            what: what.into(),
            remedy: remedy.into(),
            class,
        }
    }
}

impl Problem {
    /// Orders problems by file and line. Those of `agent.json` come first, then those of `steps.json`.
    pub(crate) fn in_order(problems: &mut [Self]) {
        problems.sort_by_cached_key(|problem| {
            let file = match problem.file.as_str() {
                AGENT_FILE => 0,
                STEPS_FILE => 1,
                _ => 2,
            };
            (file, problem.file.clone(), problem.line, problem.path.clone())
        });
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.path.is_empty() {
            write!(f, ", {}", self.path)?;
        }
        if !self.value.is_null() {
            write!(f, " ({})", cut(&self.value))?;
        }
        write!(f, ": {}. {}", self.what, self.remedy)
    }
}

/// A value as JSON, cut to [`MAX_VALUE_CHARS`].
fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl JsonLocation {
    pub(crate) fn problem(&self, class: ErrorClass, value: Value, what: String, remedy: String) -> Problem {
        let (file, path) = (self.file.to_owned(), self.path.clone());
        Problem { file, line: None, path, value, what, remedy, class }
    }
}
