//! The versions of both files, and the name, limits and environment variables in `agent.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::definition::AgentDefinition;
use crate::json_location::JsonLocation;
use crate::names;
use crate::problem::ValidationResult;
use crate::prompt_variables::RUNTIME_NAMES;

/// The highest `maxIterations` and `stepLoopLimit`.
pub const ITERATIONS_LIMIT: u32 = 10_000;

pub(super) fn check(definition: &AgentDefinition, result: &mut ValidationResult) {
    for (at, version) in [
        (JsonLocation::agent("version"), &definition.agent.version),
        (JsonLocation::steps("version"), &definition.steps.version),
    ] {
        if !names::is_version(version) {
            result.error(&at, version.as_str(), "it is not a version", "Write three numbers such as 1.0.0.");
        }
    }
    name(definition, result);
    for (field, value) in [
        ("maxIterations", definition.agent.max_iterations),
        ("stepLoopLimit", definition.agent.step_loop_limit),
    ] {
        if !(1..=ITERATIONS_LIMIT).contains(&value) {
            let remedy = format!("Write a number from 1 to {ITERATIONS_LIMIT}.");
            result.error(&JsonLocation::agent(field), value, "the number is out of range", remedy);
        }
    }
    environment(definition, result);
}

fn name(definition: &AgentDefinition, result: &mut ValidationResult) {
    let (at, name) = (JsonLocation::agent("name"), definition.name());
    if !names::is_agent(name) {
        let remedy = "Use lowercase letters, digits and hyphens, starting with a letter.";
        return result.error(&at, name, "it is not a valid agent name", remedy);
    }
    let directory = definition.directory.file_name().map(|name| name.to_string_lossy().into_owned());
    if let Some(directory) = directory.filter(|directory| directory != name) {
        let what = format!("its directory has a different name: {directory}");
        result.error(&at, name, what, "Rename one of them; both must be the same.");
    }
}

fn environment(definition: &AgentDefinition, result: &mut ValidationResult) {
    let mut seen = BTreeSet::new();
    for (number, name) in definition.agent.environment.iter().enumerate() {
        let at = JsonLocation::agent("environment").item(number);
        let value = Value::from(name.as_str());
        if !names::is_environment(name) {
            let remedy = "Use letters, digits and underscores, not starting with a digit.";
            result.error(&at, value, "it is not a valid environment variable name", remedy);
        } else if !seen.insert(name) {
            result.error(&at, value, "it is listed twice", "Remove one of them.");
        } else if definition.agent.parameters.contains_key(name) {
            let what = "a parameter has the same name";
            result.error(&at, value, what, "Rename the parameter, or remove the environment variable.");
        } else if RUNTIME_NAMES.contains(&name.as_str()) {
            let what = "the name is reserved for a variable of the run";
            result.error(&at, value, what, "Remove it.");
        }
    }
}
