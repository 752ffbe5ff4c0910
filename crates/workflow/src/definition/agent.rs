//! `agent.json`: the name, the parameters, the access and the completion condition of an agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::completion::Completion;

/// The default of `maxIterations`.
pub const DEFAULT_MAX_ITERATIONS: u32 = 100;

/// The default of `stepLoopLimit`.
pub const STEP_LOOP_LIMIT: u32 = 10;

/// `agent.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentFile {
    /// The location of the JSON Schema of this file, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the definition, such as 1.0.0.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub version: String,
    /// The agent's name, which is also the name of its directory.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    pub name: String,
    /// The name shown to users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The purpose of the agent, in one sentence.
    pub description: String,
    /// The parameters, set with `--arg NAME=VALUE`. Each is available as a variable with the same name.
    #[serde(default)]
    pub parameters: BTreeMap<String, AgentParameter>,
    /// The environment variables that are available as variables with the same name. No others are read.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Whether standard input is read and available as the variable `input_text`.
    #[serde(default)]
    pub stdin: bool,
    /// Whether sessions may change files of the project.
    #[serde(default)]
    pub access: ProjectAccess,
    /// The prompt at the start of every new conversation, relative to the prompts directory. The default is `system.md`, if it
    /// exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether a variable without a value is an error. Otherwise its placeholder stays in the prompt, with a warning.
    #[serde(default)]
    pub strict: bool,
    /// The condition for being done. By default, the agent is done when all steps are finished.
    #[serde(default)]
    pub completion: Completion,
    /// The number of iterations after which the agent ends, whether it is done or not.
    #[serde(default = "default_max_iterations")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_iterations: u32,
    /// How many times the same step may run in a row, not counting retries.
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

/// Whether sessions may change files of the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Access")]
pub enum ProjectAccess {
    /// Sessions may only read.
    Read,
    /// Sessions may also write.
    #[default]
    Write,
}

/// A parameter of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Parameter")]
pub struct AgentParameter {
    /// The type of the value.
    #[serde(rename = "type")]
    pub kind: ParameterKind,
    /// The purpose of the parameter.
    #[serde(default)]
    pub description: String,
    /// Whether the parameter must be set.
    #[serde(default)]
    pub required: bool,
    /// The value if the parameter is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Constraints on the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// Any string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Comma-separated strings.
    Array,
}

/// Constraints on a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Validation {
    /// The minimum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The maximum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// A regular expression that the whole string must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The allowed values.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
}
