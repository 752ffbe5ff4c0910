//! `autonoe harness validate`

use std::path::PathBuf;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use clap::Args;

use super::open_roadmap;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Report every problem of a roadmap, with its line
///
/// Runs nothing and calls no model. Exits with 0 if there are none, with 2 if there are.
#[derive(Debug, Args)]
pub struct HarnessValidateArgs {
    /// The roadmap, a file in the project
    #[arg(value_name = "FILE", default_value = "ROADMAP.md")]
    file: PathBuf,

    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_validate(args: &HarnessValidateArgs, environment: &Environment) -> Result<u8, Fault> {
    let (file, roadmap) = open_roadmap(&args.file, &args.project, environment)?;
    let done = roadmap.tasks.iter().filter(|task| task.done).count();
    let checks: usize = roadmap.tasks.iter().map(|task| task.checks.len()).sum();
    let undecided = roadmap.tasks.iter().filter(|task| task.checks.is_empty()).count();
    present::print(&format!(
        "{} is valid: {} task(s), {done} done, {checks} check(s), {undecided} task(s) without a check.\n",
        file.name().display(),
        roadmap.tasks.len()
    ));
    Ok(exit::DONE)
}
