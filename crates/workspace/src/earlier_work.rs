//! What an earlier run has left in a workspace, and whether the next one continues it.

use std::fs;
use std::io;

use autonoe_core::fault::Fault;
use autonoe_core::hub_refs;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::{is_hash, write_ref};

use crate::hub::Hub;
use crate::hub_layout::WORKSPACE;
use crate::landing::LandingTarget;
use crate::landing_error::{KnownSince, LandingRefusal};
use crate::landings::Removed;
use crate::leftovers::Locks;
use crate::merging::Merge;
use crate::project_revision::ProjectRevision;
use crate::site_options::SiteOptions;
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
    /// Nothing to continue. Whatever was committed is kept in the hub.
    None,
    Continued(Workspace),
    /// It had landed, and the user does not have it any more.
    Rejected,
    /// Work that does not go together with the user's commits; what the user should know of it.
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
                self.save_leftovers(&existing, "Save uncommitted work of an earlier run", Locks::Stale)
                    .await?;
                self.fetch_new(&existing).await?
            }
        };
        if from.commit.as_ref() == Some(&commit) || self.begin_of(&existing).as_ref() == Some(&commit) {
            // There is nothing beyond what the user had.
            if start == Start::New {
                return Ok(EarlierWork::None);
            }
        } else if self.is_discarded(branch, &commit, from).await? {
            return Ok(EarlierWork::None);
        } else {
            let why = match self.removed(&commit, from).await? {
                Removed::Nothing => match self.rejected(&commit, from).await? {
                    Some((rejected, _)) if rejected == commit => return Ok(EarlierWork::Rejected),
                    rejected => rejected.map(|(_, why)| why),
                },
                Removed::All => return Ok(EarlierWork::None),
                Removed::Part => Some(LandingRefusal::Diverged),
            };
            if let Some(why) = why {
                return self.leave_behind(&existing, &commit, from, why).await.map(EarlierWork::LeftBehind);
            }
        }
        let begin = self.begin_of(&existing);
        if from.commit.as_ref() != Some(&commit) && self.is_rewritten(&commit, begin.as_deref(), from).await?
        {
            return Ok(EarlierWork::None);
        }
        let why = match self.merged_with_users(&existing, &commit, from).await? {
            None => return Ok(EarlierWork::None),
            Some(Merge::Clean(merged)) if merged == commit && finished.is_none() => {
                return Ok(EarlierWork::Continued(existing));
            }
            Some(Merge::Clean(merged)) => {
                let (filled, _) = self.workspace(name, branch, &from.at(&merged)).await?;
                self.set_current(&filled, &merged)?;
                if merged != commit {
                    // It stands on the user's commits of now, too.
                    self.record_begin(&filled, from).map_err(|error| self.unwritable(&error))?;
                }
                return Ok(EarlierWork::Continued(self.described(name, branch, from)));
            }
            Some(Merge::Conflict(files)) => LandingRefusal::Conflict(files),
            Some(Merge::Unrelated) => LandingRefusal::Diverged,
        };
        self.leave_behind(&existing, &commit, from, why).await.map(EarlierWork::LeftBehind)
    }

    /// A sentence for the user, if a run continues what an earlier one has landed on a branch of another name.
    pub(crate) fn lands_elsewhere(&self, workspace: &Workspace, target: &LandingTarget) -> Option<String> {
        let earlier = self.last_fetched(workspace).and_then(|commit| self.landed_on(&commit))?;
        let is_same = matches!(target, LandingTarget::Branch(wanted) if *wanted == earlier);
        (!is_same).then(|| {
            format!(
                "Commits that an earlier run has landed on {earlier} are part of this run, and land with it."
            )
        })
    }

    /// A sentence for the user, if branches of runs wait that are not known here, or agents that worked at the same time have begun something.
    pub(crate) async fn unknown_branches(
        &self,
        options: &SiteOptions,
        from: &ProjectRevision,
    ) -> Result<Option<String>, Fault> {
        if options.slot.is_some() || options.is_throwaway || self.layout.runs().next().is_some() {
            return Ok(None);
        }
        let branches: Vec<String> = self.left_apart(from).await?.into_iter().map(|tip| tip.branch).collect();
        Ok((!branches.is_empty()).then(|| {
            format!(
                "Commits of runs that are not known here, as if the project had been moved, have not landed: {}. This run begins without them; `autonoe land` lands them.",
                branches.join(", ")
            )
        }))
    }

    /// A commit, or one that it is built on, that had landed on a branch which the user has named, and how the user has removed it from there.
    /// `None` if there is none, or the user has its changes in other commits, as after a squash.
    async fn rejected(
        &self,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Option<(String, LandingRefusal)>, Fault> {
        let Some((landed, branch)) = self.last_on_named_branch(commit, from).await? else { return Ok(None) };
        if self.is_landed(&landed, from).await? || self.is_rewritten(&landed, None, from).await? {
            return Ok(None);
        }
        let why = self.why_not_on_branch(&branch, &landed, KnownSince::Landing, from).await?;
        Ok(why.map(|why| (landed, why)))
    }

    /// Puts a commit on the branch of its run, in the hub and in the user's repository. Returns a sentence for the user.
    async fn leave_behind(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        why: LandingRefusal,
    ) -> Result<String, Fault> {
        let earlier = self.layout.runs().find(|run| run.branch != workspace.branch());
        let earlier = earlier.map_or_else(|| workspace.branch().to_owned(), |run| run.branch);
        let written = write_ref(&self.layout.git_dir(), &format!("refs/heads/{earlier}"), commit);
        written.map_err(|error| self.unwritable(&error))?;
        let why = match why {
            LandingRefusal::Diverged if !self.has_common(commit, from).await? => LandingRefusal::Unrelated,
            LandingRefusal::Diverged => {
                self.why_not_continued(commit, self.begin_of(workspace).as_deref(), from).await?
            }
            why => why,
        };
        let workspace = self.described(WORKSPACE, &earlier, from);
        let (branch, why) = self.leave_apart_in_turn(&workspace, commit, from, why).await?;
        Ok(format!(
            "Commits of an earlier run have not landed: {why}. So this run begins from your last commit, and they are on branch {branch}: {}.",
            why.advice(&branch)
        ))
    }

    /// What workers have finished last, if the workspace of the run itself does not have it.
    fn finished_beyond(&self, workspace: &Workspace) -> Option<String> {
        let last = self.last_fetched(workspace).or_else(|| self.layout.runs().next().map(|run| run.commit));
        let merged = self.commit_of(hub_refs::MERGED).filter(|_| workspace.is_of_run())?;
        (last.as_ref() == Some(&merged) && head_commit(&workspace.tree()).as_ref() != Some(&merged))
            .then_some(merged)
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
        match self.ways_between(workspace, commit, head).await? {
            Ways::Continues => own(),
            Ways::Beside => {
                self.merge(from, head, commit, "Merge commits that had not landed").await.map(Some)
            }
            Ways::Apart => Ok(Some(Merge::Unrelated)),
            Ways::Landed => Ok(None),
        }
    }

    async fn ways_between(&self, workspace: &Workspace, commit: &str, head: &str) -> Result<Ways, Fault> {
        if self.is_ancestor(commit, head).await? {
            return Ok(Ways::Landed);
        }
        let begin = self.begin_of(workspace);
        // What the user has removed, or has on another branch only, must not come back with the work.
        let is_on_the_way = match &begin {
            Some(begin) => self.is_ancestor(begin, head).await? && self.is_ancestor(begin, commit).await?,
            // An earlier version has not noted it.
            None => true,
        };
        Ok(match is_on_the_way && self.is_ancestor(head, commit).await? {
            true => Ways::Continues,
            false if is_on_the_way && begin.is_some() => Ways::Beside,
            false => Ways::Apart,
        })
    }

    /// Whether a commit and the user's have an ancestor in common.
    async fn has_common(&self, commit: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = &from.commit else { return Ok(false) };
        Ok(self.ask(r#"git --git-dir="$1" merge-base "$2" "$3""#, [commit, head]).await?.code == 0)
    }

    /// Whether the user's branch has the commit from which work began.
    pub(crate) async fn has_begin(&self, begin: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = from.commit.as_deref().filter(|head| *head != begin) else { return Ok(true) };
        self.is_ancestor(begin, head).await
    }

    /// The user's commit from which the work in a workspace begins; `None` if that is not known.
    fn begin_of(&self, workspace: &Workspace) -> Option<String> {
        let begin = read_text(&workspace.begin_file(), SETTINGS_LIMIT).ok().flatten()?;
        Some(begin.trim().to_owned()).filter(|begin| is_hash(begin))
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
