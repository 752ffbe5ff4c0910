//! Opens the hub of a project for a command that is not a run.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_store::Project;
use autonoe_workspace::{Hub, SiteOptions};

use crate::environment::Environment;
use crate::room_config;
use crate::work_place::WorkPlace;

pub async fn open_hub(project: &Project, environment: &Environment) -> Result<Hub, Fault> {
    open_hub_with(project, environment, false).await
}

/// `no_sandbox` is the option of that name.
pub async fn open_hub_with(
    project: &Project,
    environment: &Environment,
    no_sandbox: bool,
) -> Result<Hub, Fault> {
    let checkouts = room_config::checkouts_outside_runs(project, environment, no_sandbox, &[]).await?;
    let place = WorkPlace::workspace(project, &SiteOptions::default());
    let hub = place.open_hub(project, &checkouts.room_config, ["Autonoe", "autonoe@localhost"], environment);
    hub.ok_or_else(|| Fault::permanent(FaultLayer::System, "workspace", "There is no hub."))
}
