//! Several approaches of one run: its workspace is made anew for each of them from the same commit, and what each has committed is kept in
//! the hub under a ref of its own. So there is never a second workspace that could be left behind.

use autonoe_core::fault::Fault;
use autonoe_git::write_ref;

use crate::claim_fetch::CheckedCommit;
use crate::hub::{Hub, UNUSABLE};
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;
use crate::workspace_preparation::Preparation;

const REFS: &str = "refs/explored";

/// Characters of a commit in the name of a ref, which therefore never names another commit later.
const SHOWN_COMMIT: usize = 10;

/// The workspace of a run, which can be set to any of its commits.
#[derive(Debug, Clone)]
pub struct WorkspaceBranches {
    pub(crate) hub: Hub,
    pub(crate) workspace: Workspace,
    pub(crate) from: ProjectRevision,
    /// The name of the workspace.
    pub(crate) name: String,
    pub(crate) checked: CheckedCommit,
}

impl WorkspaceBranches {
    /// Commits what is not committed, and fetches all of it. Returns the commit. If the agent has made its repository unusable, it is the
    /// last one that was fetched.
    pub async fn save(&self) -> Result<String, Fault> {
        let saved =
            self.hub.save_leftovers(&self.workspace, "Save uncommitted work of a stuck session").await;
        if let Err(fault) = saved
            && fault.code != UNUSABLE
        {
            return Err(fault);
        }
        match self.hub.fetch_new(&self.workspace).await {
            Err(fault) if fault.code == UNUSABLE => {
                let last = self.hub.last_fetched(&self.workspace);
                last.or_else(|| self.workspace.base().map(str::to_owned)).ok_or(fault)
            }
            fetched => fetched,
        }
    }

    /// As [`Self::save`], and keeps the commit. Returns it with the ref that keeps it.
    pub async fn keep(&self, approach: &str) -> Result<(String, String), Fault> {
        let commit = self.save().await?;
        let short = &commit[..commit.len().min(SHOWN_COMMIT)];
        let reference = format!("{REFS}/{}/{}-{short}", self.workspace.branch(), approach.replace('_', "-"));
        let written = write_ref(&self.hub.layout.git_dir(), &reference, &commit);
        written.map_err(|error| self.hub.unwritable(&error))?;
        Ok((commit, reference))
    }

    /// Makes the workspace anew from a commit that the hub has, which becomes the last one of the run. Ignored files stay.
    pub async fn go_to(&self, commit: &str) -> Result<(), Fault> {
        self.hub.set_current(&self.workspace, commit)?;
        // Nothing may land that was checked on the way to another commit.
        self.checked.set(None);
        let branch = self.workspace.branch();
        let (_, preparation) = self.hub.workspace(&self.name, branch, &self.from.at(commit)).await?;
        if preparation == Preparation::Created {
            self.hub.copy_included(&self.workspace, &self.from).await?;
        }
        self.hub.carry_in(&self.workspace, &self.from)
    }

    /// The command by which the user gets commits that were kept under a ref.
    pub fn how_to_fetch(&self, reference: &str) -> String {
        format!("git fetch {} {reference}", self.hub.layout.git_dir().display())
    }
}
