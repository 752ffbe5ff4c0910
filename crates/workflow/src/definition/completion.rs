//! When an agent is done, as `agent.json` has it. Both generations of the original's names are understood.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When an agent is done
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Completion {
    /// When so many iterations are done.
    #[serde(alias = "iterate", alias = "count:iteration")]
    IterationBudget {
        /// How many.
        #[schemars(range(min = 1))]
        max_iterations: u32,
    },
    /// When it was looked so often whether it is done.
    #[serde(alias = "count:check")]
    CheckBudget {
        /// How often.
        #[schemars(range(min = 1))]
        max_checks: u32,
    },
    /// When the agent says one of these words.
    #[serde(alias = "manual", alias = "detect:keyword")]
    KeywordSignal {
        /// The words, any of which will do. Upper and lower case differ.
        #[serde(alias = "completionKeyword", alias = "verdictKeyword", deserialize_with = "one_or_many")]
        #[schemars(with = "Vec<String>")]
        keywords: Vec<String>,
    },
    /// When the structured answer of a step fits.
    #[serde(alias = "detect:structured")]
    StructuredSignal {
        /// The JSON Schema that it must fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// What its `signal` or its `type` must be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal_type: Option<String>,
        /// What its fields must be.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        required_fields: BTreeMap<String, Value>,
    },
    /// When something outside of the agent is in a state.
    #[serde(alias = "poll:state")]
    ExternalState {
        /// What it is.
        resource: Resource,
        /// The state: what a command prints, what a file holds, or the state of an issue. Without one: that the command exits with 0,
        /// that the file is there, that the issue is CLOSED.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_state: Option<String>,
    },
    /// When its steps are through.
    #[default]
    #[serde(alias = "stepFlow", alias = "detect:graph")]
    StepMachine,
    /// When a program says so. It is given the context as JSON on standard input, and answers with
    /// `{"complete": true, "reason": "…"}`.
    #[serde(alias = "meta:custom")]
    Custom {
        /// The program, in the agent's own directory.
        #[serde(alias = "handlerPath")]
        program: String,
        /// How long it may take, in seconds.
        #[serde(default = "default_time_limit")]
        #[schemars(range(min = 1, max = 3_600))]
        time_limit: u64,
    },
    /// When one of several conditions holds, or all of them do.
    #[serde(alias = "facilitator", alias = "meta:composite")]
    Composite {
        /// Whether one is enough.
        #[serde(alias = "operator")]
        mode: Mode,
        /// The conditions, in the order in which they are asked. None of them may be made of others.
        conditions: Vec<Self>,
    },
}

impl Completion {
    /// The conditions that it is made of; of one that is not made of others, it alone.
    pub fn parts(&self) -> &[Self] {
        if let Self::Composite { conditions, .. } = self { conditions } else { std::slice::from_ref(self) }
    }
}

/// How long a program or a command of a definition may take, in seconds, if that does not say.
const DEFAULT_TIME_LIMIT: u64 = 300;

pub(super) fn default_time_limit() -> u64 {
    DEFAULT_TIME_LIMIT
}

/// Whether one condition is enough
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One is.
    #[serde(alias = "or", alias = "first")]
    Any,
    /// All must hold.
    #[serde(alias = "and")]
    All,
}

/// Something outside of the agent
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Resource {
    /// What a command prints, which is run in the sandbox.
    Command {
        /// The command, for a shell.
        command: String,
        /// How long it may take, in seconds.
        #[serde(default = "default_time_limit")]
        #[schemars(range(min = 1, max = 3_600))]
        time_limit: u64,
    },
    /// What a file of the project holds.
    File {
        /// The file.
        path: String,
    },
    /// The state of an issue, as `gh` tells it.
    GithubIssue {
        /// Its number; `{uv-name}` stands for a variable.
        issue: String,
        /// Its repository, as OWNER/NAME; `{uv-name}` stands for a variable.
        repository: String,
    },
}

/// One text where many are possible.
fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}
