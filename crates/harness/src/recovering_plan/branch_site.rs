//! Where the approaches of an exploration and the attempts of several agents are made; implemented where workspaces and checks are.

use async_trait::async_trait;
use autonoe_core::fault::Fault;

use crate::recovery::{KeptBranch, Rung};

/// What the checks of a deliverable said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchChecks {
    pub passed: usize,
    /// Whether none failed.
    pub holds: bool,
    /// On failure, what is needed to fix it.
    pub message: String,
}

/// What was changed between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchDiff {
    /// Lines added and removed.
    pub lines: usize,
    /// Names of the changed files.
    pub files: Vec<String>,
    /// As a patch. May be cut, and says so then.
    pub patch: String,
}

/// A workspace that can be set to any commit of its run.
#[async_trait]
pub trait BranchSite: Send + Sync {
    /// Commits what is there, and returns the commit.
    async fn save(&self) -> Result<String, Fault>;

    /// Commits what is there, and keeps all of it under a ref of its own. Doing it again changes nothing.
    async fn keep(&self, approach: &str) -> Result<KeptBranch, Fault>;

    /// Runs the checks of a deliverable on a clean checkout of what was kept last.
    async fn examine(&self, deliverable: &str) -> Result<BranchChecks, Fault>;

    async fn diff(&self, from: &str, to: &str) -> Result<BranchDiff, Fault>;

    /// An attempt at this deliverable is being made: claims are not recorded, and nothing lands. `None` ends that.
    fn hold(&self, deliverable: Option<&str>);

    /// Sets a deliverable to passed on behalf of its builder, if the checks confirm that. Returns why not.
    async fn claim(&self, deliverable: &str, builder: &Rung) -> Result<Option<String>, Fault>;

    /// Makes the workspace anew from a commit, which is then the last one of the run.
    async fn go_to(&self, commit: &str) -> Result<(), Fault>;

    /// How the user gets commits that were kept under a ref.
    fn how_to_fetch(&self, reference: &str) -> String;
}
