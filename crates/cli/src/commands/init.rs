//! `autonoe init`

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::present;
use crate::write_fault::cannot_write;

const SPEC: &str = include_str!("init/SPEC.md");
const AGENT_CONFIG: &str = include_str!("init/agent.json");

/// Create a starter SPEC.md and configuration
///
/// Creates SPEC.md and .autonoe/agent.json with examples to edit. Existing files are not changed.
#[derive(Debug, Args)]
pub struct InitArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_init(args: &InitArgs) -> Result<u8, Fault> {
    let root = args.project.project_dir.clone().unwrap_or_else(|| ".".into());
    let files = [("SPEC.md", SPEC), (".autonoe/agent.json", AGENT_CONFIG)];
    for (name, content) in files {
        let path = root.join(name);
        let written = create(&path, content)
            .map_err(|error| cannot_write(FaultLayer::Config, "init", &path, &error))?;
        let what = if written { "created" } else { "already exists, not changed" };
        present::print(&format!("{}: {what}\n", path.display()));
    }
    present::print("\nNext: describe in SPEC.md what you want built, then start `autonoe run`.\n");
    Ok(exit::DONE)
}

/// Creates the file and its directories; false if the file exists.
fn create(path: &Path, content: &str) -> io::Result<bool> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(content.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
