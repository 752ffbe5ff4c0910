//! Work that an agent has not committed.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;

use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;

use crate::hub::Hub;
use crate::tree_state::tree_state;
use crate::workspace::Workspace;

/// Commits all changes in the working tree `$1` that can be committed and that the file `$3` does not exclude, with the message `$2`, after locks were removed if `$4` says so. Prints the number of changes,
/// then those that are left, a line each. A repository within the repository is left: only its name would be committed.
const SAVE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
git() { command git -c core.excludesFile="$exclude" -c core.sparseCheckout=false "$@"; }
exclude=$3
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
if [ "$4" = remove-locks ]; then
    rm -rf -- "$GIT_DIR"/*.lock
    find "$GIT_DIR/refs" "$GIT_DIR/logs" -name '*.lock' -exec rm -rf -- {} + 2> /dev/null
elif [ -e "$GIT_DIR/index.lock" ]; then
    echo "another git is at work, or one that was killed has left .git/index.lock" >&2
    exit 4
fi
changes=$(git status --porcelain --no-renames) || exit
[ "$changes" ] || exit 0
git add --all --ignore-errors
git ls-files --stage -z | grep -z '^160000' | cut -z -f 2- | xargs -0 -r git rm --quiet --cached -f -- || exit
if git diff --cached --quiet 2> /dev/null; then echo 0; else
    git diff --cached --name-only | wc -l
    git -c commit.gpgSign=false commit --quiet --no-verify -m "$2" || exit
fi
git status --porcelain --no-renames | cut -c 4- | head -n 20"#;

/// Makes the repository `$1` writable again.
const MAKE_WRITABLE: &str = r#"find "$1" -type d ! -perm -700 -exec chmod u+rwx -- {} \;
find "$1" -path "$1/objects" -prune -o -type f ! -perm -600 -exec chmod u+rw -- {} +"#;

/// What git writes for every commit.
const WRITTEN: [&str; 8] = ["", "HEAD", "index", "logs", "logs/HEAD", "objects", "refs", "refs/heads"];

/// What it means that the agent's repository is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// The agent is at work, so one of its processes may hold the lock.
    InUse,
    /// Nothing of the agent runs any more, so a killed process has left the lock.
    Stale,
}

/// What became of uncommitted work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    /// The number of files that were committed.
    pub saved: usize,
    /// Files that cannot be committed.
    pub left: Vec<String>,
}

impl Leftovers {
    /// Files by themselves that cannot be committed. Of a repository within the repository, and of a directory that git does not accept, that
    /// is to be expected.
    pub(crate) fn left_files(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(|path| path.trim_matches('"')).filter(|path| !path.ends_with('/'))
    }
}

impl Hub {
    /// Commits what an agent has left uncommitted for a claim that no check looks at, and faults if some of it stays uncommitted.
    pub(crate) async fn save_for_claim(&self, workspace: &Workspace, message: &str) -> Result<(), Fault> {
        let leftovers = self.save_leftovers(workspace, message, Locks::InUse).await?;
        let left: Vec<&str> = leftovers.left_files().collect();
        match left.is_empty() {
            true => Ok(()),
            false => {
                let why = format!("changes cannot be committed: {}", list_names(left));
                Err(self.unusable(workspace, &why))
            }
        }
    }

    /// Takes back that an agent has made its repository read-only, which would stop the next session. Nothing of the agent may run.
    pub(crate) async fn make_writable(&self, workspace: &Workspace) -> Result<(), Fault> {
        let git = workspace.git_dir();
        let is_read_only = |name: &&str| {
            let metadata = git.join(name).symlink_metadata();
            let is_plain = |metadata: &Metadata| metadata.is_dir() || metadata.is_file();
            metadata
                .is_ok_and(|metadata| is_plain(&metadata) && metadata.permissions().mode() & 0o600 != 0o600)
        };
        if !WRITTEN.iter().any(is_read_only) {
            return Ok(());
        }
        let room = self.room([], [workspace.tree()])?;
        let done = room.run(MAKE_WRITABLE, [&git]).await;
        room.close().await;
        done.map(drop)
    }

    /// Commits what an agent has left uncommitted, so that it is neither lost nor mixed with the work of the next session.
    pub(crate) async fn save_leftovers(
        &self,
        workspace: &Workspace,
        message: &str,
        locks: Locks,
    ) -> Result<Leftovers, Fault> {
        if let Some(problem) = workspace.problem() {
            return Err(self.unusable(workspace, &problem));
        }
        if locks == Locks::Stale {
            self.make_writable(workspace).await?;
        }
        let state = tree_state(workspace);
        if workspace.is_saved(state.as_ref()) {
            return Ok(Leftovers::default());
        }
        // A room for nothing else: git runs the filters that the agent has configured.
        let read = self.layout.readable().into_iter().chain([workspace.exclude_file()]);
        let room = self.room(read, [workspace.tree()])?;
        let (tree, exclude) = (workspace.tree(), workspace.exclude_file());
        let locks = match locks {
            Locks::InUse => "",
            Locks::Stale => "remove-locks",
        };
        let arguments = [tree.as_os_str(), message.as_ref(), exclude.as_os_str(), locks.as_ref()];
        let saved = room.run(SAVE, arguments).await;
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
