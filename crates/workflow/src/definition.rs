//! The definition of a declarative agent: the content of its files as types, without their interpretation.

mod agent;
mod completion;
mod steps;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use agent::{
    AgentFile, AgentParameter, DEFAULT_MAX_ITERATIONS, ParameterKind, ProjectAccess, STEP_LOOP_LIMIT,
    Validation,
};
pub(crate) use completion::current_name;
pub use completion::{Completion, CompositeMode, Resource};
pub use steps::{
    Action, ActionCommand, Branch, C3lPrompt, CommandParameter, Continuity, DEFAULT_MAX_RETRIES, Escalation,
    Notification, OnExhausted, PromptFile, PromptRef, Retry, RetryPolicy, ReturnFlow, Step, StepCheck,
    StepInput, StepKind, StepsFile, Transition,
};

pub const AGENT_FILE: &str = "agent.json";
pub const STEPS_FILE: &str = "steps.json";
pub const PROMPTS_DIR: &str = "prompts";

/// A declarative agent as its files define it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    pub directory: PathBuf,
    pub agent: AgentFile,
    pub steps: StepsFile,
    /// The text files of the directory, by their relative paths.
    pub files: BTreeMap<String, String>,
}

impl AgentDefinition {
    pub fn name(&self) -> &str {
        &self.agent.name
    }

    /// A step. In a validated definition, every step that is referred to exists.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.steps.get(id)
    }

    /// The parent of a sub-step.
    pub fn parent_of(&self, id: &str) -> Option<&str> {
        let mut steps = self.steps.steps.iter();
        steps.find(|(_, step)| step.sub_steps.iter().any(|sub| sub == id)).map(|(parent, _)| parent.as_str())
    }
}
