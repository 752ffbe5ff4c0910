//! `autonoe agent init`

use std::fs;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use autonoe_workflow::check_name;
use clap::{Args, ValueEnum};

use super::{directory, examples};
use crate::arguments::ProjectArgs;
use crate::environment::Environment;
use crate::present;
use crate::write_fault::cannot_write;

/// Write a first definition, or one of the examples
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The agent: small letters, digits and dashes
    name: String,

    /// What to start from
    #[arg(long, value_enum, default_value_t = From::Minimal)]
    from: From,

    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    /// One step, done when a word is said
    Minimal,
    /// Iterates until the tests pass
    IssueFixer,
    /// Reads, and gives a structured verdict
    Reviewer,
    /// Sub-steps, a second pair of eyes and an escalation
    DocsWriter,
}

/// Writes it; nothing that is there is touched.
pub fn cmd_init(args: &InitArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    check_name(&args.name)?;
    let place = directory(&project).join(&args.name);
    if place.symlink_metadata().is_ok() {
        let message = format!("There is an agent {} already, in {}.", args.name, place.display());
        return Err(Fault::lasting(Layer::Config, "agent_exists", message)
            .hint("Choose another name, or take that directory away."));
    }
    let example = match args.from {
        From::Minimal => &examples::MINIMAL,
        From::IssueFixer => &examples::ISSUE_FIXER,
        From::Reviewer => &examples::REVIEWER,
        From::DocsWriter => &examples::DOCS_WRITER,
    };
    let not_written =
        |error: std::io::Error| cannot_write(Layer::System, "agent_not_written", &place, &error);
    for (path, text) in example.files {
        let file = place.join(path);
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
        "Wrote {}\n  autonoe agent show {name}       look at its steps\n  autonoe agent validate {name}   find what is wrong\n  \
         autonoe agent run {name} --dry-run\n",
        place.display(),
        name = args.name,
    ));
    Ok(exit::DONE)
}
