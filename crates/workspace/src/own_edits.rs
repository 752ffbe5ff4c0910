//! Edits of the run itself to a file of the user's, such as the check boxes of a roadmap. They are in the user's file already. Once all else
//! has landed they become a commit of their own, on top of it, so that agents build on the same file.
//!
//! If the user has edited the file too, or git does not track it, nothing is committed.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use autonoe_core::fault::Fault;
use autonoe_core::own_edits::OwnEdits;
use autonoe_files::{DOCUMENT_LIMIT, read_bytes_beneath, read_text, to_text};
use autonoe_git::is_hash;

use crate::changed_file::ChangedFile;
use crate::hub::{Hub, UNUSABLE};
use crate::hub_layout::HubLayout;
use crate::workspace::Workspace;

/// Maximum size of such a file, in bytes.
const MAX_FILE: u64 = 8 << 20;

/// The file of the hub that names commits of ours, a line each with the commit before.
const OWN_COMMITS: &str = "own-commits";

/// Prints the file `$3` of the commit `$2` in the repository `$1`.
const SHOW: &str = r#"git --git-dir="$1" cat-file blob "$2:$3""#;

/// Commits the content of the file `$3` as `$2` on top of `$4`, with the message `$5`, in the working tree `$1`. Only a file that `$4` has is
/// committed, and nothing else that is changed. Prints the commit. [`FINISH`] does what a killed process leaves out.
const COMMIT: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD" GIT_LITERAL_PATHSPECS=1
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
[ "$(git rev-parse --verify --quiet 'HEAD^{commit}')" = "$4" ] || exit 11
mode=$(git ls-tree "$4" "$2" | cut -c 1-6)
case "$mode" in 100644 | 100755) ;; *) exit 12 ;; esac
blob=$(git hash-object -w --no-filters --stdin < "$3") || exit
tree=$(export GIT_INDEX_FILE="$GIT_DIR/autonoe-own"
    git read-tree "$4" && git update-index --cacheinfo "$mode,$blob,$2" && git write-tree
    rm -f "$GIT_INDEX_FILE") || exit
commit=$(git -c commit.gpgSign=false commit-tree -p "$4" -m "$5" "$tree") || exit
git update-ref -m "autonoe: own edits" HEAD "$commit" "$4" || exit
git update-index --cacheinfo "$mode,$blob,$2"
rm -f "$2" && cat "$3" > "$2"
[ "$mode" = 100644 ] || chmod +x "$2"
echo "$commit""#;

/// Brings the file `$2` of the working tree `$1` to the last commit, if that commit changes nothing else and the file is as it was before.
const FINISH: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD" GIT_LITERAL_PATHSPECS=1
[ "$(git diff-tree -r --no-commit-id --no-renames --name-only -z HEAD^ HEAD | tr '\0' '\n')" = "$2" ] || exit 0
[ ! -e "$2" ] || [ "$(git hash-object --no-filters -- "$2")" = "$(git rev-parse --verify --quiet "HEAD^:$2")" ] || exit 0
git checkout --quiet --force HEAD -- "$2""#;

/// Prints the number of commits from `$2` to `$3` in the repository `$1`, then the entries that differ, as `git diff-tree` does.
const DIFFERENCE: &str = r#"export GIT_DIR="$1"
git rev-list --count "$2..$3" && git diff-tree -r -z --no-renames --no-abbrev "$2" "$3""#;

/// The file of a workspace that is there while a commit of ours is made in it, out of the agents' reach.
const COMMITTING: &str = "committing";

/// A file of the user's that the run edits too.
#[derive(Clone)]
pub struct OwnEditedFile(pub Arc<dyn OwnEdits>);

impl fmt::Debug for OwnEditedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnEditedFile").field(&self.0.name()).finish()
    }
}

impl PartialEq for OwnEditedFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnEditedFile {}

/// The file as the run has left it.
pub(crate) struct Edited {
    pub now: String,
    /// For the commit.
    pub message: String,
}

