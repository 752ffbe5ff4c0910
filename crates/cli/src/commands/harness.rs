//! `autonoe harness`

mod dry_run;
mod from_issues;
mod init;
mod run;
mod validate;

use autonoe_core::fault::Fault;
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::task_plan::RoadmapFile;
use clap::{Args, Subcommand};

use crate::backend_name;
use crate::engine::name_in_project;
use crate::environment::Environment;
use crate::project_args::ProjectArgs;

/// Run a roadmap: tasks that depend on each other, with checks and limits of their own
///
/// A roadmap is a Markdown file such as ROADMAP.md. Its tasks run one after another, with the gates, sandbox, limits and journal of `autonoe
/// run`. See docs/roadmaps.md.
#[derive(Debug, Args)]
pub struct HarnessArgs {
    #[command(subcommand)]
    command: HarnessSubcommand,
}

#[derive(Debug, Subcommand)]
enum HarnessSubcommand {
    /// Run the tasks of a roadmap until all of them are completed or blocked
    Run(Box<run::HarnessRunArgs>),
    /// Report every problem of a roadmap, with its line
    Validate(validate::HarnessValidateArgs),
    /// Write a roadmap to start from
    Init(init::HarnessInitArgs),
    /// Add GitHub issues with a label to a roadmap, as tasks
    FromIssues(from_issues::HarnessFromIssuesArgs),
}

pub fn cmd_harness(args: HarnessArgs, environment: &Environment) -> Result<u8, Fault> {
    match args.command {
        HarnessSubcommand::Run(args) => run::cmd_run(&args, environment),
        HarnessSubcommand::Validate(args) => validate::cmd_validate(&args, environment),
        HarnessSubcommand::Init(args) => init::cmd_init(&args, environment),
        HarnessSubcommand::FromIssues(args) => from_issues::cmd_from_issues(&args, environment),
    }
}

/// Reads a roadmap of the project.
fn open_roadmap(
    file: &std::path::Path,
    project: &ProjectArgs,
    environment: &Environment,
) -> Result<(RoadmapFile, Roadmap), Fault> {
    let project = environment.project(project)?;
    let name = name_in_project(&project, file)?;
    let backends = backends(environment)?;
    let backends: Vec<&str> = backends.iter().map(String::as_str).collect();
    RoadmapFile::open(project.root(), &name, &backends)
}

/// Names that `cli` of a task may have.
fn backends(environment: &Environment) -> Result<Vec<String>, Fault> {
    let built_in = backend_name::ALL.iter().map(|backend| backend.name().to_owned());
    Ok(built_in.chain(environment.user_config()?.agents.into_keys()).collect())
}
