//! What a declarative agent is made of: what its files say, typed, and nothing about what that means.

mod agent;
mod completion;
mod steps;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use agent::{
    Access, AgentFile, DEFAULT_MAX_ITERATIONS, Parameter, ParameterKind, STEP_LOOP_LIMIT, Validation,
};
pub use completion::{Completion, Mode, Resource};
pub use steps::{
    Action, Branch, Check, Continuity, DEFAULT_MAX_RETRIES, Escalation, Input, Notification, OnExhausted,
    PromptFile, PromptPlace, PromptRef, Retry, RetryPolicy, ReturnFlow, Step, StepKind, StepsFile,
    Transition,
};

/// The file that says what an agent is.
pub const AGENT_FILE: &str = "agent.json";
/// The file that says what its steps are.
pub const STEPS_FILE: &str = "steps.json";
/// The directory of its prompts.
pub const PROMPTS_DIR: &str = "prompts";

/// A declarative agent as its files have it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    /// Its directory.
    pub directory: PathBuf,
    /// `agent.json`.
    pub agent: AgentFile,
    /// `steps.json`.
    pub steps: StepsFile,
    /// Every file of the directory that was read, by its path in it.
    pub files: BTreeMap<String, String>,
}

impl AgentDefinition {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.agent.name
    }

    /// A step; that it exists was seen when the definition was validated.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.steps.get(id)
    }

    /// The parent of a sub-step.
    pub fn parent_of(&self, id: &str) -> Option<&str> {
        let mut steps = self.steps.steps.iter();
        steps.find(|(_, step)| step.sub_steps.iter().any(|sub| sub == id)).map(|(parent, _)| parent.as_str())
    }
}
