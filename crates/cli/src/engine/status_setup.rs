//! Prepares status.json before the first session: restores it if it was deleted, or backs it up when the user starts over.

use std::path::PathBuf;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::journal::Journal as _;
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
