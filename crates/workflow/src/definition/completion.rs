//! The completion condition in `agent.json`. The aliases are names that the original used in earlier versions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When an agent is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Completion {
    /// Done after a number of iterations.
    #[serde(alias = "iterate", alias = "count:iteration")]
    IterationBudget {
        /// The number of iterations.
        #[schemars(range(min = 1))]
        max_iterations: u32,
    },
    /// Done after this condition was checked a number of times.
    #[serde(alias = "count:check")]
    CheckBudget {
        /// The number of checks.
        #[schemars(range(min = 1))]
        max_checks: u32,
    },
    /// Done when the agent says one of these keywords.
    #[serde(alias = "manual", alias = "detect:keyword")]
    KeywordSignal {
        /// The keywords, one of which is enough. They are case-sensitive.
        #[serde(alias = "completionKeyword", alias = "verdictKeyword", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany")]
        keywords: Vec<String>,
    },
    /// Done when a step returns a structured answer that matches.
    #[serde(alias = "detect:structured")]
    StructuredSignal {
        /// The JSON Schema that the answer must match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// The required value of its `signal` or `type` field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal_type: Option<String>,
        /// Required values of its fields.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        required_fields: BTreeMap<String, Value>,
    },
    /// Done when an external resource is in a state.
    #[serde(alias = "poll:state")]
    ExternalState {
        /// The resource.
        resource: Resource,
        /// The state: the output of a command, the content of a file, or the state of an issue. By default, the command must exit
        /// with 0, the file must exist, and the issue must be CLOSED.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_state: Option<String>,
    },
    /// Done when all steps are finished.
    #[default]
    #[serde(alias = "stepFlow", alias = "detect:graph")]
    StepMachine,
    /// Done when a program says so. It gets the context as JSON on standard input and prints
    /// `{"complete": true, "reason": "…"}`.
    #[serde(alias = "meta:custom")]
    Custom {
        /// The program, relative to the agent's directory.
        #[serde(alias = "handlerPath")]
        program: String,
        /// The time limit, in seconds.
        #[serde(default = "default_time_limit")]
        #[schemars(range(min = 1, max = 3_600))]
        time_limit: u64,
    },
    /// Done when one of several conditions holds, or all of them do.
    #[serde(alias = "facilitator", alias = "meta:composite")]
    Composite {
        /// Whether one condition is enough or all must hold.
        #[serde(alias = "operator")]
        mode: CompositeMode,
        /// The conditions, in the order in which they are checked. A composite cannot contain another one.
        conditions: Vec<Self>,
    },
}

impl Completion {
    /// The parts of a composite; for any other condition, the condition itself.
    pub fn parts(&self) -> &[Self] {
        if let Self::Composite { conditions, .. } = self { conditions } else { std::slice::from_ref(self) }
    }
}

/// The default time limit of a command or a program, in seconds.
const DEFAULT_TIME_LIMIT: u64 = 300;

pub(super) fn default_time_limit() -> u64 {
    DEFAULT_TIME_LIMIT
}

/// Whether one condition is enough or all must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Mode")]
pub enum CompositeMode {
    /// One condition is enough.
    #[serde(alias = "or", alias = "first")]
    Any,
    /// All conditions must hold.
    #[serde(alias = "and")]
    All,
}

/// An external resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Resource {
    /// The output of a command that runs in the sandbox.
    Command {
        /// The shell command.
        command: String,
        /// The time limit, in seconds.
        #[serde(default = "default_time_limit")]
        #[schemars(range(min = 1, max = 3_600))]
        time_limit: u64,
    },
    /// The content of a file of the project.
    File {
        /// The path of the file, relative to the project.
        path: String,
    },
    /// The state of a GitHub issue, looked up with `gh`.
    GithubIssue {
        /// The issue number; may contain variables such as `{uv-name}`.
        issue: String,
        /// The repository, as OWNER/NAME; may contain variables such as `{uv-name}`.
        repository: String,
    },
}

/// Accepts a single string in place of a list.
fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}

/// One string or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The earlier names of conditions, fields and modes, with those of today. Serde has them as aliases, which JSON Schemas lack.
pub const EARLIER_NAMES: [(&str, &str); 19] = [
    ("iterate", "iterationBudget"),
    ("count:iteration", "iterationBudget"),
    ("count:check", "checkBudget"),
    ("manual", "keywordSignal"),
    ("detect:keyword", "keywordSignal"),
    ("detect:structured", "structuredSignal"),
    ("poll:state", "externalState"),
    ("stepFlow", "stepMachine"),
    ("detect:graph", "stepMachine"),
    ("meta:custom", "custom"),
    ("facilitator", "composite"),
    ("meta:composite", "composite"),
    ("completionKeyword", "keywords"),
    ("verdictKeyword", "keywords"),
    ("handlerPath", "program"),
    ("operator", "mode"),
    ("or", "any"),
    ("first", "any"),
    ("and", "all"),
];

/// The name of today, if this is an earlier name of one of `names`; otherwise the name itself.
pub fn current_name<'a>(name: &'a str, names: &[&str]) -> &'a str {
    let earlier = EARLIER_NAMES.iter().find(|(earlier, today)| *earlier == name && names.contains(today));
    earlier.map_or(name, |(_, today)| today)
}
