//! A file of the user's that a run edits too, such as the roadmap whose boxes it checks.

use std::path::Path;

pub trait OwnEdits: Send + Sync {
    /// Relative to the project.
    fn name(&self) -> &Path;

    /// The message for a commit, if the run wrote all that differs between these texts; `None` if the user did too.
    fn describe(&self, committed: &str, now: &str) -> Option<String>;
}
