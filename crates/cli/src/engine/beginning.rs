//! Before the first session: deliverables that were deleted are restored, and those of a user who starts over are put aside.

use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::journal::Journal as _;
use autonoe_store::{CheckBook, Journal, Project, StatusStore};
use jiff::Timestamp;

/// What a run over deliverables begins with.
pub struct Beginning<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its deliverables.
    pub status: &'a StatusStore,
    /// Its journal.
    pub journal: &'a Journal,
}

impl Beginning<'_> {
    /// Restores `status.json` if somebody has deleted it since the last run; what to say of that.
    pub async fn restore(&self) -> Result<Option<RunEvent>, Fault> {
        let Some(status) = self.status.restore().await? else {
            return Ok(None);
        };
        let tally = status.tally();
        let message = format!(
            ".autonoe/status.json was deleted since the last run, so it was restored from the journal: {} deliverable(s), {} passed, as of {}. \
             To plan SPEC.md anew instead: `autonoe run --start-over`.",
            tally.total, tally.passed, status.updated_at
        );
        let event = RunEvent::Trouble { message };
        self.journal.event(0, &(&event).into()).await?;
        Ok(Some(event))
    }

    /// Puts the deliverables aside, with the checks that agents proposed for them; what to say of that.
    pub async fn start_over(&self, now: Timestamp) -> Result<String, Fault> {
        let name = format!("status-{}.json", now.strftime("%Y%m%dT%H%M%SZ"));
        let aside = self.project.state_dir().join("put-aside").join(name);
        let was_there = self.status.start_over(&aside).await?;
        let mut book = CheckBook::load(self.project)?;
        if !book.proposed.is_empty() || !book.assigned.is_empty() {
            book.proposed.clear();
            book.assigned.clear();
            book.save(self.project)?;
        }
        Ok(match was_there {
            true => format!("Starting over: the deliverables so far were put aside, in {}.", aside.display()),
            false => "Starting over: SPEC.md is planned anew.".to_owned(),
        })
    }
}
