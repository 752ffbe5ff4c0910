//! `autonoe fleet du`

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_files::show_bytes;
use autonoe_store::Project;
use clap::Args;
use serde_json::json;

use super::KnownFleet;
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Bytes of a block of the file system, as `stat` counts them.
const BLOCK: u64 = 512;

/// Show how much disk space the harnesses use
///
/// Of each: its clone, and its state with the workspaces of its agents and their build output.
#[derive(Debug, Args)]
pub struct FleetDuArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_du(args: &FleetDuArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let fleet = KnownFleet::find(&project, environment)?;
    let mut sizes: Vec<(String, u64, u64)> = Vec::new();
    for harness in &fleet.harnesses {
        let Some(directory) = &harness.working_dir else { continue };
        let state = Project::open(directory, &environment.state_home).ok();
        let state = state.map_or(0, |project| disk_use(project.state_dir()));
        sizes.push((harness.id.clone(), disk_use(directory), state));
    }
    let shared = disk_use(&project.root().join(".harness/shared"));
    if args.json {
        let harnesses: Vec<_> = sizes
            .iter()
            .map(|(id, clone, state)| json!({ "id": id, "clone_bytes": clone, "state_bytes": state }))
            .collect();
        present::print_json(&format!("{:#}\n", json!({ "harnesses": harnesses, "shared_bytes": shared })));
        return Ok(exit::DONE);
    }
    let total: u64 = sizes.iter().map(|(_, clone, state)| clone + state).sum::<u64>() + shared;
    let rows = sizes
        .into_iter()
        .map(|(id, clone, state)| [id, show_bytes(clone), show_bytes(state)])
        .chain([["shared".to_owned(), show_bytes(shared), String::new()]]);
    present::print_lines(&present::table(["HARNESS", "CLONE", "STATE"], rows, &[1, 2]));
    present::print(&format!("\nIn all {}.\n", show_bytes(total)));
    Ok(exit::DONE)
}

/// What a directory occupies by itself, without following links.
fn disk_use(directory: &Path) -> u64 {
    let mut total = 0;
    let mut queue: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(next) = queue.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            // Objects of the user's repository are linked, not copied.
            let is_shared = metadata.is_file() && metadata.nlink() > 1;
            total += if is_shared { 0 } else { metadata.blocks() * BLOCK };
            if metadata.is_dir() {
                queue.push(entry.path());
            }
        }
    }
    total
}
