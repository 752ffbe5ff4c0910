//! Commits on which work stands, and which the user has dropped since, as with `git reset` or `git commit --amend`: the user's own from before the
//! run, and those of the run that had landed. They must not come back with the work: the user decides that.

use autonoe_core::fault::Fault;
use autonoe_git::write_ref;

use crate::hub::Hub;
use crate::landing::LandingAttempt;
use crate::landing_error::LandingRefusal;
use crate::project_revision::ProjectRevision;
use crate::unlanded::is_of_run;

/// References in the hub to the user's commits on which runs stand, by the branches of the runs.
const REFS: &str = "refs/autonoe/begun";

/// Prints how many commits up to `$6` what is checked out now does not have; nothing if it has all of them, or none.
const DROPPED: &str = r#"head=$(git -C "$1" rev-parse --verify --quiet 'HEAD^{commit}') || exit 0
export GIT_DIR="$2"
git merge-base --is-ancestor "$6" "$head" 2> /dev/null && exit
git merge-base "$6" "$head" > /dev/null 2>&1 || exit 0
git rev-list --count "$6" "^$head""#;

impl Hub {
    /// Notes the user's commit on which the commits of a run stand.
    pub(crate) fn note_begin(&self, branch: &str, commit: &str) -> Result<(), Fault> {
        let written = write_ref(&self.layout.git_dir(), &format!("{REFS}/{branch}"), commit);
        written.map_err(|error| self.unwritable(&error))
    }

    /// The user's commit on which the commits of a run stand, by its branch here or in the user's repository; `None` for a run of an earlier
    /// version.
    pub(crate) fn begin_of_run(&self, branch: &str) -> Option<String> {
        let run = self.layout.runs().find(|run| is_of_run(branch, &run.branch))?;
        self.commit_of(&format!("{REFS}/{}", run.branch))
    }

    /// Why a commit is not for the user's branch, if it stands on others that this no longer has. `begin` is the user's commit from which the
    /// work began, if that is known. The caller must have a landing turn.
    pub(crate) async fn why_dropped_below(
        &self,
        commit: &str,
        begin: Option<&str>,
        from: &ProjectRevision,
    ) -> Result<Option<LandingRefusal>, Fault> {
        let landed = self.landed_below(commit, from).await?;
        for base in landed.as_deref().into_iter().chain(begin) {
            if let Some(why) = self.why_dropped(base, from).await? {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }

    /// As [`Hub::why_dropped_below`], of a commit that does not continue the branch.
    pub(crate) async fn why_not_continued(
        &self,
        commit: &str,
        begin: Option<&str>,
        from: &ProjectRevision,
    ) -> Result<LandingRefusal, Fault> {
        Ok(self.why_dropped_below(commit, begin, from).await?.unwrap_or(LandingRefusal::Diverged))
    }

    /// Why commits that stand on `begin` are not for the user's branch: it no longer has all that they stand on. The caller must have a landing
    /// turn.
    pub(crate) async fn why_dropped(
        &self,
        begin: &str,
        from: &ProjectRevision,
    ) -> Result<Option<LandingRefusal>, Fault> {
        let attempt = LandingAttempt::begin(self, begin, from).await?;
        let why = attempt.why_dropped(begin).await;
        attempt.close().await;
        why
    }
}

impl LandingAttempt<'_> {
    /// As [`Hub::why_dropped`].
    pub(crate) async fn why_dropped(&self, begin: &str) -> Result<Option<LandingRefusal>, Fault> {
        let count = self.succeed(DROPPED, &[begin]).await?;
        Ok(count.trim().parse().ok().map(|count| LandingRefusal::Dropped {
            count,
            begin: begin.to_owned(),
            branch: self.from.branch.clone().unwrap_or_else(|| "HEAD".to_owned()),
        }))
    }
}
