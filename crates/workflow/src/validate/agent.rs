//! The head of `agent.json`: versions, name, limits, and the environment variables that are read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problem::{Place, ValidationResult};
use crate::definition::AgentDefinition;
use crate::names;
use crate::prompt_variables::RUNTIME_NAMES;

/// The most iterations that an agent can be given, and the most runs of one step in a row.
pub const ITERATIONS_LIMIT: u32 = 10_000;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    for (at, version) in [
        (Place::agent("version"), &definition.agent.version),
        (Place::steps("version"), &definition.steps.version),
    ] {
        if !names::is_version(version) {
            result.error(
                &at,
                version.as_str(),
                "that is not a version",
                "Write three numbers such as 1.0.0.",
            );
        }
    }
    name(definition, result);
    for (field, value) in [
        ("maxIterations", definition.agent.max_iterations),
        ("stepLoopLimit", definition.agent.step_loop_limit),
    ] {
        if !(1..=ITERATIONS_LIMIT).contains(&value) {
            let remedy = format!("Write a number from 1 to {ITERATIONS_LIMIT}.");
            result.error(&Place::agent(field), value, "that many are not possible", remedy);
        }
    }
    environment(definition, result);
}

fn name(definition: &AgentDefinition, result: &mut ValidationResult) {
    let (at, name) = (Place::agent("name"), definition.name());
    if !names::is_agent(name) {
        let remedy = "Use small letters, digits and hyphens, with a letter first.";
        return result.error(&at, name, "that cannot be the name of an agent", remedy);
    }
    let directory = definition.directory.file_name().map(|name| name.to_string_lossy().into_owned());
    if let Some(directory) = directory.filter(|directory| directory != name) {
        let what = format!("its directory has another name: {directory}");
        result.error(&at, name, what, "Rename one of them, so that the agent is found by its name.");
    }
}

fn environment(definition: &AgentDefinition, result: &mut ValidationResult) {
    let mut seen = BTreeSet::new();
    for (number, name) in definition.agent.environment.iter().enumerate() {
        let at = Place::agent("environment").item(number);
        let value = Value::from(name.as_str());
        if !names::is_environment(name) {
            let remedy = "Use letters, digits and underscores, with no digit first.";
            result.error(&at, value, "that cannot be the name of an environment variable", remedy);
        } else if !seen.insert(name) {
            result.error(&at, value, "it is there twice", "Take one of them away.");
        } else if definition.agent.parameters.contains_key(name) {
            let what = "a parameter has the same name, and only one of them can be the variable";
            result.error(&at, value, what, "Rename the parameter, or take the environment variable away.");
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "a variable of this name is supplied in every run";
            result.error(&at, value, what, "Take it away.");
        }
    }
}