/// Who has changed the file in commits that have not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnFileChange {
    None,
    /// The user and the run: a process was killed before its edits landed.
    Own,
    Agents,
}

impl Hub {
    /// Commits the run's own edits in the workspace, on top of `landed`, which the workspace is at. Returns the commit, which
    /// the hub has then; `None` if there are none, or if they cannot be committed by themselves.
    pub(crate) async fn commit_own_edits(
        &self,
        workspace: &Workspace,
        landed: &str,
        file: &OwnEditedFile,
    ) -> Result<Option<String>, Fault> {
        let Some((path, Edited { now, message })) = self.own_edits(workspace, landed, file).await? else {
            return Ok(None);
        };
        let path = path.as_str();
        let made = self.commit_file(workspace, landed, path, &now, &message).await;
        let commit = match made {
            Ok(Some(commit)) => commit,
            Ok(None) => return Ok(None),
            // What an agent did to its workspace is reported elsewhere; the edits stay in the user's file.
            Err(fault) if fault.code == UNUSABLE => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let is_ours = self.differs_only_in(landed, &commit, path).await?
            && self.file_in(&commit, path).await?.as_ref() == Some(&now);
        if is_ours {
            self.record_own_commit(&commit, landed).map_err(|error| self.unwritable(&error))?;
        }
        Ok(is_ours.then_some(commit))
    }

    /// The file below the repository and the run's edits since the commit `landed`; `None` if there are none, or the user has edited it too.
    pub(crate) async fn own_edits(
        &self,
        workspace: &Workspace,
        landed: &str,
        file: &OwnEditedFile,
    ) -> Result<Option<(String, Edited)>, Fault> {
        let name = file.0.name();
        let path = workspace.part().join(name);
        let (Some(path), Ok(now)) =
            (path.to_str(), read_bytes_beneath(self.root(), name, MAX_FILE).and_then(to_text))
        else {
            return Ok(None);
        };
        let Some(committed) = self.file_in(landed, path).await?.filter(|committed| *committed != now) else {
            return Ok(None);
        };
        let message = file.0.describe(&committed, &now);
        Ok(message.map(|message| (path.to_owned(), Edited { now, message })))
    }

    /// What commits on top of `landed` change in the file.
    pub(crate) async fn own_file_change(
        &self,
        workspace: &Workspace,
        landed: Option<&str>,
        commit: &str,
        file: &OwnEditedFile,
    ) -> Result<OwnFileChange, Fault> {
        let name = file.0.name();
        let path = workspace.part().join(name);
        let Some(path) = path.to_str() else { return Ok(OwnFileChange::None) };
        let before = match landed {
            Some(landed) => self.file_in(landed, path).await?,
            None => None,
        };
        let after = self.file_in(commit, path).await?;
        if before == after {
            return Ok(OwnFileChange::None);
        }
        let Some(after) = after else { return Ok(OwnFileChange::Agents) };
        let of_user = read_bytes_beneath(self.root(), name, MAX_FILE).and_then(to_text).ok();
        let is_same = |text: &String| *text == after || file.0.describe(text, &after).is_some();
        Ok(match before.iter().chain(&of_user).any(is_same) {
            true => OwnFileChange::Own,
            false => OwnFileChange::Agents,
        })
    }

    async fn commit_file(
        &self,
        workspace: &Workspace,
        landed: &str,
        path: &str,
        content: &str,
        message: &str,
    ) -> Result<Option<String>, Fault> {
        if let Some(problem) = workspace.problem() {
            return Err(self.unusable(workspace, &problem));
        }
        // A room for nothing else: the repository is the agent's.
        let room = self.room(self.layout.readable(), [workspace.tree()])?;
        let source = room.work().join("content");
        let mark = workspace.directory.join(COMMITTING);
        let marked = fs::write(&mark, "").and_then(|()| fs::write(&source, content));
        marked.map_err(|error| self.unwritable(&error))?;
        let (tree, source) = (workspace.tree().display().to_string(), source.display().to_string());
        let made = room.run(COMMIT, [tree.as_str(), path, &source, landed, message]).await;
        room.close().await;
        match made?.code {
            0 => {
                fs::remove_file(&mark).map_err(|error| self.unwritable(&error))?;
                self.fetch(workspace).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The text of a file in a commit of the hub; `None` if it has none.
    async fn file_in(&self, commit: &str, path: &str) -> Result<Option<String>, Fault> {
        let shown = self.ask(SHOW, [commit, path]).await?;
        Ok((shown.code == 0).then_some(shown.stdout))
    }

    /// Whether `after` is the commit after `before`, and changes nothing but the content of this file.
    async fn differs_only_in(&self, before: &str, after: &str, path: &str) -> Result<bool, Fault> {
        let found = self.ask(DIFFERENCE, [before, after]).await?;
        let Some(entries) = found.stdout.strip_prefix("1\n").filter(|_| found.code == 0) else {
            return Ok(false);
        };
        Ok(match &ChangedFile::parse(entries)[..] {
            [only] => only.path == path && entries.starts_with(&format!(":{0} {0} ", only.mode)),
            _ => false,
        })
    }

    /// Whether a commit is one of ours on top of `before`, for a process that was killed before it landed. It may have been killed before the
    /// commit was on record, too.
    pub(crate) async fn is_own_commit(
        &self,
        workspace: &Workspace,
        commit: &str,
        before: &str,
        file: &OwnEditedFile,
    ) -> Result<bool, Fault> {
        if self.layout.own_commits().iter().any(|(own, parent)| own == commit && parent == before) {
            return Ok(true);
        }
        let path = workspace.part().join(file.0.name());
        let Some(path) = path.to_str() else { return Ok(false) };
        let change = self.own_file_change(workspace, Some(before), commit, file).await?;
        let is_ours = change == OwnFileChange::Own && self.differs_only_in(before, commit, path).await?;
        if is_ours {
            self.record_own_commit(commit, before).map_err(|error| self.unwritable(&error))?;
        }
        Ok(is_ours)
    }

    /// Finishes a commit of ours during which the process was killed, so that its file is not taken for an agent's edit.
    pub(crate) async fn finish_own_commit(
        &self,
        workspace: &Workspace,
        file: &OwnEditedFile,
    ) -> Result<(), Fault> {
        let mark = workspace.directory.join(COMMITTING);
        let path = workspace.part().join(file.0.name());
        let (true, Some(path), None) = (mark.exists(), path.to_str(), workspace.problem()) else {
            return Ok(());
        };
        // A room for nothing else: the repository is the agent's. What is wrong with it is reported by those who need it.
        let room = self.room(self.layout.readable(), [workspace.tree()])?;
        let tree = workspace.tree().display().to_string();
        let finished = room.run(FINISH, [tree.as_str(), path]).await;
        room.close().await;
        finished?;
        fs::remove_file(&mark).map_err(|error| self.unwritable(&error))
    }

    fn record_own_commit(&self, commit: &str, before: &str) -> io::Result<()> {
        let path = self.layout.directory().join(OWN_COMMITS);
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{commit} {before}")
    }
}

impl HubLayout {
    /// Commits of ours, each with the commit before: they change nothing but a file that no check judges.
    fn own_commits(&self) -> Vec<(String, String)> {
        own_commits_of(&self.directory().join(OWN_COMMITS))
    }

    /// These commits, and those of ours that follow them.
    pub fn with_own_commits(&self, mut commits: Vec<String>) -> Vec<String> {
        // In the order in which they were made, so that one may follow another.
        for (own, before) in self.own_commits() {
            if commits.contains(&before) && !commits.contains(&own) {
                commits.push(own);
            }
        }
        commits
    }
}

fn own_commits_of(path: &Path) -> Vec<(String, String)> {
    let text = read_text(path, DOCUMENT_LIMIT).ok().flatten().unwrap_or_default();
    let pair = |line: &str| {
        let (own, before) = line.split_once(' ')?;
        (is_hash(own) && is_hash(before)).then(|| (own.to_owned(), before.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}
