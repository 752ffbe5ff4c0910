//! `autonoe unblock`

use autonoe_core::clock::Clock as _;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal};
use autonoe_report::one_line;
use autonoe_store::{ControlDirectory, LockHolder, ProjectUse, StatusStore};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use jiff::tz::TimeZone;

use crate::completion_candidates;
use crate::environment::Environment;
use crate::lock_project::lock_project;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::SystemClock;

/// Make blocked deliverables pending again, once what blocked them is resolved
#[derive(Debug, Args)]
pub struct UnblockArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Ids of deliverables
    #[arg(required_unless_present = "all", value_name = "ID", add = ArgValueCandidates::new(completion_candidates::deliverables))]
    ids: Vec<String>,

    /// Everything that is blocked
    #[arg(long, conflicts_with = "ids")]
    all: bool,

    /// What has changed; the next session reads it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

pub fn cmd_unblock(args: &UnblockArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    project.check_writable()?;
    let now = SystemClock.now();
    let holder =
        LockHolder { pid: std::process::id(), command: "unblock".to_owned(), since: now, socket: None };
    let _locked = lock_project(&project, &holder, ProjectUse::Deliverables)?;
    let mut unblocked = Vec::new();
    let edited = StatusStore::edit(&project, now.to_zoned(TimeZone::UTC).date(), |status| {
        unblocked = blocked_ids(status, args)?;
        unblocked.iter().try_for_each(|id| status.set_status(id, DeliverableStatus::Pending).map(drop))
    });
    edited.map_err(|error| match error {
        ChangeError::Fault(fault) => fault,
        ChangeError::Refused(refusal) => {
            Fault::permanent(FaultLayer::Config, "not_blocked", format!("{refusal}."))
                .hint("`autonoe status` lists the deliverables; nothing was changed.")
        }
    })?;
    if let Some(note) = args.note.as_ref().filter(|_| !unblocked.is_empty()) {
        ControlDirectory::of(&project).tell(&format!("About {}: {note}", unblocked.join(", ")))?;
    }
    present::print(&match unblocked.is_empty() {
        true => "Nothing is blocked.\n".to_owned(),
        false => {
            // Tasks of a roadmap need no specification.
            let run = if project.root().join("SPEC.md").exists() { "run" } else { "harness run" };
            format!("Pending again: {}. `autonoe {run}` continues.\n", one_line(&unblocked.join(", ")))
        }
    });
    Ok(exit::DONE)
}

/// The ids that the user names, each of which must be blocked.
fn blocked_ids(status: &ProjectStatus, args: &UnblockArgs) -> Result<Vec<String>, Refusal> {
    let is_blocked =
        |id: &str| status.active().any(|item| item.id == id && item.status == DeliverableStatus::Blocked);
    if args.all {
        let ids = status.active().map(|item| item.id.clone());
        return Ok(ids.filter(|id| is_blocked(id)).collect());
    }
    for id in &args.ids {
        let item = status.find(id).ok_or_else(|| Refusal::NotFound(id.clone()))?;
        if !is_blocked(id) {
            return Err(Refusal::Validation(format!("Deliverable \"{id}\" is {}, not blocked", item.status)));
        }
    }
    Ok(args.ids.clone())
}
