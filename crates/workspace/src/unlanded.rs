//! Commits of earlier runs that are in the hub and have not come to the user's branch.

use std::fs;

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_text};

use crate::hub::Hub;
use crate::landing::{Landing, LandingTarget, SelfActingFiles};
use crate::project_revision::ProjectRevision;
use crate::site::WORKSPACE;

/// The commits after `$2`, or all, up to `$3`, and the changes in them; in the repository `$1`.
const SHOW: &str = r#"export GIT_DIR="$1" GIT_PAGER=cat
base=$(git merge-base "$2" "$3" 2> /dev/null) || base=$(git hash-object -t tree /dev/null)
git log --no-color --no-decorate --format='%h %s' "$2..$3" 2> /dev/null
echo
git diff --no-color --no-ext-diff --no-textconv --no-renames --stat --patch "$base" "$3""#;

/// The commits of a run that have not landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlanded {
    /// The branch in the hub, such as `autonoe/7`.
    pub branch: String,
    pub commit: String,
    from: ProjectRevision,
}

impl Hub {
    /// The commits of the last run that are not on the user's branch; `None` if there are none.
    pub async fn unlanded(&self) -> Result<Option<Unlanded>, Fault> {
        let from = self.update().await?;
        let runs =
            fs::read_dir(self.layout.git_dir().join("refs/heads/autonoe")).into_iter().flatten().flatten();
        let numbers = runs.filter_map(|entry| entry.file_name().to_str()?.parse::<i64>().ok());
        let Some(last) = numbers.max() else {
            return Ok(None);
        };
        let branch = format!("autonoe/{last}");
        let reference = self.layout.git_dir().join("refs/heads").join(&branch);
        let Some(commit) = read_text(&reference, SETTINGS_LIMIT).ok().flatten() else {
            return Ok(None);
        };
        let commit = commit.trim().to_owned();
        let is_landed = match &from.commit {
            Some(head) => {
                let room = self.room(self.layout.readable(), [])?;
                let is_landed = self.is_ancestor(&room, &commit, head).await;
                room.close().await;
                is_landed?
            }
            None => false,
        };
        Ok((!is_landed).then_some(Unlanded { branch, commit, from }))
    }

    /// Lands them.
    pub async fn land_unlanded(
        &self,
        unlanded: &Unlanded,
        acting: SelfActingFiles,
    ) -> Result<Landing, Fault> {
        let Unlanded { branch, commit, from } = unlanded;
        let workspace = self.described(WORKSPACE, branch, from);
        self.land(&workspace, commit, from, &LandingTarget::CheckedOut, acting).await
    }

    /// The commits and their changes, as git prints them.
    pub async fn show_unlanded(&self, unlanded: &Unlanded) -> Result<String, Fault> {
        let room = self.room(self.layout.readable(), [])?;
        let git = self.layout.git_dir().display().to_string();
        let head = unlanded.from.commit.as_deref().unwrap_or_default();
        let shown = room.run(SHOW, [git.as_str(), head, &unlanded.commit]).await;
        room.close().await;
        let shown = shown?;
        match shown.code {
            0 => Ok(shown.stdout),
            _ => Err(self.failed(&shown.reason())),
        }
    }
}
