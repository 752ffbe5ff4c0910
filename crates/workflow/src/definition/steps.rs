//! `steps.json`: the steps, what each is told, how each is judged, and where it leads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::Access;
use super::completion::default_time_limit;

/// How often a step is tried again, if its definition does not say.
pub const DEFAULT_MAX_RETRIES: u32 = 3;

/// `steps.json`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepsFile {
    /// Where the JSON Schema of this file is, for editors.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The file's own version, such as 1.0.0.
    #[schemars(regex(pattern = r"^\d+\.\d+\.\d+$"))]
    pub version: String,
    /// The step that comes first.
    pub entry_step: String,
    /// The steps by their names.
    pub steps: BTreeMap<String, Step>,
}

/// One step
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// What kind of step it is.
    #[serde(rename = "type", default)]
    pub kind: StepKind,
    /// What it is for, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the agent is told. A gateway needs none: it branches on an answer that was given before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptRef>,
    /// What its session knows of those before it.
    #[serde(default)]
    pub session: Continuity,
    /// Whether its session may change files of the project; at most as much as the agent may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Variables that come from the answers of other steps, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Input>,
    /// The JSON Schema of the answer that its session must give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Commands that are run in the sandbox when its session is over, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// What decides whether it has passed. Without one it passes when it is through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Of a gateway: where the answer leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The step that comes after it. Without one the steps are through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Steps that are part of it. They are run one after the other, after its own prompt if it has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<String>,
    /// That its sub-steps are run one after the other. There is no other way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<bool>,
    /// Who is called for help when it has failed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
}

/// What kind of step it is
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// One that is told something.
    #[default]
    Normal,
    /// One that branches.
    Gateway,
    /// One that is part of another.
    SubStep,
}

/// Where a prompt is, in the directory of prompts: its path, or one of the longer forms
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PromptRef {
    /// Its path.
    Path(String),
    /// Its path, and what is read if there is no such file.
    File(PromptFile),
    /// Its place as C1/C2/C3.
    C3l(PromptPlace),
}

/// The path of a prompt, and what is read if there is no such file
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptFile {
    /// Its path.
    pub path: String,
    /// The path of the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// The place of a prompt: who, what, to what. The file is `C1/C2/C3/f_EDITION.md`, or `f_EDITION_ADAPTATION.md`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptPlace {
    /// Who.
    pub c1: String,
    /// What is done.
    pub c2: String,
    /// To what.
    pub c3: String,
    /// The edition.
    #[serde(default = "default_edition")]
    pub edition: String,
    /// The adaptation of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<String>,
    /// The path of what is read if there is no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

fn default_edition() -> String {
    "default".to_owned()
}

/// What a session knows of those before it
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Continuity {
    /// Nothing.
    #[default]
    Fresh,
    /// Everything: it resumes the conversation of the last session.
    Resume,
    /// A summary of each, which is put before its prompt.
    History,
}

/// A variable that comes from the answer of a step
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// The step and the field of its answer, such as `plan.summary`; a step alone is all of its answer, or what it said.
    pub from: String,
    /// Whether the step must have answered before.
    #[serde(default = "is_required")]
    pub required: bool,
    /// The value if it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

fn is_required() -> bool {
    true
}

/// A command that is run in the sandbox
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// What a check calls it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The command, for a shell.
    pub command: String,
    /// How long it may take, in seconds.
    #[serde(default = "default_time_limit")]
    #[schemars(range(min = 1, max = 3_600))]
    pub time_limit: u64,
}

