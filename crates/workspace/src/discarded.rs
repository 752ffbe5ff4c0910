//! Commits of runs that the user does not want. The hub keeps them under refs of their own, from where they can be fetched again, and no
//! later run builds on them.

use std::collections::HashSet;
use std::fs;
use std::io;

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::{GitRoom, is_hash, write_ref};

use crate::hub::Hub;
use crate::hub_layout::{HubLayout, RunTip};
use crate::landing::LandingAttempt;
use crate::merged_branches::LEFT_APART;
use crate::project_revision::ProjectRevision;
use crate::unlanded::Unlanded;

const REFS: &str = "refs/discarded";

/// Lists the commits that `$2` has and `$3` does not; in the repository `$1`.
const LIST: &str = r#"export GIT_DIR="$1"; base=$3
git cat-file -e "$base^{commit}" 2> /dev/null || base=refs/autonoe/base
git rev-list "$2" "^$base""#;

/// Lists those of the commits behind `$3` that are built on some of what `$3` lists, or on what that is built on, as far as `$2` does not have it;
/// in the repository `$1`.
const WITH_DISCARDED: &str = r#"export GIT_DIR="$1"; head=$2 discarded=$3; shift 3
count() { git rev-list --count --ignore-missing "$@" "^$head"; }
for commit; do
    [ "$(count "$commit")" = "$(count "$commit" --not $discarded --not)" ] || echo "$commit"
done"#;

/// Removes the branches of runs whose last commit the file `$7` lists, unless they are checked out, or `$6` is not the last thing that happened
/// to them, or `$8` is not empty. Prints the names of those that stay, and of those where the user has committed since.
const REMOVE: &str = r#"cd "$1" || exit 3
git for-each-ref --format='%(refname) %(objectname)' 'refs/heads/autonoe/**' 'refs/heads/autonoe-*' |
while read -r name commit; do
    if ! grep -qxF "$commit" "$7"; then
        git rev-list "$commit" --not HEAD 2> /dev/null | grep -qxFf "$7" && echo "${name#refs/heads/}"
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
    /// Branches of the user's repository that still have them.
    pub left: Vec<String>,
}

impl Hub {
    /// Discards them and what they were built on, as far as it has not landed. Branches of ours in the user's repository that have only
    /// them are removed.
    pub async fn discard(&self, unlanded: &Unlanded) -> Result<Discarded, Fault> {
        let _turn = self.landing_turn().await?;
        let is_kept =
            self.commit_of(&format!("refs/heads/{}", unlanded.branch)).as_ref() == Some(&unlanded.commit);
        let room = self.room(self.layout.readable(), [])?;
        let discarded = self.discard_in(&room, unlanded).await;
        room.close().await;
        let (kept, commits) = discarded?;
        let attempt = LandingAttempt::begin(self, &unlanded.commit, unlanded.users_revision()).await?;
        let removed = async {
            let list = attempt.list("discarded", &commits)?;
            // Where only the user's repository has them, the branch is all that keeps them.
            attempt.succeed(REMOVE, &[LEFT_APART, &list, if is_kept { "" } else { "keep" }]).await
        };
        let removed = removed.await;
        attempt.close().await;
        Ok(Discarded { kept, left: removed?.lines().map(str::to_owned).collect() })
    }

    /// Returns the ref that keeps them, and the commits, a line each.
    async fn discard_in(&self, room: &GitRoom, unlanded: &Unlanded) -> Result<(String, String), Fault> {
        let git = self.layout.git_dir().display().to_string();
        let head = unlanded.users_commit().unwrap_or_default();
        let listed = room.run(LIST, [git.as_str(), &unlanded.commit, head]).await?;
        let commits: HashSet<&str> = listed.stdout.lines().collect();
        let own = RunTip { branch: unlanded.branch.clone(), commit: unlanded.commit.clone() };
        let runs: Vec<RunTip> = self.layout.runs().filter(|run| commits.contains(&*run.commit)).collect();
        for run in &runs {
            self.set_discarded(run).map_err(|error| self.unwritable(&error))?;
        }
        let kept = self.set_discarded(&own).map_err(|error| self.unwritable(&error))?;
        Ok((kept, listed.stdout))
    }

    /// Whether a worker's branch, such as `autonoe/7-2`, or its run was discarded.
    pub(crate) fn is_discarded_worker(&self, branch: &str) -> bool {
        let run = branch.rsplit_once('-').map_or(branch, |(run, _)| run);
        [branch, run].iter().any(|name| self.layout.git_dir().join(REFS).join(name).is_file())
    }

    /// Returns the ref that keeps the commits.
    fn set_discarded(&self, run: &RunTip) -> io::Result<String> {
        let git = self.layout.git_dir();
        // Other commits of the run may have been discarded before, and stay so. No branch of a worker has a name with a dot.
        let first = format!("{REFS}/{}", run.branch);
        let mut names = [first.clone()].into_iter().chain((2..).map(|number| format!("{first}.{number}")));
        let is_usable =
            |name: &String| !git.join(name).exists() || self.commit_of(name).as_ref() == Some(&run.commit);
        let kept = names.find(is_usable).unwrap_or(first);
        write_ref(&git, &kept, &run.commit)?;
        match fs::remove_file(git.join("refs/heads").join(&run.branch)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(kept),
        }
    }

    /// Takes out the branches of the user's repository that have discarded commits: only the user has something to do with them now. What the
    /// user's last commit has is not discarded any more.
    pub(crate) async fn retain_wanted(
        &self,
        tips: &mut Vec<RunTip>,
        from: &ProjectRevision,
    ) -> Result<(), Fault> {
        let discarded = self.discarded();
        let Some(head) = from.commit.as_deref().filter(|_| !discarded.is_empty() && !tips.is_empty()) else {
            return Ok(());
        };
        let (git, discarded) = (self.layout.git_dir().display().to_string(), discarded.join(" "));
        let room = self.room(self.layout.readable(), [])?;
        let commits = tips.iter().map(|tip| tip.commit.as_str());
        let listed =
            room.run(WITH_DISCARDED, [git.as_str(), head, &discarded].into_iter().chain(commits)).await;
        room.close().await;
        let listed = listed?.stdout;
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
        let discarded = self.discarded();
        if discarded.is_empty() {
            return Ok(false);
        }
        let run = &RunTip { branch: branch.to_owned(), commit: commit.to_owned() };
        let room = self.room(self.layout.readable(), [])?;
        let is_discarded = self.is_successor(&room, run, from, &discarded).await;
        room.close().await;
        if is_discarded? {
            self.set_discarded(run).map_err(|error| self.unwritable(&error))?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn is_successor(
        &self,
        room: &GitRoom,
        run: &RunTip,
        from: &ProjectRevision,
        discarded: &[String],
    ) -> Result<bool, Fault> {
        for commit in discarded {
            let is_taken_over = match &from.commit {
                Some(head) => self.is_ancestor(room, commit, head).await?,
                None => false,
            };
            if !is_taken_over && self.is_ancestor(room, commit, &run.commit).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn discarded(&self) -> Vec<String> {
        self.layout.discarded()
    }
}

impl HubLayout {
    /// The commits that the user has discarded, without those that they are built on.
    pub(crate) fn discarded(&self) -> Vec<String> {
        let directory = self.git_dir().join(REFS).join("autonoe");
        let files = fs::read_dir(directory).into_iter().flatten().flatten();
        let commits = files.filter_map(|file| read_text(&file.path(), SETTINGS_LIMIT).ok().flatten());
        commits.map(|commit| commit.trim().to_owned()).filter(|commit| is_hash(commit)).collect()
    }
}
