//! Commits of runs that the user does not want. The hub keeps them under refs of their own, from where they can be fetched again, and no
//! later run builds on them.

use std::collections::HashSet;
use std::fs;
use std::io;

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::{is_hash, write_ref};

use crate::hub::Hub;
use crate::hub_layout::{HubLayout, LEFT_APART, RunTip};
use crate::landing::LandingAttempt;
use crate::project_revision::ProjectRevision;
use crate::unlanded::{Unlanded, is_of_run};

const REFS: &str = "refs/discarded";

/// Lists the commits that `$2` has and `$3` does not; in the repository `$1`.
const LIST: &str = r#"export GIT_DIR="$1"; base=$3
git cat-file -e "$base^{commit}" 2> /dev/null || base=refs/autonoe/base
git rev-list "$2" "^$base""#;

/// The other arguments are pairs of a commit and the discarded commits of its run. Lists those commits that are built on one of the discarded
/// commits `$3`, or on something that those of its run are built on, as far as `$2` does not have it; in the repository `$1`.
const WITH_DISCARDED: &str = r#"export GIT_DIR="$1"; head=$2 all=$3; shift 3
count() { git rev-list --count --ignore-missing "$@" "^$head"; }
is_in() { git merge-base --is-ancestor "$1" "$2" 2> /dev/null; }
while [ $# -gt 0 ]; do
    [ "$(count "$1")" = "$(count "$1" --not $2 --not)" ] || echo "$1"
    for other in $all; do
        is_in "$other" "$head" || ! is_in "$other" "$1" || echo "$1"
    done
    shift 2
done"#;

/// Removes the branches of runs whose last commit the file `$7` lists, unless they are checked out, or `$6` is not the last thing that happened
/// to them, or `$8` is not empty. Prints the names of those that stay, with `+` before those where
/// the user has committed since.
const REMOVE: &str = r#"cd "$1" || exit 3
git for-each-ref --format='%(refname) %(objectname)' 'refs/heads/autonoe/**' 'refs/heads/autonoe-*' |
while read -r name commit; do
    if ! grep -qxF "$commit" "$7"; then
        git rev-list "$commit" --not HEAD 2> /dev/null | grep -qxFf "$7" && echo "+${name#refs/heads/}"
        continue
    fi
    if [ -z "$8" ] && ! git worktree list --porcelain | grep -qxF "branch $name" &&
        [ "$(git reflog show -1 --format=%gs "$name" 2> /dev/null)" = "$6" ] &&
        git update-ref -d "$name" "$commit"
    then continue; fi
    echo "${name#refs/heads/}"
done"#;

/// What became of commits that were given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// The ref of the hub that keeps them.
    pub kept: String,
    /// Branches of the user's repository that still have them, and nothing else.
    pub left: Vec<String>,
    /// Branches that have them below other commits, such as the user's own.
    pub left_below_others: Vec<String>,
}

impl Hub {
    /// Discards them and what they were built on, as far as it has not landed. Branches of ours in the user's repository that have only
    /// them are removed.
    pub async fn discard(&self, unlanded: &Unlanded) -> Result<Discarded, Fault> {
        let _turn = self.landing_turn().await?;
        let is_kept =
            self.commit_of(&format!("refs/heads/{}", unlanded.branch)).as_ref() == Some(&unlanded.commit);
        let (kept, commits) = self.keep_discarded(unlanded).await?;
        let attempt = LandingAttempt::begin(self, &unlanded.commit, unlanded.users_revision()).await?;
        let removed = async {
            let list = attempt.list("discarded", &commits)?;
            // Where only the user's repository has them, the branch is all that keeps them.
            attempt.succeed(REMOVE, &[LEFT_APART, &list, if is_kept { "" } else { "keep" }]).await
        };
        let removed = removed.await;
        attempt.close().await;
        let removed = removed?;
        let (below_others, left): (Vec<&str>, Vec<&str>) =
            removed.lines().partition(|line| line.starts_with('+'));
        let below_others = below_others.into_iter().map(|line| line.trim_start_matches('+').to_owned());
        Ok(Discarded {
            kept,
            left: left.into_iter().map(str::to_owned).collect(),
            left_below_others: below_others.collect(),
        })
    }

    /// Returns the ref that keeps them, and the commits, a line each.
    async fn keep_discarded(&self, unlanded: &Unlanded) -> Result<(String, String), Fault> {
        let head = unlanded.users_commit().unwrap_or_default();
        let listed = self.ask(LIST, [unlanded.commit.as_str(), head]).await?;
        let commits: HashSet<&str> = listed.stdout.lines().collect();
        let own = RunTip { branch: unlanded.branch.clone(), commit: unlanded.commit.clone() };
        let runs: Vec<RunTip> = self.layout.runs().filter(|run| commits.contains(&*run.commit)).collect();
        for run in &runs {
            self.set_discarded(run).await?;
        }
        Ok((self.set_discarded(&own).await?, listed.stdout))
    }

    /// Whether a worker's branch, such as `autonoe/7-2`, or its run was discarded.
    pub(crate) fn is_discarded_worker(&self, branch: &str) -> bool {
        let run = branch.rsplit_once('-').map_or(branch, |(run, _)| run);
        [branch, run].iter().any(|name| self.layout.git_dir().join(REFS).join(name).is_file())
    }

