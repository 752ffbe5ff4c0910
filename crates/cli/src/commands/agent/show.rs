//! `autonoe agent show` and `autonoe agent schema`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workflow::{draw, schema};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::read;
use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;

/// Draw an agent's steps and where they lead
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The agent
    name: String,

    #[command(flatten)]
    project: ProjectArgs,

    /// How to draw it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// A Mermaid flowchart
    Mermaid,
    /// A picture
    Svg,
    /// The definition as it was understood
    Json,
}

/// Draws it, whether it is right or not.
pub fn cmd_show(args: &ShowArgs, environment: &Environment) -> Result<u8, Fault> {
    let (_, definition) = read(&args.name, &args.project, environment)?;
    present::print(&match args.format {
        Format::Text => draw::text(&definition),
        Format::Mermaid => draw::mermaid(&definition),
        Format::Svg => draw::svg(&definition),
        Format::Json => format!("{:#}\n", json!({ "agent": definition.agent, "steps": definition.steps })),
    });
    Ok(exit::DONE)
}

/// Print the JSON Schema of agent.json or steps.json
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of which file
    #[arg(value_enum)]
    file: SchemaOf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaOf {
    /// agent.json
    Agent,
    /// steps.json
    Steps,
}

/// Prints a schema.
pub fn cmd_schema(args: &SchemaArgs) -> Result<u8, Fault> {
    let schema = match args.file {
        SchemaOf::Agent => schema::agent_schema(),
        SchemaOf::Steps => schema::steps_schema(),
    };
    present::print(&format!("{schema:#}\n"));
    Ok(exit::DONE)
}
