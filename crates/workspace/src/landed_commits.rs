//! Which commits have landed, so that those that the user has removed from the branch since are known.

use std::collections::HashSet;
use std::io::{self, Write as _};

use autonoe_core::fault::Fault;
use autonoe_files::{DOCUMENT_LIMIT, read_text};

use crate::hub::Hub;
use crate::project_revision::ProjectRevision;

/// The file of the hub that lists them, the last one last.
const FILE: &str = "landed-commits";

/// How many are remembered.
const REMEMBERED: usize = 1000;

/// Lists the commits that `$2` has and `$3` does not; in the repository `$1`.
const BEYOND: &str = r#"git --git-dir="$1" rev-list "$2" "^$3""#;

impl Hub {
    fn landed_commits(&self) -> Vec<String> {
        let text = read_text(&self.layout.directory().join(FILE), DOCUMENT_LIMIT).ok().flatten();
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub(crate) fn record_landed_commit(&self, commit: &str) -> io::Result<()> {
        let landed = self.landed_commits();
        let kept = landed.len().saturating_sub(REMEMBERED - 1);
        let lines = landed[kept..].iter().map(String::as_str).chain([commit]);
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        lines.into_iter().try_for_each(|line| writeln!(file, "{line}"))?;
        file.persist(self.layout.directory().join(FILE)).map(drop).map_err(|error| error.error)
    }

    /// Whether the commit is, or is built on, one that had landed and that the user's branch no longer has.
    pub(crate) async fn was_removed(&self, commit: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let landed: HashSet<String> = self.landed_commits().into_iter().collect();
        let Some(head) = from.commit.as_deref().filter(|head| !landed.is_empty() && *head != commit) else {
            return Ok(false);
        };
        let room = self.room(self.layout.readable(), [])?;
        let git = self.layout.git_dir().display().to_string();
        let beyond = room.run(BEYOND, [git.as_str(), commit, head]).await;
        room.close().await;
        Ok(beyond?.stdout.lines().any(|commit| landed.contains(commit)))
    }
}
