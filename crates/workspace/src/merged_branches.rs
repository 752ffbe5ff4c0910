//! Branches on which landings have left commits, and that the user's branch has caught up with: nothing waits there any more.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::hub_layout::LEFT_APART;
use crate::landing::LandingAttempt;
use crate::project_revision::ProjectRevision;

/// Removes the branches of runs that the checked out branch has merged, unless they are checked out, or `$6` is not the last thing that
/// happened to them.
const REMOVE: &str = r#"cd "$1" || exit 3
git for-each-ref --merged="$5" --format='%(refname) %(objectname)' 'refs/heads/autonoe/**' 'refs/heads/autonoe-*' |
while read -r name commit; do
    git worktree list --porcelain | grep -qxF "branch $name" && continue
    [ "$(git reflog show -1 --format=%gs "$name" 2> /dev/null)" = "$6" ] || continue
    git update-ref -d "$name" "$commit"
done"#;

impl Hub {
    /// As after a landing, for a run in which nothing landed: an earlier process may have been killed in between.
    pub(crate) async fn remove_merged_branches(&self, from: &ProjectRevision) -> Result<(), Fault> {
        let Some(commit) = &from.commit else { return Ok(()) };
        let _turn = self.landing_turn().await?;
        let attempt = LandingAttempt::begin(self, commit, from).await?;
        let removed = attempt.remove_merged_branches().await;
        attempt.close().await;
        removed
    }
}

impl LandingAttempt<'_> {
    /// Removes branches whose commits the user's branch has now. One that cannot be removed stays.
    pub(crate) async fn remove_merged_branches(&self) -> Result<(), Fault> {
        self.run(REMOVE, &[LEFT_APART]).await.map(drop)
    }
}
