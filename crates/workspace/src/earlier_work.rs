//! What an earlier run has left in a workspace, and whether the next one goes on with it.

use std::fs;
use std::io;

use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::{GitRoom, is_hash};

use crate::hub::Hub;
use crate::hub_layout::RunTip;
use crate::merging::Merge;
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;
use crate::workspace_head::head_commit;

/// What a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A killed run is continued: its workspace stays as it is.
    Resumed,
    /// A new run: the workspace is restored to the user's last commit, unless it has commits beyond it.
    New,
}

/// What a run finds in its workspace.
#[derive(Debug)]
pub(crate) enum EarlierWork {
    /// Nothing to go on with. Whatever was committed is kept in the hub.
    None,
    Continued(Workspace),
    /// Work that does not go together with the user's commits; sentences for the user.
    LeftBehind(String),
}

impl Hub {
    /// The workspace of a killed run that is resumed, or of an earlier one whose commits have not landed. If the user has committed since, both
    /// are merged.
    pub(crate) async fn earlier_work(
        &self,
        name: &str,
        branch: &str,
        from: &ProjectRevision,
        start: Start,
    ) -> Result<EarlierWork, Fault> {
        let existing = self.described(name, branch, from);
        if !existing.exists() {
            return Ok(EarlierWork::None);
        }
        let finished = self.finished_beyond(&existing);
        let commit = match &finished {
            Some(finished) => finished.clone(),
            None => {
                self.save_leftovers(&existing, "Save uncommitted work of an earlier run").await?;
                self.fetch_new(&existing).await?
            }
        };
        let is_ahead = from.commit.as_ref() != Some(&commit);
        if (start == Start::New && !is_ahead) || (is_ahead && self.is_given_up(branch, &commit, from).await?)
        {
            return Ok(EarlierWork::None);
        }
        let kept = format!("They are kept: `git fetch {} {commit}`.", self.layout.git_dir().display());
        match self.merged_with_users(&existing, &commit, from).await? {
            None => Ok(EarlierWork::None),
            Some(Merge::Clean(merged)) if merged == commit && finished.is_none() => {
                Ok(EarlierWork::Continued(existing))
            }
            Some(Merge::Clean(merged)) => {
                let (filled, _) = self.workspace(name, branch, &from.at(&merged)).await?;
                self.set_current(&filled, &merged)?;
                Ok(EarlierWork::Continued(self.described(name, branch, from)))
            }
            Some(Merge::Conflict(files)) => Ok(EarlierWork::LeftBehind(format!(
                "Commits of an earlier run have not landed and conflict with yours in {}, so this run begins from your last commit. {kept}",
                files.join(", "),
            ))),
            Some(Merge::Unrelated) => Ok(EarlierWork::LeftBehind(format!(
                "Commits of an earlier run have not landed and do not continue your branch as it is, so this run begins from your last commit. \
                 {kept}"
            ))),
        }
    }

    /// What workers have finished last, if the workspace of the run itself does not have it.
    fn finished_beyond(&self, workspace: &Workspace) -> Option<String> {
        let last = self.last_fetched(workspace).or_else(|| self.layout.runs().next().map(|run| run.commit));
        let merged = self.commit_of(hub_refs::MERGED).filter(|_| workspace.is_of_run())?;
        (last.as_ref() == Some(&merged) && head_commit(&workspace.tree()).as_ref() != Some(&merged))
            .then_some(merged)
    }

    /// Whether the user does not want a commit of an earlier run: it was discarded, or what had landed was removed from the user's branch.
    pub(crate) async fn is_given_up(
        &self,
        branch: &str,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<bool, Fault> {
        let tip = RunTip { branch: branch.to_owned(), commit: commit.to_owned() };
        if self.discard_successor(&tip, from).await? {
            return Ok(true);
        }
        let (Some(landed), Some(head)) = (self.last_landed_commit(), &from.commit) else {
            return Ok(false);
        };
        let room = self.room(self.layout.readable(), [])?;
        let was_removed = async {
            Ok(self.is_ancestor(&room, &landed, commit).await?
                && !self.is_ancestor(&room, &landed, head).await?)
        };
        let was_removed = was_removed.await;
        room.close().await;
        was_removed
    }

    /// The commit itself if it continues the user's, else one with both; `None` if it has landed.
    async fn merged_with_users(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Option<Merge>, Fault> {
        let own = || Ok(Some(Merge::Clean(commit.to_owned())));
        let Some(head) = from.commit.as_deref().filter(|head| *head != commit) else {
            return own();
        };
        let room = self.room(self.layout.readable(), [])?;
        let ways = self.ways_between(&room, workspace, commit, head).await;
        room.close().await;
        match ways? {
            Ways::Continues => own(),
            Ways::Beside => {
                self.merge(from, head, commit, "Merge commits that had not landed").await.map(Some)
            }
            Ways::Apart => Ok(Some(Merge::Unrelated)),
            Ways::Landed => Ok(None),
        }
    }

    async fn ways_between(
        &self,
        room: &GitRoom,
        workspace: &Workspace,
        commit: &str,
        head: &str,
    ) -> Result<Ways, Fault> {
        if self.is_ancestor(room, commit, head).await? {
            return Ok(Ways::Landed);
        }
        let begin = read_text(&workspace.begin_file(), SETTINGS_LIMIT).ok().flatten();
        let begin = begin.map(|begin| begin.trim().to_owned()).filter(|begin| is_hash(begin));
        let Some(begin) = begin else { return Ok(Ways::Apart) };
        // What the user has removed, or has on another branch only, must not come back with the work.
        if !self.is_ancestor(room, &begin, head).await? || !self.is_ancestor(room, &begin, commit).await? {
            return Ok(Ways::Apart);
        }
        Ok(match self.is_ancestor(room, head, commit).await? {
            true => Ways::Continues,
            false => Ways::Beside,
        })
    }

    /// Whether the user's branch has the commit from which work began.
    pub(crate) async fn has_begin(&self, begin: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = from.commit.as_deref().filter(|head| *head != begin) else { return Ok(true) };
        let room = self.room(self.layout.readable(), [])?;
        let has_begin = self.is_ancestor(&room, begin, head).await;
        room.close().await;
        has_begin
    }

    /// Notes the user's commit from which the work in a workspace begins.
    pub(crate) fn record_begin(&self, workspace: &Workspace, from: &ProjectRevision) -> io::Result<()> {
        fs::write(workspace.begin_file(), from.commit.as_deref().unwrap_or_default())
    }
}

/// How a commit of agents and the user's last one are related.
enum Ways {
    /// It continues the user's.
    Continues,
    /// The user's continues it.
    Landed,
    /// The user has committed since the work began.
    Beside,
    /// The user is on another way, or agents have rewritten the history.
    Apart,
}
