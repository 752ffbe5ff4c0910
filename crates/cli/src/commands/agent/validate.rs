//! `autonoe agent validate`

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workflow::{ValidationResult, find, inspect, list};
use clap::Args;
use serde_json::json;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Validate an agent's definition
///
/// Reports every problem. Runs nothing and calls no model. Exits with 0 if there are no errors, with 2 if there are.
#[derive(Debug, Args)]
pub struct AgentValidateArgs {
    /// Name of the agent
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,

    /// Validate all agents of the project
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct ValidatedAgent {
    name: String,
    result: Result<ValidationResult, Fault>,
}

impl ValidatedAgent {
    fn is_valid(&self) -> bool {
        self.result.as_ref().is_ok_and(ValidationResult::valid)
    }
}

pub fn cmd_validate(args: &AgentValidateArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let agents = project.agents_dir();
    let directories = match &args.name {
        Some(name) => vec![find(&agents, name)?],
        None => list(&agents)?,
    };
    let validate_one = |directory: &Path| ValidatedAgent {
        name: directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        result: find(&agents, &directory.file_name().unwrap_or_default().to_string_lossy())
            .and_then(|directory| inspect(&directory))
            .map(|inspection| inspection.result),
    };
    let validated: Vec<ValidatedAgent> =
        directories.iter().map(|directory| validate_one(directory)).collect();
    match args.json {
        true => present::print_json(&as_json(&validated)),
        false => present::print(&as_text(&validated)),
    }
    Ok(if validated.iter().all(ValidatedAgent::is_valid) { exit::DONE } else { exit::USAGE })
}

fn as_text(agents: &[ValidatedAgent]) -> String {
    if agents.is_empty() {
        return "There are no agents in .autonoe/agents.\n".to_owned();
    }
    let mut text = String::new();
    for ValidatedAgent { name, result } in agents {
        match result {
            Ok(result) => {
                let word = if result.valid() { "valid" } else { "invalid" };
                text.push_str(&format!("{name}: {word}\n"));
                for problem in &result.errors {
                    text.push_str(&format!("  error: {problem}\n"));
                }
                for problem in &result.warnings {
                    text.push_str(&format!("  warning: {problem}\n"));
                }
            }
            Err(fault) => {
                let hint = fault.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
                text.push_str(&format!("{name}: cannot be read\n  error: {}{hint}\n", fault.message));
            }
        }
    }
    text
}

fn as_json(agents: &[ValidatedAgent]) -> String {
    let agents: Vec<_> = agents
        .iter()
        .map(|ValidatedAgent { name, result }| match result {
            Ok(result) => json!({
                "agent": name, "valid": result.valid(), "errors": result.errors, "warnings": result.warnings,
            }),
            Err(fault) => json!({ "agent": name, "valid": false, "errors": [fault], "warnings": [] }),
        })
        .collect();
    format!("{:#}\n", json!(agents))
}
