//! `autonoe agent`

mod definition;
mod dry_run;
mod examples;
mod import;
mod init;
mod list;
mod run;
mod show;
mod validate;

use autonoe_core::fault::Fault;
use clap::{Args, Subcommand};

use crate::environment::Environment;

/// Run, inspect and create declarative agents
///
/// A declarative agent is a directory, .autonoe/agents/NAME, with agent.json (parameters, permissions, completion condition), steps.json
/// (steps, their checks and transitions) and prompts/. It runs unattended, with the gates, sandbox, limits and journal of `autonoe run`.
/// See docs/declarative-agents.md.
#[derive(Debug, Args)]
pub struct AgentArgs {
    #[command(subcommand)]
    command: AgentSubcommand,
}

#[derive(Debug, Subcommand)]
enum AgentSubcommand {
    /// List the agents of the project
    List(list::AgentListArgs),
    /// Draw an agent's steps and transitions
    Show(show::AgentShowArgs),
    /// Validate an agent's definition
    Validate(validate::AgentValidateArgs),
    /// Create an agent from a template
    Init(init::AgentInitArgs),
    /// Import agents of climpt
    Import(import::AgentImportArgs),
    /// Run an agent
    Run(Box<run::AgentRunArgs>),
    /// Print the JSON Schema of agent.json or steps.json
    Schema(show::SchemaArgs),
}

pub fn cmd_agent(args: AgentArgs, environment: &Environment) -> Result<u8, Fault> {
    match args.command {
        AgentSubcommand::List(args) => list::cmd_list(&args, environment),
        AgentSubcommand::Show(args) => show::cmd_show(&args, environment),
        AgentSubcommand::Validate(args) => validate::cmd_validate(&args, environment),
        AgentSubcommand::Init(args) => init::cmd_init(&args, environment),
        AgentSubcommand::Import(args) => import::cmd_import(&args, environment),
        AgentSubcommand::Run(args) => run::cmd_run(*args, environment),
        AgentSubcommand::Schema(args) => show::cmd_schema(&args),
    }
}
