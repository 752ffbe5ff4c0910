//! The processes of a fleet whose state cannot be read, from the locks that they hold.

use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_fleet::FleetLock;
use autonoe_store::{Project, ProjectLock};
use autonoe_workspace::HubLayout;

use crate::environment::Environment;

/// What is wrong with the state of a fleet, with the processes that a person may have to end.
pub fn with_processes(fault: Fault, project: &Project, environment: &Environment) -> Fault {
    match at_work(project, environment) {
        None => fault.hint("No process of a fleet is at work in this project."),
        Some(at_work) => fault.hint(format!("At work: {at_work}.")),
    }
}

/// Refuses to begin while harnesses of a fleet are at work that is not on record any more, as after `git clean`.
pub fn refuse_unknown(project: &Project, environment: &Environment) -> Result<(), Fault> {
    match at_work(project, environment) {
        None => Ok(()),
        Some(at_work) => {
            let message = format!("Harnesses are at work that no record knows: {at_work}.");
            let fault = Fault::permanent(FaultLayer::Config, "fleet_unknown", message);
            Err(fault.hint("End them with `kill` and start again."))
        }
    }
}

/// `None` if no process of a fleet is at work.
pub fn at_work(project: &Project, environment: &Environment) -> Option<String> {
    let supervisor = FleetLock::holder(project.root()).map(|pid| ("the supervisor".to_owned(), pid));
    let at_work = supervisor.into_iter().chain(harnesses(project, environment));
    let at_work: Vec<String> = at_work.map(|(name, pid)| format!("{name} (process {pid})")).collect();
    (!at_work.is_empty()).then(|| at_work.join(", "))
}

/// Ids and processes of the harnesses that work in clones of the project.
fn harnesses(project: &Project, environment: &Environment) -> Vec<(String, u32)> {
    let clones = HubLayout::in_state(project.state_dir()).workspaces();
    // Projects are known by paths without links.
    let clones = clones.canonicalize().unwrap_or(clones);
    let of = |root: &str| {
        let name = Path::new(root).strip_prefix(&clones).ok()?.iter().next()?.to_str()?;
        // `fleet-NUMBER-ID`
        let id = name.strip_prefix("fleet-")?.split_once('-')?.1.to_owned();
        let clone = Project::open(root.as_ref(), &environment.state_home).ok()?;
        Some((id, ProjectLock::holder(&clone)?.pid))
    };
    Project::all_journals(&environment.state_home).iter().filter_map(|(_, root)| of(root)).collect()
}
