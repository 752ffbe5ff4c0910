//! Work that an agent has not committed.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::tree_state::tree_state;
use crate::workspace::Workspace;

/// Commits all changes in the working tree `$1` that can be committed and that the file `$3` does not exclude, with the message `$2`. Prints the number of changes, then those that are
/// left, a line each. A repository within the repository is left: only its name would be committed.
const SAVE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
git() { command git -c core.excludesFile="$exclude" "$@"; }
exclude=$3
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
changes=$(git status --porcelain --no-renames) || exit
[ "$changes" ] || exit 0
git add --all --ignore-errors
git ls-files --stage -z | grep -z '^160000' | cut -z -f 2- | xargs -0 -r git rm --quiet --cached -f -- || exit
if git diff --cached --quiet 2> /dev/null; then echo 0; else
    git diff --cached --name-only | wc -l
    git -c commit.gpgSign=false commit --quiet --no-verify -m "$2" || exit
fi
git status --porcelain --no-renames | cut -c 4- | head -n 20"#;

/// What became of uncommitted work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    /// The number of files that were committed.
    pub saved: usize,
    /// Files that cannot be committed.
    pub left: Vec<String>,
}

impl Hub {
    /// Commits what an agent has left uncommitted, so that it is neither lost nor mixed with the work of the next session.
    pub(crate) async fn save_leftovers(
        &self,
        workspace: &Workspace,
        message: &str,
    ) -> Result<Leftovers, Fault> {
        if let Some(problem) = workspace.problem() {
            return Err(self.unusable(workspace, &problem));
        }
        let state = tree_state(workspace);
        if workspace.is_saved(state.as_ref()) {
            return Ok(Leftovers::default());
        }
        // A room for nothing else: git runs the filters that the agent has configured.
        let read = self.layout.readable().into_iter().chain([workspace.exclude_file()]);
        let room = self.room(read, [workspace.tree()])?;
        let (tree, exclude) = (workspace.tree(), workspace.exclude_file());
        let saved = room.run(SAVE, [tree.as_os_str(), message.as_ref(), exclude.as_os_str()]).await;
        room.close().await;
        let saved = saved?;
        if saved.code != 0 {
            return Err(
                self.unusable(workspace, &format!("changes cannot be committed ({})", saved.reason()))
            );
        }
        let mut lines = saved.stdout.lines();
        let number = lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or_default();
        let left: Vec<String> = lines.map(str::to_owned).collect();
        // As it was before git looked; what has changed since is looked at next time. What is left is named each time.
        let recorded = workspace.record_saved(state.filter(|_| left.is_empty()));
        recorded.map_err(|error| self.unwritable(&error))?;
        Ok(Leftovers { saved: number, left })
    }
}
