//! Work that an agent has not committed when its session ends.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::workspace::Workspace;

/// Commits all changes in the working tree `$1` with the message `$2`. Prints them, a line each.
const SAVE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
changes=$(git status --porcelain --no-renames) || exit
[ "$changes" ] || exit 0
echo "$changes"
git add --all && git -c commit.gpgSign=false commit --quiet --no-verify -m "$2""#;

impl Hub {
    /// Commits what an agent has left uncommitted, so that it is neither lost nor mixed with the work of the next session. Returns the
    /// number of files.
    pub(crate) async fn save_leftovers(&self, workspace: &Workspace, message: &str) -> Result<usize, Fault> {
        let room = self.room([self.directory.join("base"), self.git_dir()], [workspace.tree()])?;
        let tree = workspace.tree();
        let saved = room.run(SAVE, [tree.as_os_str(), message.as_ref()]).await;
        room.close().await;
        let saved = saved?;
        match saved.code {
            0 => Ok(saved.stdout.lines().count()),
            _ => Err(self.unusable(workspace, &format!("changes cannot be committed ({})", saved.reason()))),
        }
    }
}
