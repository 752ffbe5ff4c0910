//! Where the commits of several workers come together, one turn at a time.

use autonoe_core::fault::Fault;
use tokio::sync::Mutex;

use crate::claim_fetch::CheckedCommit;
use crate::hub::Hub;
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;

/// The queue of a run.
#[derive(Debug)]
pub struct MergeQueue {
    pub(crate) hub: Hub,
    /// The workspace of the run itself, whose branch is where the commits come together.
    pub(crate) run: Workspace,
    pub(crate) from: ProjectRevision,
    pub(crate) checked: CheckedCommit,
    pub(crate) turn: Mutex<()>,
}

impl MergeQueue {
    /// The commit that has all that is finished.
    pub(crate) fn finished(&self) -> Result<String, Fault> {
        let finished = self.hub.last_fetched(&self.run).or_else(|| self.from.commit.clone());
        finished.ok_or_else(|| self.hub.failed("nothing is committed yet"))
    }
}
