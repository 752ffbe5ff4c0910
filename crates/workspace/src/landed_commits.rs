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

    /// How much of a commit, and of what it is built on, had landed and is no longer on the user's branch.
    pub(crate) async fn removed(&self, commit: &str, from: &ProjectRevision) -> Result<Removed, Fault> {
        let landed: HashSet<String> = self.landed_commits().into_iter().collect();
        let Some(head) = from.commit.as_deref().filter(|head| !landed.is_empty() && *head != commit) else {
            return Ok(Removed::Nothing);
        };
        let room = self.room(self.layout.readable(), [])?;
        let git = self.layout.git_dir().display().to_string();
        let beyond = room.run(BEYOND, [git.as_str(), commit, head]).await;
        room.close().await;
        let beyond = beyond?.stdout;
        let is_landed = |commit: &str| landed.contains(commit);
        Ok(match beyond.lines().any(is_landed) {
            false => Removed::Nothing,
            true if is_landed(commit) => Removed::All,
            true => Removed::Part,
        })
    }
}

/// What the user has removed from the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    Nothing,
    Part,
    All,
}
