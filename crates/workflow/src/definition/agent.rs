//! `agent.json`: what an agent is called, what it is given, what it may do, and when it is done.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::completion::Completion;

/// Iterations after which an agent is stopped, if its definition does not say.
pub const DEFAULT_MAX_ITERATIONS: u32 = 100;

/// How often the same step may be run in a row, retries aside, if the definition does not say.
pub const STEP_LOOP_LIMIT: u32 = 10;

/// `agent.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentFile {
    /// Where the JSON Schema of this file is, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The definition's own version, such as 1.0.0.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub version: String,
    /// The agent's name, which is also the name of its directory.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    pub name: String,
    /// The name that people are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What it is for, in a sentence.
    pub description: String,
    /// What it is given when it is started, as `--arg NAME=VALUE`. Each is a variable of the same name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// The names of environment variables that are variables of the same name. No other is read.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Whether what comes on standard input is the variable `input_text`.
    #[serde(default)]
    pub stdin: bool,
    /// Whether its sessions may change files of the project.
    #[serde(default)]
    pub access: Access,
    /// The prompt that stands before every other in a new conversation, in the directory of prompts. Without one, `system.md` if
    /// that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether a variable that has no value is an error. Otherwise its name stays in the prompt, and a warning is given.
    #[serde(default)]
    pub strict: bool,
    /// When it is done. Without a condition: when its steps are through.
    #[serde(default)]
    pub completion: Completion,
    /// How many iterations it has at most. Whether it is done then or not, it ends.
    #[serde(default = "default_max_iterations")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_iterations: u32,
    /// How often the same step may be run in a row, retries aside.
    #[serde(default = "default_step_loop_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    pub step_loop_limit: u32,
}

fn default_max_iterations() -> u32 {
    DEFAULT_MAX_ITERATIONS
}

fn default_step_loop_limit() -> u32 {
    STEP_LOOP_LIMIT
}

/// Whether sessions may change files of the project
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// They may only read.
    Read,
    /// They may write.
    #[default]
    Write,
}

/// Something that an agent is given when it is started
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameter {
    /// What kind of value it is.
    #[serde(rename = "type")]
    pub kind: ParameterKind,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// Its value when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What its value must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
}

/// The kind of a value
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// Any text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Texts, with commas between.
    Array,
}

/// What a value must be like
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Validation {
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// A regular expression that all of a text must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The values that there are.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
}
