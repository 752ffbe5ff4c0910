//! Commits of earlier runs that are in the hub and have not come to the user's branch.

use std::collections::BTreeSet;

use autonoe_core::fault::Fault;

use crate::checked_part::CheckedPart;
use crate::hub::Hub;
use crate::hub_layout::{LEFT_APART, RunTip, WORKSPACE};
use crate::landing::{Landing, LandingConsent, LandingTarget};
use crate::landing_error::LandingRefusal;
use crate::project_revision::ProjectRevision;
use crate::settled::Settled;

/// The commits after `$2`, or all, up to `$3`, and the changes in them; in the repository `$1`.
const SHOW: &str = r#"export GIT_DIR="$1" GIT_PAGER=cat
base=$(git merge-base "$2" "$3" 2> /dev/null) || base=$(git hash-object -t tree /dev/null)
git log --no-color --no-decorate --format='%h %s' "$2..$3" 2> /dev/null
echo
git diff --no-color --no-ext-diff --no-textconv --no-renames --stat --patch "$base" "$3""#;

/// Prints one of the branches `$4` and so on of the working tree `$1` that contains the commit `$3`. If none of them exists, as after a rename,
/// any branch of the user's counts. `$2` has all of its objects.
const CONTAINING: &str = r#"cd "$1" || exit 3
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$2"; commit=$3; shift 3
[ $# -gt 0 ] && [ "$(git for-each-ref --count=1 "$@")" ] || set -- refs/heads
git for-each-ref --contains="$commit" --format='%(refname)' "$@" 2> /dev/null | grep -v '^refs/heads/autonoe[/-]' | head -n 1"#;

/// Lists the branches of runs in the working tree `$1` that are not merged, and their commits. `$2` has all of its objects. A branch whose reflog
/// never says `$3` is the user's own, whatever its name.
const UNMERGED: &str = r#"cd "$1" || exit 3
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$2"; left_apart=$3
set -- 'refs/heads/autonoe/**' 'refs/heads/autonoe-*'
git rev-parse --verify --quiet 'HEAD^{commit}' > /dev/null && set -- --no-merged=HEAD "$@"
git for-each-ref --format='%(refname) %(objectname)' "$@" |
while read -r name commit; do
    log=$(git reflog show --format=%gs "$name" 2> /dev/null)
    [ -z "$log" ] || echo "$log" | grep -qxF "$left_apart" || continue
    echo "${name#refs/heads/} $commit"
done"#;

/// Exits 1 if `$2` and `$3` have no commit in common; in the repository `$1`.
const MERGE_BASE: &str = r#"git --git-dir="$1" merge-base "$2" "$3""#;

/// The commits of a run that have not landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlanded {
    /// The branch in the hub, such as `autonoe/7`, or in the user's repository.
    pub branch: String,
    /// The branch of the user's repository that has them; `None` if the user has removed it.
    pub users_branch: Option<String>,
    pub commit: String,
    /// Further branches in the user's repository with commits that have not landed.
    pub others: Vec<String>,
    /// Whether some of them had landed, and the user has removed them from the branch since.
    pub had_landed: bool,
    /// Whether `autonoe land` comes next: they continue the user's branch, or stand on commits that the user has dropped, and it says what then.
    /// Otherwise git must merge them.
    pub is_for_land: bool,
    /// Whether they have no commit in common with the user's branch.
    pub is_unrelated: bool,
    from: ProjectRevision,
}

impl Unlanded {
    /// The user's last commit.
    pub(crate) fn users_commit(&self) -> Option<&str> {
        self.from.commit.as_deref()
    }

    /// The user's repository as it was found.
    pub(crate) fn users_revision(&self) -> &ProjectRevision {
        &self.from
    }

    /// The same without those that no check has seen; `None` if nothing is left.
    #[must_use]
    pub fn only_checked(self, part: &CheckedPart) -> Option<Self> {
        match &part.commit {
            _ if part.unseen == 0 => Some(self),
            Some(commit) if part.unseen < part.unlanded => Some(Self { commit: commit.clone(), ..self }),
            Some(_) | None => None,
        }
    }
}

