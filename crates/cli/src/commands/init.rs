//! `autonoe init`

use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{UntrustedDir, Visibility};
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::present;
use crate::spec_template::TEMPLATE;
use crate::write_fault::cannot_write;

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
    let files = [("SPEC.md", TEMPLATE), (".autonoe/agent.json", AGENT_CONFIG)];
    for (name, content) in files {
        let path = root.join(name);
        let written = create(&root, Path::new(name), content)
            .map_err(|error| cannot_write(FaultLayer::Config, "init", &path, &error))?;
        let what = if written { "created" } else { "already exists, not changed" };
        present::print(&format!("{}: {what}\n", path.display()));
    }
    present::print("\nNext: describe in SPEC.md what you want built, then start `autonoe run`.\n");
    Ok(exit::DONE)
}

/// Creates the file and its directories; false if the file exists. A repository may have links in their place, which are not followed.
fn create(root: &Path, name: &Path, content: &str) -> io::Result<bool> {
    fs::create_dir_all(root)?;
    let directory = UntrustedDir::open(&root.canonicalize()?)?
        .create_missing(name.parent().unwrap_or(Path::new("")), Visibility::Everyone)?;
    directory.write_missing(name.file_name().unwrap_or_default(), content.as_bytes())
}
