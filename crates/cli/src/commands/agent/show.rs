//! `autonoe agent show` and `autonoe agent schema`

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_workflow::{draw, schema};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use super::definition::load_agent;
use crate::completion_candidates;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Draw an agent's steps and transitions
#[derive(Debug, Args)]
pub struct AgentShowArgs {
    /// Name of the agent
    #[arg(add = ArgValueCandidates::new(completion_candidates::declarative_agents))]
    name: String,

    #[command(flatten)]
    project: ProjectArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    format: ShowFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShowFormat {
    /// Text for a terminal
    Text,
    /// Mermaid flowchart
    Mermaid,
    /// SVG image
    Svg,
    /// The parsed definition
    Json,
}

/// Draws invalid definitions too.
pub fn cmd_show(args: &AgentShowArgs, environment: &Environment) -> Result<u8, Fault> {
    let (_, definition) = load_agent(&args.name, &args.project, environment)?;
    match args.format {
        ShowFormat::Text => present::print(&draw::text(&definition)),
        ShowFormat::Mermaid => present::print_lines(&draw::mermaid(&definition)),
        ShowFormat::Svg => present::print_lines(&draw::svg(&definition)),
        ShowFormat::Json => {
            let parsed = json!({ "agent": definition.agent, "steps": definition.steps });
            present::print_lines(&format!("{parsed:#}\n"));
        }
    }
    Ok(exit::DONE)
}

/// Print the JSON Schema of agent.json or steps.json
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// File to print the schema of
    #[arg(value_enum)]
    file: SchemaFile,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaFile {
    /// agent.json
    Agent,
    /// steps.json
    Steps,
}

pub fn cmd_schema(args: &SchemaArgs) -> Result<u8, Fault> {
    let schema = match args.file {
        SchemaFile::Agent => schema::agent_schema(),
        SchemaFile::Steps => schema::steps_schema(),
    };
    present::print_json(&format!("{schema:#}\n"));
    Ok(exit::DONE)
}