/// What decides whether a step has passed
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Check {
    /// What another session, which may only read, thinks of it.
    Prompt {
        /// What that is asked.
        prompt: PromptRef,
        /// Where it leads when it passes. Without one: to the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// Where it leads when it fails. Without one: the step is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
    /// What came of one of the step's actions.
    Action {
        /// Which one: its `type`.
        action: String,
        /// Where it leads when it passes. Without one: to the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// Where it leads when it fails. Without one: the step is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
    /// Whether the agent said one of these words. Upper and lower case differ.
    Keyword {
        /// The words, any of which will do.
        keywords: Vec<String>,
        /// Where it leads when it passes. Without one: to the step's `next`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_pass: Option<Transition>,
        /// Where it leads when it fails. Without one: the step is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_fail: Option<Transition>,
    },
}

impl Check {
    /// Where it leads when it passes, if it says so.
    pub fn on_pass(&self) -> Option<&Transition> {
        match self {
            Self::Prompt { on_pass, .. } | Self::Action { on_pass, .. } | Self::Keyword { on_pass, .. } => {
                on_pass.as_ref()
            }
        }
    }

    /// Where it leads when it fails, if it says so.
    pub fn on_fail(&self) -> Option<&Transition> {
        match self {
            Self::Prompt { on_fail, .. } | Self::Action { on_fail, .. } | Self::Keyword { on_fail, .. } => {
                on_fail.as_ref()
            }
        }
    }
}

/// Where a check leads: to a step, to the end, or to another try
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transition {
    /// The agent is done, whatever its condition says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    /// To this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The same step with the same prompt is tried again. Of a failed check only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// How a step is tried again: `true`, or how often and what then
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Retry {
    /// `true`: three times, then it is an error.
    Simply(bool),
    /// How often, and what then.
    Policy(RetryPolicy),
}

/// How often a step is tried again, and what then
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryPolicy {
    /// How often. 0 is never.
    #[serde(default = "default_max_retries")]
    #[schemars(range(min = 0, max = 1_000))]
    pub max_retries: u32,
    /// What then.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    /// The step of `fallback`.
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
    /// The policy; none if there shall be no other try.
    pub fn policy(&self) -> Option<RetryPolicy> {
        match self {
            Self::Simply(true) => Some(RetryPolicy::default()),
            Self::Simply(false) => None,
            Self::Policy(policy) => Some(policy.clone()),
        }
    }
}

/// What happens when a step was tried again in vain
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExhausted {
    /// It has failed.
    #[default]
    Error,
    /// Another step comes instead.
    Fallback,
    /// It is left as it is, and the next one comes.
    Skip,
}

/// Where the answer of a gateway leads
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Branch {
    /// The step whose answer is looked at. Without one: the gateway's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The field of the answer, such as `verdict` or `next_action.kind`.
    pub field: String,
    /// The step for each value; null is the end of the steps.
    pub targets: BTreeMap<String, Option<String>>,
    /// The step for every other value. Without one, another value is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Who is called for help when a step has failed for good
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Escalation {
    /// A step, the address of a webhook, or a name for the log.
    pub escalate_to: String,
    /// How. Without one: a step is gone to, an address is notified, anything else is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification_method: Option<Notification>,
    /// What comes after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_flow: Option<ReturnFlow>,
    /// How often the step may call for help in one run.
    #[serde(default = "default_max_times")]
    #[schemars(range(min = 1, max = 100))]
    pub max_times: u32,
}

/// How often a step may call for help in one run, if its definition does not say.
const DEFAULT_MAX_TIMES: u32 = 3;

fn default_max_times() -> u32 {
    DEFAULT_MAX_TIMES
}

/// How somebody is called for help
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notification {
    /// Another step is gone to.
    InAgent,
    /// A service outside is notified.
    Webhook,
    /// It is logged.
    Log,
}

/// What comes after a call for help
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReturnFlow {
    /// The step that called is tried again.
    Resume,
    /// The agent ends.
    Abort,
    /// The agent starts over from its first step.
    Restart,
}

impl Escalation {
    /// How somebody is called for help.
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

    /// What comes after that: one who was helped goes on, one who has only told somebody ends.
    pub fn flow(&self, steps: &StepsFile) -> ReturnFlow {
        self.return_flow.unwrap_or(match self.method(steps) {
            Notification::InAgent => ReturnFlow::Resume,
            Notification::Webhook | Notification::Log => ReturnFlow::Abort,
        })
    }
}
