//! `autonoe harness init`

use std::ffi::OsStr;
use std::path::PathBuf;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::UntrustedDir;
use clap::Args;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::write_fault::cannot_write;

const EXAMPLE: &str = include_str!("example.md");

/// Write a roadmap to start from
#[derive(Debug, Args)]
pub struct HarnessInitArgs {
    /// Name of the file in the project; it must not exist
    #[arg(value_name = "FILE", default_value = "ROADMAP.md")]
    file: PathBuf,

    #[command(flatten)]
    project: ProjectArgs,
}

/// Never overwrites a file.
pub fn cmd_init(args: &HarnessInitArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let name = args.file.as_os_str();
    if args.file.components().count() != 1 || args.file.file_name() != Some(name) {
        let message = format!("'{}' is not the name of a file.", args.file.display());
        return Err(Fault::permanent(FaultLayer::Config, "roadmap", message)
            .hint("The roadmap is written to the project directory; leave out the path."));
    }
    let path = project.root().join(name);
    match write(project.root(), name) {
        Ok(true) => {
            present::print(&format!(
                "Wrote {}. Replace its tasks by yours, then: autonoe harness validate, autonoe harness run\n",
                path.display()
            ));
            Ok(exit::DONE)
        }
        Ok(false) => {
            let message = format!("{} already exists.", path.display());
            Err(Fault::permanent(FaultLayer::Config, "roadmap", message)
                .hint("Choose another name, or remove the file."))
        }
        Err(error) => Err(cannot_write(FaultLayer::System, "roadmap", &path, &error)),
    }
}

fn write(root: &std::path::Path, name: &OsStr) -> std::io::Result<bool> {
    UntrustedDir::open(root)?.write_missing(name, EXAMPLE.as_bytes())
}

#[cfg(test)]
mod tests {
    use autonoe_harness::roadmap::Roadmap;

    use super::EXAMPLE;

    #[test]
    fn the_example_is_a_valid_roadmap_with_a_task_of_each_kind() {
        let roadmap = Roadmap::parse(EXAMPLE, &[]).expect("valid");
        assert!(roadmap.tasks.iter().all(|task| !task.done));
        assert!(roadmap.tasks.iter().any(|task| !task.checks.is_empty()));
        assert!(roadmap.tasks.iter().any(|task| task.checks.is_empty() && task.success_criteria.is_some()));
        assert!(roadmap.tasks.iter().any(|task| !task.depends.is_empty()));
    }
}
