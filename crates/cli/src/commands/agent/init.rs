//! `autonoe agent init`

use std::fs;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_workflow::check_name;
use clap::{Args, ValueEnum};

use super::definition::agents_directory;
use super::examples;
use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;
use crate::write_fault::cannot_write;

/// Create an agent from a template
#[derive(Debug, Args)]
pub struct AgentInitArgs {
    /// Name of the agent: lowercase letters, digits and dashes
    name: String,

    /// Template to start from
    #[arg(long, value_enum, default_value_t = AgentTemplate::Minimal)]
    from: AgentTemplate,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AgentTemplate {
    /// One step, done when the agent says a keyword
    Minimal,
    /// Iterates until the tests pass
    IssueFixer,
    /// Reads only and returns a structured verdict
    Reviewer,
    /// Sub-steps, a review by a second agent, and an escalation
    DocsWriter,
}

/// Never overwrites an existing agent.
pub fn cmd_init(args: &AgentInitArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    check_name(&args.name)?;
    let target = agents_directory(&project).join(&args.name);
    if target.symlink_metadata().is_ok() {
        let message = format!("The agent {} already exists in {}.", args.name, target.display());
        return Err(Fault::permanent(FaultLayer::Config, "agent_exists", message)
            .hint("Choose another name, or remove that directory."));
    }
    let example = match args.from {
        AgentTemplate::Minimal => &examples::MINIMAL,
        AgentTemplate::IssueFixer => &examples::ISSUE_FIXER,
        AgentTemplate::Reviewer => &examples::REVIEWER,
        AgentTemplate::DocsWriter => &examples::DOCS_WRITER,
    };
    let not_written =
        |error: std::io::Error| cannot_write(FaultLayer::System, "agent_not_written", &target, &error);
    for (path, text) in example.files {
        let file = target.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(not_written)?;
        }
        let text = match *path {
            "agent.json" => text.replacen(
                &format!("\"name\": \"{}\"", example.name),
                &format!("\"name\": \"{}\"", args.name),
                1,
            ),
            _ => (*text).to_owned(),
        };
        fs::write(&file, text).map_err(not_written)?;
    }
    present::print(&format!(
        "Wrote {}\n  autonoe agent show {name}       show its steps\n  autonoe agent validate {name}   check the definition\n  \
         autonoe agent run {name} --dry-run\n",
        target.display(),
        name = args.name,
    ));
    Ok(exit::DONE)
}