    /// Returns the ref that keeps the commits.
    async fn set_discarded(&self, run: &RunTip) -> Result<String, Fault> {
        let first = format!("{REFS}/{}", run.branch);
        let earlier = self.commit_of(&first).filter(|earlier| *earlier != run.commit);
        let written = match earlier {
            // What was discarded of the run before stays so. Its ref leads to all that is built on it.
            Some(earlier) if self.is_ancestor(&earlier, &run.commit).await? => self
                .write_beside(&first, &earlier)
                .and_then(|_| write_ref(&self.layout.git_dir(), &first, &run.commit))
                .map(|()| first),
            Some(_) => self.write_beside(&first, &run.commit),
            None => write_ref(&self.layout.git_dir(), &first, &run.commit).map(|()| first),
        };
        let kept = written.map_err(|error| self.unwritable(&error))?;
        self.remove_branch(&run.branch)?;
        Ok(kept)
    }

    /// Writes a ref with the first free number, such as `refs/discarded/autonoe/7.2`: no branch of a worker has a dot.
    fn write_beside(&self, reference: &str, commit: &str) -> io::Result<String> {
        let git = self.layout.git_dir();
        let is_usable = |name: &String| {
            !git.join(name).exists() || self.commit_of(name).is_some_and(|other| other == commit)
        };
        let mut names = (2_u32..).map(|number| format!("{reference}.{number}"));
        let name = names.find(is_usable).ok_or(io::ErrorKind::AlreadyExists)?;
        write_ref(&git, &name, commit)?;
        Ok(name)
    }

    /// Takes out the branches of the user's repository that have discarded commits: only the user has something to do with them now. What the
    /// user's last commit has is not discarded any more.
    pub(crate) async fn retain_wanted(
        &self,
        tips: &mut Vec<RunTip>,
        from: &ProjectRevision,
    ) -> Result<(), Fault> {
        let discarded = self.layout.discarded_tips();
        let Some(head) = from.commit.as_deref().filter(|_| !discarded.is_empty() && !tips.is_empty()) else {
            return Ok(());
        };
        let of_run = |branch: &str| {
            let own = discarded.iter().filter(|other| is_of_run(branch, run_of(&other.branch)));
            own.map(|other| other.commit.as_str()).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<&str> = discarded.iter().map(|tip| tip.commit.as_str()).collect();
        let pairs = tips.iter().flat_map(|tip| [tip.commit.clone(), of_run(&tip.branch)]);
        let args = [head.to_owned(), all.join(" ")].into_iter().chain(pairs);
        let listed = self.ask(WITH_DISCARDED, args).await?.stdout;
        tips.retain(|tip| !listed.lines().any(|commit| commit == tip.commit));
        Ok(())
    }

    /// Whether the commit is built on discarded ones that the user has not taken over nevertheless. If so, it is discarded too.
    pub(crate) async fn is_discarded(
        &self,
        branch: &str,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<bool, Fault> {
        let discarded = self.layout.discarded_tips();
        if discarded.is_empty() {
            return Ok(false);
        }
        let Some(earlier) = self.discarded_before(commit, from, &discarded).await? else {
            return Ok(false);
        };
        // They stay together: this run may have a branch of another name, and work of its own later.
        if !discarded.iter().any(|other| other.commit == commit) {
            let run = RunTip { branch: run_of(&earlier.branch).to_owned(), commit: commit.to_owned() };
            self.set_discarded(&run).await?;
        }
        self.remove_branch(branch)?;
        Ok(true)
    }

    /// The discarded commits that a commit is built on, unless the user has taken them over.
    async fn discarded_before<'a>(
        &self,
        commit: &str,
        from: &ProjectRevision,
        discarded: &'a [RunTip],
    ) -> Result<Option<&'a RunTip>, Fault> {
        for earlier in discarded {
            let is_taken_over = match &from.commit {
                Some(head) => self.is_ancestor(&earlier.commit, head).await?,
                None => false,
            };
            if !is_taken_over && self.is_ancestor(&earlier.commit, commit).await? {
                return Ok(Some(earlier));
            }
        }
        Ok(None)
    }

    /// Removes a run's branch from the hub.
    fn remove_branch(&self, branch: &str) -> Result<(), Fault> {
        match fs::remove_file(self.layout.git_dir().join("refs/heads").join(branch)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unwritable(&error)),
            _ => Ok(()),
        }
    }
}

impl HubLayout {
    /// The commits that the user has discarded, without those that they are built on.
    pub(crate) fn discarded(&self) -> Vec<String> {
        self.discarded_tips().into_iter().map(|tip| tip.commit).collect()
    }

    /// The same, with the names of their refs.
    fn discarded_tips(&self) -> Vec<RunTip> {
        let directory = self.git_dir().join(REFS).join("autonoe");
        let files = fs::read_dir(directory).into_iter().flatten().flatten();
        let tips = files.filter_map(|file| {
            let branch = format!("autonoe/{}", file.file_name().to_str()?);
            let commit = read_text(&file.path(), SETTINGS_LIMIT).ok().flatten()?.trim().to_owned();
            Some(RunTip { branch, commit })
        });
        tips.filter(|tip| is_hash(&tip.commit)).collect()
    }
}

/// The branch of what a ref such as `autonoe/7.2` keeps.
fn run_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(branch, _)| branch)
}
