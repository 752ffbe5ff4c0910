//! `autonoe agent list`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workflow::{Inspection, criteria, inspect, list};
use clap::Args;
use serde_json::json;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// List the agents of the project
#[derive(Debug, Args)]
pub struct AgentListArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Includes agents whose definition cannot be read.
pub fn cmd_list(args: &AgentListArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let mut rows = Vec::new();
    for directory in list(&project.agents_dir())? {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        rows.push(match inspect(&directory) {
            Ok(Inspection { definition: Some(definition), result }) => {
                let state = match result.errors.len() {
                    0 => "ready".to_owned(),
                    count => format!("{count} error(s)"),
                };
                let done = criteria(&definition.agent.completion);
                let steps = definition.steps.steps.len();
                (name, steps, done, state, definition.agent.description)
            }
            Ok(Inspection { definition: None, result }) => {
                let first = result.errors.first().map(ToString::to_string).unwrap_or_default();
                let state = format!("{} error(s)", result.errors.len());
                (name, 0, String::new(), state, first)
            }
            Err(fault) => (name, 0, String::new(), "cannot be read".to_owned(), fault.message),
        });
    }
    if args.json {
        let agents: Vec<_> = rows
            .iter()
            .map(|(name, steps, done, state, description)| {
                json!({ "name": name, "steps": steps, "doneWhen": done, "state": state, "description": description })
            })
            .collect();
        present::print_json(&format!("{:#}\n", json!(agents)));
    } else if rows.is_empty() {
        present::print(
            "There are no agents in .autonoe/agents. Create one with `autonoe agent init NAME`.\n",
        );
    } else {
        let rows = rows.into_iter().map(|(name, steps, done, state, description)| {
            [name, steps.to_string(), present::cut(&done, 40), state, present::cut(&description, 60)]
        });
        let header = ["NAME", "STEPS", "DONE WHEN", "STATE", "DESCRIPTION"];
        present::print(&present::table(header, rows, &[]));
    }
    Ok(exit::DONE)
}