impl Hub {
    /// The commits of the last run that are not on the user's branch, or else those of an earlier one that wait on a branch of their own;
    /// `None` if there are none.
    pub async fn unlanded(&self) -> Result<Option<Unlanded>, Fault> {
        let from = self.update().await?;
        // It may have worked at the same time as another one, which could not land then.
        let mut apart = self.left_apart(&from).await?;
        let mut last = self.layout.runs().next();
        let mut users_branch = None;
        if let Some(tip) = &last {
            let has_all =
                |other: &&RunTip| is_of_run(&other.branch, &tip.branch) && other.commit == tip.commit;
            // The user may have committed there.
            let is_moved = |other: &&RunTip| other.branch == tip.branch;
            let found = apart.iter().find(has_all).or_else(|| apart.iter().find(is_moved));
            users_branch = found.map(|found| found.branch.clone());
            apart.retain(|other| !is_of_run(&other.branch, &tip.branch) || other.commit != tip.commit);
            let begin = self.begin_of_run(&tip.branch);
            let is_landed = self.is_landed(&tip.commit, &from).await?
                || self.is_rewritten(&tip.commit, begin.as_deref(), &from).await?;
            last = last.filter(|_| !is_landed);
        }
        for tip in std::mem::take(&mut apart) {
            let begin = self.begin_of_run(&tip.branch);
            if !self.is_rewritten(&tip.commit, begin.as_deref(), &from).await? {
                apart.push(tip);
            }
        }
        let is_of_last = last.is_some();
        let mut waiting = last.into_iter().chain(apart);
        let Some(RunTip { branch, commit }) = waiting.next() else { return Ok(None) };
        let users_branch = if is_of_last { users_branch } else { Some(branch.clone()) };
        let others = self.beyond(&commit, waiting.collect()).await?;
        let is_continuation = self.is_on_top(&commit, &from).await?;
        let is_unrelated = !is_continuation && self.is_unrelated(&commit, &from).await?;
        let is_for_land = match self.begin_of_run(&branch) {
            Some(begin) if !is_continuation && !is_unrelated => !self.has_begin(&begin, &from).await?,
            _ => is_continuation,
        };
        let had_landed =
            self.landed_on(&commit).is_some() || self.is_removed_from_branch(&commit, &from).await?;
        Ok(Some(Unlanded {
            branch,
            users_branch,
            commit,
            others,
            had_landed,
            is_for_land,
            is_unrelated,
            from,
        }))
    }

    /// The commits of a harness that have not landed in the repository of its clone, also those of a killed one; they are on branches of it
    /// then. No agent may be at work.
    pub async fn leave_unlanded(&self) -> Result<Vec<String>, Fault> {
        self.fetch_killed_work().await?;
        let Some(unlanded) = self.unlanded().await? else { return Ok(Vec::new()) };
        let Unlanded { branch, users_branch, commit, from, .. } = unlanded;
        if users_branch.is_none() {
            let workspace = self.described(WORKSPACE, &branch, &from);
            self.leave_apart(&workspace, &commit, &from, LandingRefusal::NotPassed).await?;
        }
        let apart = self.left_apart(&from).await?.into_iter().map(|tip| tip.commit);
        Ok(apart.filter(|other| *other != commit).chain([commit.clone()]).collect())
    }

    /// The branches of those that have more than the commit.
    async fn beyond(&self, commit: &str, tips: Vec<RunTip>) -> Result<Vec<String>, Fault> {
        let mut beyond = Vec::new();
        for tip in tips {
            if tip.commit != commit && !self.is_ancestor(&tip.commit, commit).await? {
                beyond.push(tip.branch);
            }
        }
        Ok(beyond)
    }

    async fn is_on_top(&self, commit: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = &from.commit else { return Ok(true) };
        self.is_ancestor(head, commit).await
    }

    async fn is_unrelated(&self, commit: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = &from.commit else { return Ok(false) };
        Ok(self.ask(MERGE_BASE, [head, commit]).await?.code == 1)
    }

    pub(crate) async fn is_landed(&self, commit: &str, from: &ProjectRevision) -> Result<bool, Fault> {
        let Some(head) = &from.commit else { return Ok(false) };
        if self.is_ancestor(commit, head).await? {
            return Ok(true);
        }
        // It may have landed on another branch. A branch that the user has made from a run's, or as a copy, shows no landing.
        let Some(branches) = self.landed_branches(commit) else { return Ok(false) };
        let users = [from.top.clone()].into_iter().chain(self.repository().directories);
        let room = self.room(self.layout.readable().into_iter().chain(users), [])?;
        let base = self.layout.base_objects().display().to_string();
        let top = from.top.display().to_string();
        let names = branches.iter().map(|branch| format!("refs/heads/{branch}"));
        let found = room.run(CONTAINING, [top, base, commit.to_owned()].into_iter().chain(names)).await;
        room.close().await;
        Ok(!found?.stdout.trim().is_empty())
    }

