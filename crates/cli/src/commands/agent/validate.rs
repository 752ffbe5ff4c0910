//! `autonoe agent validate`

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workflow::{ValidationResult, find, list, load, validate};
use clap::Args;
use serde_json::json;

use super::directory;
use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;

/// Find everything that is wrong with a definition
///
/// Nothing is run and no model is asked. The exit code is 0 if there are no errors, and 2 if there are.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The agent
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,

    /// All agents of the project
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What came of one agent.
struct Found {
    name: String,
    result: Result<ValidationResult, Fault>,
}

impl Found {
    fn is_valid(&self) -> bool {
        self.result.as_ref().is_ok_and(ValidationResult::valid)
    }
}

/// Validates one agent, or all.
pub fn cmd_validate(args: &ValidateArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let agents = directory(&project);
    let places = match &args.name {
        Some(name) => vec![find(&agents, name)?],
        None => list(&agents)?,
    };
    let look = |place: &Path| Found {
        name: place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        result: find(&agents, &place.file_name().unwrap_or_default().to_string_lossy())
            .and_then(|place| load(&place))
            .map(|definition| validate(&definition)),
    };
    let found: Vec<Found> = places.iter().map(|place| look(place)).collect();
    present::print(&if args.json { as_json(&found) } else { as_text(&found) });
    Ok(if found.iter().all(Found::is_valid) { exit::DONE } else { exit::USAGE })
}

fn as_text(found: &[Found]) -> String {
    if found.is_empty() {
        return "There are no agents in .autonoe/agents.\n".to_owned();
    }
    let mut text = String::new();
    for Found { name, result } in found {
        match result {
            Ok(result) => {
                let word = if result.valid() { "valid" } else { "not valid" };
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

fn as_json(found: &[Found]) -> String {
    let agents: Vec<_> = found
        .iter()
        .map(|Found { name, result }| match result {
            Ok(result) => json!({
                "agent": name, "valid": result.valid(), "errors": result.errors, "warnings": result.warnings,
            }),
            Err(fault) => json!({ "agent": name, "valid": false, "errors": [fault], "warnings": [] }),
        })
        .collect();
    format!("{:#}\n", json!(agents))
}
