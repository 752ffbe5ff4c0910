//! The commits of agents who work in a workspace, as the hub has them. A checkout gets a pack of what its commit reaches beyond the user's own
//! commits, and nothing else that an agent has ever made: no dangling objects, no other commits, no settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::hub_refs::BASE;
pub(crate) use autonoe_core::hub_refs::CURRENT;
use autonoe_sandbox::EgressRules;

use crate::checkout::CheckoutFactory;
use crate::git;
use crate::repository_query::RepositoryQuery;

/// Packs what the commit `$3` of the repository `$1` reaches beyond the user's commit, into the repository `$2`. `$4` names the
/// user's commit.
const PACK: &str = r#"base=$(git --git-dir="$1" rev-parse --verify --quiet "$4")
{ echo "$3"; [ -z "$base" ] || echo "^$base"; } |
    git --git-dir="$1" pack-objects --revs --stdout --delta-base-offset --quiet |
    git --git-dir="$2" index-pack --stdin > /dev/null"#;

/// Files of the hub that describe history: where it is cut off, and tags.
const HISTORY: [&str; 2] = ["shallow", "packed-refs"];

/// A repository that only we write, and the object directory of the user's that it borrows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubObjects {
    pub git_dir: PathBuf,
    pub base: PathBuf,
}

impl HubObjects {
    /// All object directories, for rooms in which nothing of the project runs.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        vec![self.git_dir.join("objects"), self.base.clone()]
    }

    /// All that git needs to read.
    fn readable(&self) -> Vec<PathBuf> {
        vec![self.git_dir.clone(), self.base.clone()]
    }
}

impl CheckoutFactory {
    /// A room that may read the hub, and nothing of an agent's.
    pub(crate) fn hub_query(&self, hub: &HubObjects) -> io::Result<RepositoryQuery> {
        let directory = self.directory()?;
        let session_sandbox =
            self.session_sandbox(directory.path(), Some(&hub.readable()), &EgressRules::default());
        Ok(RepositoryQuery { root: hub.git_dir.clone(), session_sandbox, directory })
    }

    /// Gives the repository of a checkout what a commit reaches.
    pub(crate) async fn pack(&self, hub: &HubObjects, tree: &Path, commit: &str) -> Result<(), Fault> {
        let git = tree.join(".git");
        for name in HISTORY {
            match fs::copy(hub.git_dir.join(name), git.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.io_fault(&error)),
                _ => {}
            }
        }
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let room = self.packing_room(directory.path(), &hub.readable(), &git, &EgressRules::default());
        let packing = git::script(&room, PACK).await?;
        let packing =
            packing.args([hub.git_dir.as_os_str(), git.as_os_str(), commit.as_ref(), BASE.as_ref()]);
        let packed = git::output(packing.cwd(directory.path().join("tree"))).await;
        room.close().await;
        match packed? {
            (0, _) => Ok(()),
            (_, output) => {
                let message = format!("Commit {commit} cannot be taken from the hub: {}", output.trim());
                Err(Fault::permanent(FaultLayer::System, "checkout", message))
            }
        }
    }
}
