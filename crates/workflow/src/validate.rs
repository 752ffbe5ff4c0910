//! Whether the files of a definition make sense together. All problems are told at once, each with its file, its path in that,
//! what is there, what is wrong with it and what to do.

mod agent;
mod branches;
mod completion;
mod flow;
mod parameters;
mod problem;
mod prompts;
mod schemas;
mod steps;
mod sub_steps;
mod targets;
#[cfg(test)]
mod tests;
mod transitions;

use std::ops::Deref;

use autonoe_core::fault::Fault;
use serde_json::Value;

use crate::definition::AgentDefinition;
use crate::faults::CONFIGURATION_VALIDATION;
use problem::Place;

pub use problem::{Problem, ValidationResult};

/// How many steps an agent may have.
pub const STEPS_LIMIT: usize = 500;

/// Looks at everything that can be wrong. It changes nothing.
pub fn validate(definition: &AgentDefinition) -> ValidationResult {
    let mut result = ValidationResult::default();
    if definition.steps.steps.len() > STEPS_LIMIT {
        let count = definition.steps.steps.len();
        let what = format!("there are {count} steps, and an agent may have at most {STEPS_LIMIT}");
        result.error(&Place::steps("steps"), Value::Null, what, "Make several agents of it.");
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

/// A definition in which nothing is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated(AgentDefinition);

impl TryFrom<AgentDefinition> for Validated {
    type Error = Fault;

    fn try_from(definition: AgentDefinition) -> Result<Self, Fault> {
        let result = validate(&definition);
        if result.valid() {
            return Ok(Self(definition));
        }
        let errors: Vec<String> = result.errors.iter().map(|error| format!("\n  {error}")).collect();
        let count = match errors.len() {
            1 => "one error".to_owned(),
            more => format!("{more} errors"),
        };
        let message = format!("The agent '{}' has {count}:{}", definition.name(), errors.concat());
        Err(CONFIGURATION_VALIDATION.fault(message).hint("Fix what is named; nothing was run."))
    }
}

impl Validated {
    /// The definition.
    pub fn into_inner(self) -> AgentDefinition {
        self.0
    }
}

impl Deref for Validated {
    type Target = AgentDefinition;

    fn deref(&self) -> &AgentDefinition {
        &self.0
    }
}
