//! What happens to the commits of a run.

use autonoe_core::event::HookFile;

use crate::landing::Landing;
use crate::landing_error::LandingRefusal;

/// Something that happened to the commits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteEvent {
    /// Uncommitted files of an agent were committed at the end of its session.
    Saved {
        files: usize,
        /// Files that cannot be committed.
        left: Vec<String>,
    },
    /// Files in the workspace that git ignores, where no check has shown that what is committed suffices.
    Ignored { files: Vec<String> },
    /// Commits or changes of an agent cannot be used; what was fetched before is kept.
    Unusable { why: String },
    /// The user has edited the note since the agent got it, so the agent's is below the user's.
    NoteAppended,
    /// The note of an agent did not come home, because of what the user has in its place.
    NoteKept { why: String },
    Landed {
        branch: String,
        commit: String,
        ci_files: Vec<String>,
        hook_files: Vec<HookFile>,
        filtered_files: Vec<String>,
    },
    /// Commits are on a branch of their own in the user's repository.
    Apart { branch: String, commit: String, why: LandingRefusal },
}

impl SiteEvent {
    pub(crate) fn of_landing(commit: String, landing: Landing) -> Self {
        match landing {
            Landing::Landed { branch, ci_files, hook_files, filtered_files } => {
                Self::Landed { branch, commit, ci_files, hook_files, filtered_files }
            }
            Landing::Apart { branch, why } => Self::Apart { branch, commit, why },
        }
    }
}
