//! Validates a definition. All problems are reported together, each with its file, JSON path, value, description and remedy.

mod agent;
mod branches;
mod completion;
mod flow;
mod parameters;
mod prompts;
mod schemas;
mod steps;
mod sub_steps;
mod targets;
#[cfg(test)]
mod tests;
mod transitions;

pub(crate) use schemas::schema_problem;

use std::ops::Deref;

use autonoe_core::fault::Fault;
use serde_json::Value;

use crate::definition::AgentDefinition;
use crate::json_location::JsonLocation;
use crate::problem::{self, ValidationResult};
use crate::unread::Unread;

/// The most steps of an agent.
pub const STEPS_LIMIT: usize = 500;

/// Finds all problems of a definition.
pub fn validate(definition: &AgentDefinition) -> ValidationResult {
    validate_read(definition, Unread::default())
}

/// Finds all problems of what could be read of a definition. The rest of it are placeholders.
pub(crate) fn validate_read(definition: &AgentDefinition, unread: Unread) -> ValidationResult {
    let mut result = ValidationResult { unread, ..ValidationResult::default() };
    if definition.steps.steps.len() > STEPS_LIMIT {
        let count = definition.steps.steps.len();
        let what = format!("there are {count} steps; an agent can have at most {STEPS_LIMIT}");
        result.error(&JsonLocation::steps("steps"), Value::Null, what, "Split it into several agents.");
        return result;
    }
    agent::check(definition, &mut result);
    parameters::check(definition, &mut result);
    steps::check(definition, &mut result);
    prompts::check(definition, &mut result);
    completion::check(definition, &mut result);
    flow::check(definition, &mut result);
    result
}

/// A definition without errors.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidatedDefinition(AgentDefinition);

impl TryFrom<AgentDefinition> for ValidatedDefinition {
    type Error = Fault;

    fn try_from(definition: AgentDefinition) -> Result<Self, Fault> {
        let result = validate(&definition);
        if result.valid() {
            return Ok(Self(definition));
        }
        Err(problem::fault(definition.name(), &result.errors))
    }
}

impl ValidatedDefinition {
    pub fn into_inner(self) -> AgentDefinition {
        self.0
    }
}

impl Deref for ValidatedDefinition {
    type Target = AgentDefinition;

    fn deref(&self) -> &AgentDefinition {
        &self.0
    }
}
