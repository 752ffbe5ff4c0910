//! `autonoe agent`

mod examples;
mod init;
mod list;
mod rehearse;
mod run;
mod show;
mod validate;

use std::path::PathBuf;

use autonoe_core::fault::Fault;
use autonoe_store::Project;
use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::{find, load};
use clap::{Args, Subcommand};

use crate::arguments::ProjectArgs;
use crate::environment::Environment;

/// Run agents that are described in files
///
/// An agent is a directory, .autonoe/agents/NAME, with agent.json (what it is given, what it may do, when it is done), steps.json (its
/// steps, how each is checked, and where it leads) and prompts/. It runs unattended with the gates, the sandbox, the limits and the
/// journal of `autonoe run`. docs/declarative-agents.md says how they are written.
#[derive(Debug, Args)]
pub struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// List the agents of the project
    List(list::ListArgs),
    /// Draw an agent's steps and where they lead
    Show(show::ShowArgs),
    /// Find everything that is wrong with a definition
    Validate(validate::ValidateArgs),
    /// Write a first definition, or one of the examples
    Init(init::InitArgs),
    /// Run an agent to its end
    Run(Box<run::RunArgs>),
    /// Print the JSON Schema of agent.json or steps.json
    Schema(show::SchemaArgs),
}

/// Does what was asked.
pub fn cmd_agent(args: AgentArgs, environment: &Environment) -> Result<u8, Fault> {
    match args.command {
        AgentCommand::List(args) => list::cmd_list(&args, environment),
        AgentCommand::Show(args) => show::cmd_show(&args, environment),
        AgentCommand::Validate(args) => validate::cmd_validate(&args, environment),
        AgentCommand::Init(args) => init::cmd_init(&args, environment),
        AgentCommand::Run(args) => run::cmd_run(*args, environment),
        AgentCommand::Schema(args) => show::cmd_schema(&args),
    }
}

/// Where the agents of a project are.
fn directory(project: &Project) -> PathBuf {
    project.root().join(".autonoe/agents")
}

/// Reads one agent of a project.
fn read(
    name: &str,
    project: &ProjectArgs,
    environment: &Environment,
) -> Result<(Project, AgentDefinition), Fault> {
    let project = environment.project(project)?;
    let definition = load(&find(&directory(&project), name)?)?;
    Ok((project, definition))
}
