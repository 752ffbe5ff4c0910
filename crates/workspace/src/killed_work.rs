//! What a killed run has left in its workspace and not brought to the hub, for a user who gives up its commits: all of it is given up.

use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;

use crate::hub::{Hub, UNUSABLE};
use crate::hub_layout::WORKSPACE;
use crate::leftovers::Locks;

/// Whether the repository `$1` of a workspace has continued the commit `$2`.
const CONTINUES: &str = r#"git --git-dir="$1" merge-base --is-ancestor "$2" HEAD"#;

impl Hub {
    /// Brings it into the hub, to the other commits of the run. No agent may be at work. A workspace that cannot be used is left to the next
    /// run, which says so.
    pub async fn fetch_killed_work(&self) -> Result<(), Fault> {
        let Some(last) = self.layout.runs().next() else { return Ok(()) };
        let from = self.update().await?;
        let workspace = self.described(WORKSPACE, &last.branch, &from);
        // Where workers have been, what this workspace had was brought to the hub before.
        let is_merged = self.commit_of(hub_refs::MERGED).as_ref() == Some(&last.commit);
        if is_merged || !workspace.exists() || workspace.problem().is_some() {
            return Ok(());
        }
        let room = self.room(self.layout.readable().into_iter().chain([workspace.tree()]), [])?;
        let args = [workspace.git_dir().as_os_str(), last.commit.as_ref()].map(ToOwned::to_owned);
        let continues = room.run(CONTINUES, args).await;
        room.close().await;
        if continues?.code != 0 {
            return Ok(());
        }
        let fetched = async {
            self.save_leftovers(&workspace, "Save uncommitted work of a killed run", Locks::Stale).await?;
            self.fetch_new(&workspace).await
        };
        match fetched.await {
            Err(fault) if fault.code != UNUSABLE => Err(fault),
            _ => Ok(()),
        }
    }
}
