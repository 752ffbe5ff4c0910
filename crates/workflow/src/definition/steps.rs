//! `steps.json`: the steps with their prompts, checks and transitions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::ProjectAccess;
use super::completion::default_time_limit;

/// The default of `maxRetries`.
pub const DEFAULT_MAX_RETRIES: u32 = 3;

/// `steps.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepsFile {
    /// The location of the JSON Schema of this file, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The version of the file, such as 1.0.0.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub version: String,
    /// The first step.
    pub entry_step: String,
    /// The steps, by name.
    pub steps: BTreeMap<String, Step>,
}

/// A step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The type of the step.
    #[serde(rename = "type", default)]
    pub kind: StepKind,
    /// The purpose of the step, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The prompt. A gateway needs none if it branches on the answer of an earlier step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
    /// How the session relates to earlier sessions.
    #[serde(default)]
    pub session: Continuity,
    /// Whether the session may change files of the project; at most what the agent may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ProjectAccess>,
    /// Variables from the answers of other steps, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, StepInput>,
    /// The JSON Schema of the structured answer that the session must return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Commands that run in the sandbox after the session, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// The check that decides whether the step passes. Without a check, the step always passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<StepCheck>,
    /// For a gateway: the next step by the value of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The next step. Without it, the steps are finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The sub-steps, which run one after the other, after the step's own prompt if it has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<String>,
    /// Whether sub-steps run one after the other. Only true is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<bool>,
    /// What to do when the step has failed and no retries are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
}

/// The type of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// A step with a prompt.
    #[default]
    Normal,
    /// A step that branches.
    Gateway,
    /// A step that is part of another one.
    SubStep,
}

/// A reference to a prompt in the prompts directory: a path, or one of the longer forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PromptRef {
    /// The path.
    Path(String),
    /// A path with a fallback.
    File(PromptFile),
    /// A C3L reference.
    C3l(C3lPrompt),
}

/// The path of a prompt, with a fallback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptFile {
    /// The path.
    pub path: String,
    /// The path that is used if the file does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// A prompt by its C3L parts. The file is `C1/C2/C3/f_EDITION_ADAPTATION.md`, or `C1/C2/C3/f_EDITION.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PromptPlace")]
pub struct C3lPrompt {
    /// The first directory: the actor.
    pub c1: String,
    /// The second directory: the action.
    pub c2: String,
    /// The third directory: the target.
    pub c3: String,
    /// The edition.
    #[serde(default = "default_edition")]
    pub edition: String,
    /// The adaptation of the edition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<String>,
    /// The path that is used if no such file exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

fn default_edition() -> String {
    "default".to_owned()
}

/// How a session relates to earlier sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Continuity {
    /// It starts a new conversation.
    #[default]
    Fresh,
    /// It resumes the conversation of the last session.
    Resume,
    /// It starts a new conversation with a summary of each earlier iteration.
    History,
}

/// A variable from the answer of another step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Input")]
pub struct StepInput {
    /// The step and a field of its answer, such as `plan.summary`. A step alone means its whole answer, or its response.
    pub from: String,
    /// Whether a missing value is an error.
    #[serde(default = "is_required")]
    pub required: bool,
    /// The value if the step has not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

fn is_required() -> bool {
    true
}

/// A command that runs in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// The name by which a check refers to the action.
    #[serde(rename = "type")]
    pub kind: String,
    /// The shell command, or the parameter whose value is the command.
    pub command: ActionCommand,
    /// The time limit, in seconds.
    #[serde(default = "default_time_limit")]
    #[schemars(range(min = 1, max = 3_600))]
    pub time_limit: u64,
}

/// The command of an action: a text, or a parameter. Variables are not replaced in it: a value that a model wrote would otherwise
/// become part of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ActionCommand {
    /// The command.
    Text(String),
    /// The parameter whose value is the command.
    Parameter(CommandParameter),
}

/// A parameter whose value is a shell command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandParameter {
    /// The name of the parameter, a string that is required or has a default.
    pub parameter: String,
}

impl ActionCommand {
    /// The command with these arguments; blank if the parameter has no value.
    pub fn text<'a>(&'a self, arguments: &'a BTreeMap<String, Value>) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Parameter(CommandParameter { parameter }) => {
                arguments.get(parameter).and_then(Value::as_str).unwrap_or_default()
            }
        }
    }
}

