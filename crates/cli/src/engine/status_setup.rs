//! Prepares status.json before the first session: restores it if it was deleted, or backs it up when the user starts over.

use std::collections::BTreeSet;
use std::path::PathBuf;

use autonoe_core::check::Assurance;
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::journal::Journal as _;
use autonoe_core::plan::StatusReader as _;
use autonoe_core::status::{ChangeError, ProjectStatus};
use autonoe_report::one_line;
use autonoe_store::{CheckRegistry, Project, SqliteJournal, StatusStore};
use jiff::Timestamp;

pub struct StatusSetup<'a> {
    pub project: &'a Project,
    pub status: &'a StatusStore,
    pub journal: &'a SqliteJournal,
    /// Why the deliverables on record are another project's; `None` if they are not.
    pub other_project: Option<&'a str>,
    pub now: Timestamp,
}

impl StatusSetup<'_> {
    /// Restores a deleted `status.json` from the journal, or puts aside what another project left there. Returns the event that reports
    /// it, `None` if the file was there.
    pub async fn restore(&self) -> Result<Option<RunEvent>, Fault> {
        let message = match self.other_project {
            Some(why) => put_aside(self.project, self.status, why, self.now).await?,
            None => self.restored().await?,
        };
        let Some(message) = message else {
            return Ok(None);
        };
        let event = RunEvent::Warning { message };
        self.journal.event(0, &(&event).into()).await?;
        Ok(Some(event))
    }

    async fn restored(&self) -> Result<Option<String>, Fault> {
        let Some(status) = self.status.restore().await? else {
            return Ok(None);
        };
        let tally = status.tally();
        Ok(Some(format!(
            ".autonoe/status.json was deleted since the last run, so it was restored from the journal: {} deliverable(s), {} passed, as of {}. \
             To plan SPEC.md from scratch instead: `autonoe run --start-over`.",
            tally.total, tally.passed, status.updated_at
        )))
    }

    /// Backs up and removes the deliverables and removes the checks that agents proposed for them. Returns a sentence for the user.
    pub async fn start_over(&self) -> Result<String, Fault> {
        let backup = backup_file(self.project, self.now);
        let had_deliverables = self.status.start_over(&backup).await?;
        let mut book = CheckRegistry::load(self.project)?;
        if !book.proposed.is_empty() || !book.assigned.is_empty() {
            book.proposed.clear();
            book.assigned.clear();
            book.save(self.project)?;
        }
        Ok(match had_deliverables {
            true => {
                format!("Starting over: the existing deliverables were backed up to {}.", backup.display())
            }
            false => "Starting over: there were no deliverables to back up.".to_owned(),
        })
    }
}

/// What is said when the file was deleted during the run.
pub fn vanished(restored: &ProjectStatus) -> String {
    let tally = restored.tally();
    format!(
        ".autonoe/status.json was deleted during the run, so it was restored from the journal: {} deliverable(s), {} passed.",
        tally.total, tally.passed
    )
}

/// Makes claimed deliverables pending again that passed with commits which are lost; what was verified is looked at again by checks. Returns a
/// sentence for the user, `None` if there are none.
pub async fn reset_lost(status: &StatusStore, lost: &BTreeSet<String>) -> Result<Option<String>, Fault> {
    let known = if lost.is_empty() { None } else { status.load().await? };
    let items = known.iter().flat_map(|status| status.active()).filter(|item| lost.contains(&item.id));
    let claimed = items.filter(|item| item.assurance() == Some(Assurance::Claimed));
    let ids: Vec<String> = claimed.map(|item| item.id.clone()).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let reset = |status: &mut ProjectStatus, _| {
        let changes = ids.iter().map(|id| status.set_status(id, DeliverableStatus::Pending));
        Ok(((), changes.collect::<Result<Vec<_>, _>>()?))
    };
    status.change(Box::new(reset)).await.map_err(|error| match error {
        ChangeError::Fault(fault) => fault,
        ChangeError::Refused(refusal) => {
            Fault::permanent(FaultLayer::Config, "not_reset", format!("{refusal}."))
        }
    })?;
    Ok(Some(format!(
        "These had passed with commits that your branch does not have, and are pending again: {}.",
        one_line(&ids.join(", "))
    )))
}

/// Puts aside the deliverables that another project left at this path. Returns a sentence for the user, `None` if there is a
/// `status.json`.
pub async fn put_aside(
    project: &Project,
    status: &StatusStore,
    why: &str,
    now: Timestamp,
) -> Result<Option<String>, Fault> {
    let backup = backup_file(project, now);
    Ok(status.put_aside(&backup).await?.then(|| {
        format!(
            "This seems to be another project than the one that was here before: {why}. The deliverables of that one were moved to {}, and \
             SPEC.md is planned from scratch. To keep them instead, copy that file to .autonoe/status.json.",
            backup.display()
        )
    }))
}

fn backup_file(project: &Project, now: Timestamp) -> PathBuf {
    let name = format!("status-{}.json", now.strftime("%Y%m%dT%H%M%SZ"));
    project.state_dir().join("put-aside").join(name)
}
