//! Prepares status.json before the first session: restores it if it was deleted, or backs it up when the user starts over.

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::journal::Journal as _;
use autonoe_store::{CheckRegistry, Project, SqliteJournal, StatusStore};
use jiff::Timestamp;

pub struct StatusSetup<'a> {
    pub project: &'a Project,
    pub status: &'a StatusStore,
    pub journal: &'a SqliteJournal,
}

impl StatusSetup<'_> {
    /// Restores a deleted `status.json` from the journal. Returns the event that reports it, `None` if the file was there.
    pub async fn restore(&self) -> Result<Option<RunEvent>, Fault> {
        let Some(status) = self.status.restore().await? else {
            return Ok(None);
        };
        let tally = status.tally();
        let message = format!(
            ".autonoe/status.json was deleted since the last run, so it was restored from the journal: {} deliverable(s), {} passed, as of {}. \
             To plan SPEC.md from scratch instead: `autonoe run --start-over`.",
            tally.total, tally.passed, status.updated_at
        );
        let event = RunEvent::Warning { message };
        self.journal.event(0, &(&event).into()).await?;
        Ok(Some(event))
    }

    /// Backs up and removes the deliverables and removes the checks that agents proposed for them. Returns a sentence for the user.
    pub async fn start_over(&self, now: Timestamp) -> Result<String, Fault> {
        let name = format!("status-{}.json", now.strftime("%Y%m%dT%H%M%SZ"));
        let backup = self.project.state_dir().join("put-aside").join(name);
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
