//! Merges commits in the hub, without a working tree and without anyone's settings.

use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_git::{Skeleton, is_hash};

use crate::hub::Hub;
use crate::project_revision::ProjectRevision;

/// Exit code of a script that found a conflict.
const CONFLICT: i32 = 12;

/// Merges `$3` into `$2` in the bare repository `$1`, with the message `$4`. Prints the commit, which is packed; in a conflict, the files.
const MERGE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD"
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
git merge-base --is-ancestor "$2" "$3" && { echo "$3"; exit; }
git merge-base --is-ancestor "$3" "$2" && { echo "$2"; exit; }
git merge-base "$2" "$3" > /dev/null || exit 13
merged=$(git merge-tree --write-tree --name-only --no-messages "$2" "$3" 2> /dev/null)
case $? in
    0) tree=$merged ;;
    1) echo "$merged" | tail -n +2; exit 12 ;;
    *) # Before version 2.38, git needs files.
        mkdir tree && cd tree || exit
        export GIT_WORK_TREE="$PWD"
        git update-ref HEAD "$2" && git read-tree "$2" && git -c core.bare=false checkout-index --all --quiet -u || exit
        git -c core.bare=false merge --quiet --no-verify --no-commit "$3" > /dev/null ||
            { git -c core.bare=false diff --name-only --diff-filter=U; exit 12; }
        tree=$(git write-tree) || exit ;;
esac
commit=$(git -c commit.gpgSign=false commit-tree -p "$2" -p "$3" -m "$4" "$tree") || exit
git rev-list --objects --no-object-names "$commit" "^$2" "^$3" | git pack-objects -q "$GIT_DIR/objects/pack/pack" > /dev/null || exit
echo "$commit""#;

/// Exit code of a script that found no common commit.
const UNRELATED: i32 = 13;

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merge {
    /// A commit with both, which the hub has.
    Clean(String),
    /// Files that both have changed.
    Conflict(Vec<String>),
    /// They have no commit in common.
    Unrelated,
}

impl Hub {
    /// Merges the commit `theirs` into `ours`; the hub has both.
    pub(crate) async fn merge(
        &self,
        from: &ProjectRevision,
        ours: &str,
        theirs: &str,
        message: &str,
    ) -> Result<Merge, Fault> {
        let room = self.reading_room()?;
        let place = tempfile::tempdir_in(room.work()).map_err(|error| self.unwritable(&error))?;
        let repository = place.path().join("merge.git");
        let shallow = self.shallow(&self.repository()).ok().flatten();
        let skeleton = Skeleton {
            format: &from.format,
            is_bare: true,
            branch: "none",
            borrowed: &[self.layout.objects(), self.layout.base_objects()],
            shallow: shallow.as_deref(),
            ..Skeleton::default()
        };
        skeleton.write(&repository).map_err(|error| self.unwritable(&error))?;
        let path = |path: &Path| path.display().to_string();
        let merged = room.run(MERGE, [path(&repository).as_str(), ours, theirs, message]).await?;
        let lines = || merged.stdout.lines().map(str::to_owned);
        match (merged.code, lines().next()) {
            (0, Some(commit)) if is_hash(&commit) => {
                self.keep(&repository).map_err(|error| self.unwritable(&error))?;
                Ok(Merge::Clean(commit))
            }
            (CONFLICT, _) => Ok(Merge::Conflict(lines().filter(|line| !line.is_empty()).collect())),
            (UNRELATED, _) => Ok(Merge::Unrelated),
            _ => Err(self.failed(&merged.reason())),
        }
    }
}
