//! `autonoe fleet du`: what harnesses and the workspaces of runs occupy.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_files::show_bytes;
use autonoe_fleet::HarnessRow;
use autonoe_store::Project;
use autonoe_workspace::HubLayout;
use clap::Args;
use serde_json::json;

use super::{KnownFleet, NO_FLEET};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;

/// Bytes of a block of the file system, as `stat` counts them.
const BLOCK: u64 = 512;

/// The directory of the workspace in which a run works that has no other agents.
const OF_RUN: &str = "1";

/// Show how much disk space harnesses and agents use
///
/// Of each harness of a fleet: its clone, and its state with the workspaces of its agents and their build output. Of this project, with a fleet
/// or without one: the workspaces of its runs, each with its build output.
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
    let workspaces_of_runs = HubLayout::in_state(project.state_dir()).workspaces();
    let fleet = match KnownFleet::find(&project, environment) {
        Ok(fleet) => Some(fleet),
        Err(fault) if fault.code == NO_FLEET && workspaces_of_runs.is_dir() => None,
        Err(fault) => return Err(fault),
    };
    let harnesses = fleet.as_ref().map(|fleet| &fleet.harnesses[..]).unwrap_or_default();
    let mut sizes: Vec<(String, u64, u64)> = Vec::new();
    for harness in harnesses {
        let Some(directory) = &harness.working_dir else { continue };
        let state = Project::open(directory, &environment.state_home).ok();
        let state = state.map_or(0, |project| disk_use(project.state_dir()));
        sizes.push((harness.id.clone(), disk_use(directory), state));
    }
    let workspaces = workspaces(&workspaces_of_runs, harnesses);
    let shared = disk_use(&project.root().join(".harness/shared"));
    if args.json {
        let harnesses: Vec<_> = sizes
            .iter()
            .map(|(id, clone, state)| json!({ "id": id, "clone_bytes": clone, "state_bytes": state }))
            .collect();
        let workspaces: Vec<_> =
            workspaces.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect();
        let all = json!({ "harnesses": harnesses, "workspaces": workspaces, "shared_bytes": shared });
        present::print_json(&format!("{all:#}\n"));
        return Ok(exit::DONE);
    }
    let of_harnesses = sizes.iter().map(|(_, clone, state)| clone + state);
    let total: u64 = of_harnesses.chain(workspaces.iter().map(|(_, bytes)| *bytes)).sum::<u64>() + shared;
    if fleet.is_some() {
        let rows = sizes
            .into_iter()
            .map(|(id, clone, state)| [id, show_bytes(clone), show_bytes(state)])
            .chain([["shared".to_owned(), show_bytes(shared), String::new()]]);
        present::print_lines(&present::table(["HARNESS", "CLONE", "STATE"], rows, &[1, 2]));
        present::print("\n");
    }
    if !workspaces.is_empty() {
        let rows = workspaces.into_iter().map(|(name, bytes)| [name, show_bytes(bytes)]);
        present::print_lines(&present::table(["WORKSPACE", "SIZE"], rows, &[1]));
        present::print("\n");
    }
    present::print(&format!("In all {}.\n", show_bytes(total)));
    Ok(exit::DONE)
}

/// The workspaces of this project's own runs and agents, and clones that no harness of the fleet has any more, by name.
fn workspaces(directory: &Path, harnesses: &[HarnessRow]) -> Vec<(String, u64)> {
    let is_clone =
        |path: &Path| harnesses.iter().flat_map(|row| &row.working_dir).any(|clone| clone.starts_with(path));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.filter_map(|entry| entry.path().canonicalize().ok()).filter(|path| path.is_dir());
    let mut workspaces: Vec<(String, u64)> = paths
        .filter(|path| !is_clone(path))
        .map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            (if name == OF_RUN { "run".to_owned() } else { name }, disk_use(&path))
        })
        .collect();
    workspaces.sort();
    workspaces
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
