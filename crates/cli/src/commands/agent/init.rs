//! `autonoe agent init`

use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{UntrustedDir, Visibility};
use autonoe_store::Project;
use autonoe_workflow::check_name;
use clap::{Args, ValueEnum};

use super::examples;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
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
    let target = project.agents_dir().join(&args.name);
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
        |error: io::Error| cannot_write(FaultLayer::System, "agent_not_written", &target, &error);
    for (path, text) in example.files {
        let text = match *path {
            "agent.json" => text.replacen(
                &format!("\"name\": \"{}\"", example.name),
                &format!("\"name\": \"{}\"", args.name),
                1,
            ),
            _ => (*text).to_owned(),
        };
        write(&project, &target.join(path), &text).map_err(not_written)?;
    }
    present::print(&format!(
        "Wrote {}\n  autonoe agent show {name}       show its steps\n  autonoe agent validate {name}   check the definition\n  \
         autonoe agent run {name} --dry-run\n",
        target.display(),
        name = args.name,
    ));
    Ok(exit::DONE)
}

/// Writes a new file. A repository may have links in place of its directories, which are not followed.
pub(super) fn write(project: &Project, file: &Path, text: &str) -> io::Result<()> {
    let below = file.strip_prefix(project.root()).map_err(io::Error::other)?;
    let directory = UntrustedDir::open(project.root())?
        .create_missing(below.parent().unwrap_or(Path::new("")), Visibility::Everyone)?;
    directory.write_missing(below.file_name().unwrap_or_default(), text.as_bytes()).map(drop)
}
