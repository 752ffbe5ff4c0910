//! Where the approaches of an exploration are tried; implemented where workspaces and checks are.

use async_trait::async_trait;
use autonoe_core::fault::Fault;

use crate::recovery::KeptBranch;

/// A workspace that can be set to any commit of its run.
#[async_trait]
pub trait BranchSite: Send + Sync {
    /// Commits what is there, and returns the commit.
    async fn save(&self) -> Result<String, Fault>;

    /// Commits what is there, and keeps all of it under a ref of its own. Doing it again changes nothing.
    async fn keep(&self, approach: &str) -> Result<KeptBranch, Fault>;

    /// Runs the checks of a deliverable on a clean checkout of what was kept last. Returns the number of those that passed.
    async fn checks_passed(&self, deliverable: &str) -> Result<usize, Fault>;

    /// Makes the workspace anew from a commit, which is then the last one of the run.
    async fn go_to(&self, commit: &str) -> Result<(), Fault>;

    /// How the user gets commits that were kept under a ref.
    fn how_to_fetch(&self, reference: &str) -> String;
}