/// Decides whether a step has passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Check")]
pub enum StepCheck {
    /// A separate session, which may only read, decides.
    Prompt {
        /// The prompt of that session.
        prompt: PromptRef,
        /// The transition if the step passes. The default is the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// The transition if the step fails. By default, the step is retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
    /// The result of one of the step's actions decides.
    Action {
        /// The `type` of the action.
        action: String,
        /// The transition if the step passes. The default is the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// The transition if the step fails. By default, the step is retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
    /// The step passes if the response contains one of the keywords. They are case-sensitive.
    Keyword {
        /// The keywords, one of which is enough.
        keywords: Vec<String>,
        /// The transition if the step passes. The default is the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// The transition if the step fails. By default, the step is retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
}

impl StepCheck {
    pub fn on_pass(&self) -> Option<&Transition> {
        match self {
            Self::Prompt { on_pass, .. } | Self::Action { on_pass, .. } | Self::Keyword { on_pass, .. } => {
                on_pass.as_ref()
            }
        }
    }

    pub fn on_fail(&self) -> Option<&Transition> {
        match self {
            Self::Prompt { on_fail, .. } | Self::Action { on_fail, .. } | Self::Keyword { on_fail, .. } => {
                on_fail.as_ref()
            }
        }
    }
}

/// What follows a check: a step, the end, or a retry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transition {
    /// The agent is done, regardless of its completion condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Run the same step with the same prompt again. Only for a failed check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// How a step is retried: `true` or a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Retry {
    /// `true` for three retries and then an error, `false` for none.
    Flag(bool),
    /// The number of retries, and what follows.
    Policy(RetryPolicy),
}

/// How often a step is retried, and what follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryPolicy {
    /// The number of retries; 0 for none.
    #[serde(default = "default_max_retries")]
    #[schemars(range(min = 0, max = 1_000))]
    pub max_retries: u32,
    /// What to do when all retries have failed.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    /// The next step if `onExhausted` is `fallback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_step: Option<String>,
}

fn default_max_retries() -> u32 {
    DEFAULT_MAX_RETRIES
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: DEFAULT_MAX_RETRIES, on_exhausted: OnExhausted::Error, fallback_step: None }
    }
}

impl Retry {
    /// `None` if there are no retries.
    pub fn policy(&self) -> Option<RetryPolicy> {
        match self {
            Self::Flag(true) => Some(RetryPolicy::default()),
            Self::Flag(false) => None,
            Self::Policy(policy) => Some(policy.clone()),
        }
    }
}

/// What to do when all retries have failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExhausted {
    /// The step has failed.
    #[default]
    Error,
    /// Continue with another step.
    Fallback,
    /// Continue with the next step.
    Skip,
}

/// How a gateway branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Branch {
    /// The step whose answer decides. The default is the gateway itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The field of the answer, such as `verdict` or `next_action.kind`.
    pub field: String,
    /// The next step for each value; null finishes the steps.
    pub targets: BTreeMap<String, Option<String>>,
    /// The next step for any other value. Without it, any other value is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What to do when a step has failed and no retries are left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Escalation {
    /// A step, the URL of a webhook, or a name for the log.
    pub escalate_to: String,
    /// The method. By default, a step is entered, a URL is notified, and anything else is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification_method: Option<Notification>,
    /// What follows the escalation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_flow: Option<ReturnFlow>,
    /// How often the step may escalate in one run.
    #[serde(default = "default_max_times")]
    #[schemars(range(min = 1, max = 100))]
    pub max_times: u32,
}

/// The default of `maxTimes`.
const DEFAULT_MAX_TIMES: u32 = 3;

fn default_max_times() -> u32 {
    DEFAULT_MAX_TIMES
}

/// The method of an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notification {
    /// Enter another step.
    InAgent,
    /// Notify an external service.
    Webhook,
    /// Only write to the log.
    Log,
}

/// What follows an escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReturnFlow {
    /// The step that escalated runs again.
    Resume,
    /// The agent ends.
    Abort,
    /// The agent starts over from its first step.
    Restart,
}

impl Escalation {
    pub fn method(&self, steps: &StepsFile) -> Notification {
        self.notification_method.unwrap_or_else(|| {
            if steps.steps.contains_key(&self.escalate_to) {
                Notification::InAgent
            } else if self.escalate_to.contains("://") {
                Notification::Webhook
            } else {
                Notification::Log
            }
        })
    }

    /// By default, the agent resumes after another step helped, and ends after a notification.
    pub fn flow(&self, steps: &StepsFile) -> ReturnFlow {
        self.return_flow.unwrap_or(match self.method(steps) {
            Notification::InAgent => ReturnFlow::Resume,
            Notification::Webhook | Notification::Log => ReturnFlow::Abort,
        })
    }
}