    /// The branches of runs in the user's repository that are not merged, those of the last run first.
    pub(crate) async fn left_apart(&self, from: &ProjectRevision) -> Result<Vec<RunTip>, Fault> {
        let readable = [from.top.clone(), self.layout.base_objects()].into_iter();
        let room = self.room(readable.chain(self.repository().directories), [])?;
        let base = self.layout.base_objects();
        let listed = room.run(UNMERGED, [from.top.as_os_str(), base.as_os_str(), LEFT_APART.as_ref()]).await;
        room.close().await;
        let mut apart: Vec<RunTip> = listed?.stdout.lines().filter_map(RunTip::parse).collect();
        self.retain_wanted(&mut apart, from).await?;
        let of_run = |run: RunTip| {
            let is_of = |tip: &&RunTip| is_of_run(&tip.branch, &run.branch);
            apart.iter().filter(is_of).cloned().collect::<Vec<_>>()
        };
        let mut runs = self.layout.runs().peekable();
        Ok(match runs.peek() {
            Some(_) => runs.flat_map(of_run).collect(),
            // The project was moved, or its state was removed: then only these branches tell of runs.
            None => apart,
        })
    }

    /// How far checks have followed them. `verified` are the commits on which something was verified.
    pub async fn checked_unlanded(
        &self,
        unlanded: &Unlanded,
        verified: &[String],
    ) -> Result<CheckedPart, Fault> {
        self.checked_part(&unlanded.commit, unlanded.from.commit.as_deref(), verified).await
    }

    /// Lands them, unless the user has dropped commits on which they stand. `settled` is what has been settled until now.
    pub async fn land_unlanded(
        &self,
        unlanded: &Unlanded,
        consent: LandingConsent,
        settled: &Settled,
    ) -> Result<Landing, Fault> {
        let Unlanded { branch, commit, from, .. } = unlanded;
        let workspace = self.described(WORKSPACE, branch, from);
        let why = match from.branch {
            Some(_) => {
                let _turn = self.landing_turn().await?;
                let begin = self.begin_of_run(branch);
                self.why_dropped_below(commit, begin.as_deref(), from).await?
            }
            None => None,
        };
        if let Some(why) = why {
            let (branch, why) = self.leave_apart(&workspace, commit, from, why).await?;
            return Ok(Landing::Apart { branch, why });
        }
        let landing = self.land(&workspace, commit, from, &LandingTarget::CheckedOut, consent).await?;
        if let Landing::Landed { branch, .. } = &landing {
            self.note_landing(Some(branch), commit, settled)?;
        }
        Ok(landing)
    }

    /// Those of the passed deliverables that passed with commits which the user's branch does not have.
    pub async fn lost_with(&self, unlanded: &Unlanded, settled: &Settled) -> Result<BTreeSet<String>, Fault> {
        self.lost(settled, &unlanded.from).await
    }

    /// The commits and their changes, as git prints them.
    pub async fn show_unlanded(&self, unlanded: &Unlanded) -> Result<String, Fault> {
        let head = unlanded.from.commit.as_deref().unwrap_or_default();
        let shown = self.ask(SHOW, [head, &unlanded.commit]).await?;
        match shown.code {
            0 => Ok(shown.stdout),
            _ => Err(self.failed(&shown.reason())),
        }
    }
}

impl RunTip {
    fn parse(line: &str) -> Option<Self> {
        let (branch, commit) = line.rsplit_once(' ')?;
        Some(Self { branch: branch.to_owned(), commit: commit.to_owned() })
    }
}

/// Whether a landing may have given a branch of the user's repository this name, because of the run with the branch `run`.
pub(crate) fn is_of_run(name: &str, run: &str) -> bool {
    let others = [run.to_owned(), run.replace('/', "-")];
    others
        .iter()
        .filter_map(|own| name.strip_prefix(own))
        .any(|rest| rest.is_empty() || rest.starts_with('-'))
}
