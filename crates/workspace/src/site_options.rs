//! How a run uses its workspace, and when its commits land.

use crate::hub_layout::WORKSPACE;
use crate::landing::LandingTarget;
use crate::own_edits::OwnEditedFile;

/// The workspace of `sync`, apart from the other, so that nothing of it can ever land.
const THROWAWAY: &str = "sync";

/// When commits come to the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LandWhen {
    /// After a session in which a deliverable passed.
    #[default]
    Passed,
    /// After a session in which a deliverable was verified.
    Verified,
    /// When the run ends.
    End,
    Never,
}

/// How a run uses its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteOptions {
    pub when: LandWhen,
    pub target: LandingTarget,
    /// The user's uncommitted changes become the first commit.
    pub includes_uncommitted: bool,
    /// Agents see uncommitted changes, and nothing that they do comes home but their note.
    pub is_throwaway: bool,
    /// The workspace of an agent that may work at the same time as others; `None` for `run` and `sync`.
    pub slot: Option<String>,
    /// What the run itself edits in the user's checkout; `None` if it edits nothing.
    pub own_edits: Option<OwnEditedFile>,
}

impl SiteOptions {
    /// The name of the workspace.
    pub fn workspace(&self) -> &str {
        match &self.slot {
            Some(slot) => slot,
            None if self.is_throwaway => THROWAWAY,
            None => WORKSPACE,
        }
    }
}
