//! Landing: brings commits from the hub to the user's repository. The branch that the user has checked out is fast-forwarded if it
//! has not moved and no file that would change has uncommitted changes; otherwise the commits are left on a branch of their own.
//!
//! None of the repository's hooks and filters run. Git works in a room with a repository of ours that borrows the objects, and with
//! the user's index and files. The branch is locked while files are written.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::git_room::{Finished, GitRoom, broken};
use crate::hub::Hub;
use crate::project_revision::ProjectRevision;
use crate::self_acting::{acts_by_itself, names_a_driver};
use crate::skeleton::Skeleton;
use crate::unfinished_landing::LandingRecord;
use crate::workspace::{Workspace, copy_index, empty_tree};

/// Prints the branch and the commit of the repository at `$1`; `-` stands for what it does not have.
const WHERE: &str = r#"cd "$1" || exit 3
git symbolic-ref --quiet HEAD || echo -
git rev-parse --verify --quiet 'HEAD^{commit}' || echo -"#;

/// Copies what `$3` reaches and `$4` does not, if given, from the repository `$2` to the one at `$1`.
const COPY: &str = r#"cd "$1" || exit 3
{ echo "$3"; [ -z "$4" ] || echo "^$4"; } |
    git --git-dir="$2" pack-objects --revs --stdout --delta-base-offset --quiet |
    git index-pack --stdin --strict > /dev/null"#;

/// Updates the index `$3` and the working tree `$1` from the commit `$4` to `$5`, with the repository `$2` of ours; without `$4` from
/// nothing. Settings about how files are written are taken from the repository of `$1`. Not even ignored files are overwritten.
const UPDATE: &str = r#"for key in core.fileMode core.ignoreCase core.symlinks core.autocrlf core.eol core.precomposeUnicode; do
    value=$(git -C "$1" config --get "$key") && git config --file "$2/config" "$key" "$value"
done
cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$3"
export GIT_AUTHOR_NAME=autonoe GIT_AUTHOR_EMAIL=autonoe@localhost
export GIT_COMMITTER_NAME=autonoe GIT_COMMITTER_EMAIL=autonoe@localhost
old=$4
[ "$old" ] || old=$(git commit-tree -m nothing "$(git hash-object -w -t tree /dev/null)") || exit
echo "$old" > "$2/HEAD"
git checkout --quiet --no-overwrite-ignore --detach "$5""#;

/// Lists the files in which the tree-ish `$3` differs from `$2`, in the repository `$1`.
const CHANGED: &str = r#"git --git-dir="$1" diff-tree -r -z --no-renames --name-only "$2" "$3""#;

/// Sets the branch `$2` of the repository at `$1` to `$3`.
const SET_BRANCH: &str = r#"cd "$1" && git update-ref --create-reflog -m "$4" "refs/heads/$2" "$3""#;

/// Sets branches as the lines on standard input say.
const TRANSACTION: &str = r#"cd "$1" && exec git update-ref --create-reflog -m "$2" --stdin"#;

/// How commits came to the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The user's branch was fast-forwarded, and its files updated.
    Landed { branch: String },
    /// The commits are on a branch of their own.
    Apart { branch: String, why: LandingRefusal },
}

/// Whether the user agrees to files that act on the machine by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfActingFiles {
    Refused,
    Accepted,
}

/// Why the user's branch was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingRefusal {
    /// HEAD names no branch.
    Detached,
    /// The user has checked out another branch since.
    Switched { to: String },
    /// The user's branch has other commits now.
    Moved,
    /// The commits do not continue the one from which the workspace was made.
    Diverged,
    /// Files that act on the user's machine by themselves have changed.
    SelfActing(Vec<String>),
    /// The run ended before anything that they belong to has passed, or the user wants no landing.
    NotPassed,
    /// A file that would change has uncommitted changes, or something else prevents git from updating files.
    Files(String),
    /// The branch is locked by another git.
    Locked(String),
}

impl fmt::Display for LandingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detached => write!(f, "no branch is checked out"),
            Self::Switched { to } => write!(f, "'{to}' is checked out now"),
            Self::Moved => write!(f, "your branch has moved since the run began"),
            Self::Diverged => write!(f, "the agent rewrote the history that it began with"),
            Self::SelfActing(files) => {
                write!(
                    f,
                    "programs on your machine would act on these files by themselves: {}",
                    files.join(", ")
                )
            }
            Self::NotPassed => write!(f, "what they belong to has not passed"),
            Self::Files(why) => write!(f, "your files cannot be updated: {why}"),
            Self::Locked(why) => write!(f, "your branch is in use: {why}"),
        }
    }
}

impl Hub {
    /// Lands a fetched commit of a workspace. `from` is the state of the user's repository from which it was made, or that the last landing
    /// led to.
    pub async fn land(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Landing, Fault> {
        self.land_with(workspace, commit, from, SelfActingFiles::Refused).await
    }

    pub(crate) async fn land_with(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        acting: SelfActingFiles,
    ) -> Result<Landing, Fault> {
        let repository = self.repository();
        let Some(own) = repository.directories.last().cloned() else {
            return Err(self.failed("its repository is gone"));
        };
        let writable = [from.top.clone()].into_iter().chain(repository.directories.iter().cloned());
        let room = self.room([self.directory.join("base"), self.git_dir()], writable)?;
        let landing = self.land_in(&room, workspace, commit, from, &own, acting).await;
        room.close().await;
        landing
    }

    async fn land_in(
        &self,
        room: &GitRoom,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        own: &Path,
        acting: SelfActingFiles,
    ) -> Result<Landing, Fault> {
        let top = from.top.display().to_string();
        let old = from.commit.as_deref().unwrap_or_default();
        self.copy_objects(room, &top, commit, old).await?;
        let refusal = match self.target(room, from).await? {
            Err(refusal) => refusal,
            Ok(_) if !self.continues(room, commit, old).await? => LandingRefusal::Diverged,
            Ok(branch) => match self.fast_forward_safely(room, &branch, commit, from, own, acting).await? {
                None => return Ok(Landing::Landed { branch }),
                Some(refusal) => refusal,
            },
        };
        let branch = self.set_apart(room, workspace, commit, &top).await?;
        Ok(Landing::Apart { branch, why: refusal })
    }

    /// Puts a commit on the workspace's branch in the user's repository, and touches nothing else.
    pub(crate) async fn leave_apart(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<String, Fault> {
        let repository = self.repository();
        let room = self.room(
            [self.directory.join("base"), self.git_dir(), from.top.clone()],
            repository.directories.iter().cloned(),
        )?;
        let top = from.top.display().to_string();
        let left = async {
            self.copy_objects(&room, &top, commit, from.commit.as_deref().unwrap_or_default()).await?;
            self.set_apart(&room, workspace, commit, &top).await
        };
        let left = left.await;
        room.close().await;
        left
    }

    async fn copy_objects(&self, room: &GitRoom, top: &str, commit: &str, old: &str) -> Result<(), Fault> {
        let hub = self.git_dir().display().to_string();
        let copied = room.run(COPY, [top, &hub, commit, old]).await?;
        match copied.code {
            0 => Ok(()),
            _ => Err(self.failed(&copied.reason())),
        }
    }

    async fn set_apart(
        &self,
        room: &GitRoom,
        workspace: &Workspace,
        commit: &str,
        top: &str,
    ) -> Result<String, Fault> {
        let (branch, reason) = (workspace.branch().to_owned(), "autonoe: leave commits for you to merge");
        let set = room.run(SET_BRANCH, [top, &branch, commit, reason]).await?;
        match set.code {
            0 => Ok(branch),
            _ => Err(self.failed(&set.reason())),
        }
    }

    async fn fast_forward_safely(
        &self,
        room: &GitRoom,
        branch: &str,
        commit: &str,
        from: &ProjectRevision,
        own: &Path,
        acting: SelfActingFiles,
    ) -> Result<Option<LandingRefusal>, Fault> {
        let found = match acting {
            SelfActingFiles::Accepted => Vec::new(),
            SelfActingFiles::Refused => self.self_acting(room, commit, from).await?,
        };
        if !found.is_empty() {
            return Ok(Some(LandingRefusal::SelfActing(found)));
        }
        match self.fast_forward(room, branch, commit, from, own).await? {
            Some(LandingRefusal::Files(why)) => {
                let landed = self.fast_forward_with_same_changes(room, branch, commit, from, own).await?;
                Ok((!landed).then_some(LandingRefusal::Files(why)))
            }
            other => Ok(other),
        }
    }

    /// Tries again after uncommitted changes of the user that are the same in the new commit were entered in the index. Returns whether it
    /// landed; otherwise the index is as before.
    async fn fast_forward_with_same_changes(
        &self,
        room: &GitRoom,
        branch: &str,
        commit: &str,
        from: &ProjectRevision,
        own: &Path,
    ) -> Result<bool, Fault> {
        let record = LandingRecord::new(branch, commit, from);
        let (index, saved) = (own.join("index"), room.work().join("index.saved"));
        if fs::copy(&index, &saved).is_err() {
            return Ok(false);
        }
        let git = self.borrower(room, &from.format)?;
        let adopted = self.adopt_landed_files(room, &record, &from.top, &git, &index, false).await;
        let landed = adopted.is_ok() && self.fast_forward(room, branch, commit, from, own).await?.is_none();
        if !landed {
            copy_index(&saved, &index).map_err(|error| self.failed(&error.to_string()))?;
        }
        Ok(landed)
    }

    /// Changed files that act by themselves.
    async fn self_acting(
        &self,
        room: &GitRoom,
        commit: &str,
        from: &ProjectRevision,
    ) -> Result<Vec<String>, Fault> {
        let hub = self.git_dir().display().to_string();
        let old = from.commit.as_deref().unwrap_or(empty_tree(&from.format));
        let changed = room.run(CHANGED, [hub.as_str(), old, commit]).await?;
        if changed.code != 0 {
            return Err(self.failed(&changed.reason()));
        }
        let mut acting = Vec::new();
        for path in changed.stdout.split_terminator('\0') {
            let is_attributes = path.rsplit('/').next() == Some(".gitattributes");
            let acts = match is_attributes {
                true => {
                    let file = format!("{commit}:{path}");
                    let content =
                        room.run(r#"git --git-dir="$1" cat-file blob "$2""#, [hub.as_str(), &file]).await?;
                    names_a_driver(&content.stdout)
                }
                false => acts_by_itself(path),
            };
            if acts {
                acting.push(path.to_owned());
            }
        }
        Ok(acting)
    }

    /// The branch to fast-forward.
    async fn target(
        &self,
        room: &GitRoom,
        from: &ProjectRevision,
    ) -> Result<Result<String, LandingRefusal>, Fault> {
        let found = room.run(WHERE, [from.top.as_os_str()]).await?;
        if found.code != 0 {
            return Err(self.failed(&found.reason()));
        }
        let mut lines = found.stdout.lines().map(|line| (line != "-").then(|| line.to_owned()));
        let (branch, commit) = (lines.next().flatten(), lines.next().flatten());
        let branch = branch.map(|name| name.trim_start_matches("refs/heads/").to_owned());
        Ok(match (branch, &from.branch) {
            (Some(now), Some(before)) if now == *before && commit == from.commit => Ok(now),
            (Some(now), Some(before)) if now == *before => Err(LandingRefusal::Moved),
            (Some(to), _) => Err(LandingRefusal::Switched { to }),
            (None, _) => Err(LandingRefusal::Detached),
        })
    }

    async fn continues(&self, room: &GitRoom, commit: &str, old: &str) -> Result<bool, Fault> {
        if old.is_empty() {
            return Ok(true);
        }
        let hub = self.git_dir();
        let script = r#"git --git-dir="$1" merge-base --is-ancestor "$2" "$3""#;
        Ok(room.run(script, [hub.as_os_str(), old.as_ref(), commit.as_ref()]).await?.code == 0)
    }

    /// Finishes a landing during which the process was killed. Returns how it ended, `None` if there was none.
    pub(crate) async fn finish_landing(&self, from: &ProjectRevision) -> Result<Option<Landing>, Fault> {
        let repository = self.repository();
        let (Some(record), Some(own)) = (self.unfinished_landing(), repository.directories.last()) else {
            return Ok(None);
        };
        self.remove_locks_of_landing(&record, &repository);
        let is_where_it_was = (from.branch.as_ref(), &from.commit) == (Some(&record.branch), &record.old);
        if !is_where_it_was {
            self.forget_landing();
            return Ok(None);
        }
        let writable = [from.top.clone()].into_iter().chain(repository.directories.iter().cloned());
        let room = self.room([self.directory.join("base"), self.git_dir()], writable)?;
        let finishing = async {
            let (top, old) = (from.top.display().to_string(), record.old.as_deref().unwrap_or_default());
            self.copy_objects(&room, &top, &record.commit, old).await?;
            let git = self.borrower(&room, &from.format)?;
            self.adopt_landed_files(&room, &record, &from.top, &git, &own.join("index"), true).await?;
            self.fast_forward(&room, &record.branch, &record.commit, from, own).await
        };
        let finished = finishing.await;
        room.close().await;
        Ok(match finished? {
            None => Some(Landing::Landed { branch: record.branch }),
            Some(_) => None,
        })
    }

    /// A repository of ours in the room that has all objects, the user's and the hub's.
    fn borrower(&self, room: &GitRoom, format: &str) -> Result<PathBuf, Fault> {
        let git = room.work().join("land.git");
        let shared = self.repository().directories.first().map(|shared| shared.join("objects"));
        let borrowed: Vec<PathBuf> =
            shared.into_iter().chain([self.objects(), self.base_objects()]).collect();
        let skeleton = Skeleton { format, branch: "none", borrowed: &borrowed, ..Skeleton::default() };
        skeleton.write(&git).map_err(|error| self.unwritable(&error))?;
        Ok(git)
    }

    /// Updates files, index and branch, or none of them; then it returns the reason.
    async fn fast_forward(
        &self,
        room: &GitRoom,
        branch: &str,
        commit: &str,
        from: &ProjectRevision,
        own: &Path,
    ) -> Result<Option<LandingRefusal>, Fault> {
        let top = from.top.display().to_string();
        let record = LandingRecord::new(branch, commit, from);
        self.record_landing(&record).map_err(|error| self.unwritable(&error))?;
        let mut lock = match BranchLock::take(room, &top, branch, commit, from.commit.as_deref()).await? {
            Ok(lock) => lock,
            Err(why) => {
                self.forget_landing();
                return Ok(Some(LandingRefusal::Locked(why)));
            }
        };
        let git = self.borrower(room, &from.format)?.display().to_string();
        let (index, old) =
            (own.join("index").display().to_string(), from.commit.as_deref().unwrap_or_default());
        let updated = room.run(UPDATE, [top.as_str(), &git, &index, old, commit]).await?;
        if updated.code != 0 {
            lock.abort().await;
            self.forget_landing();
            return Ok(Some(LandingRefusal::Files(describe(&updated))));
        }
        lock.commit().await.map_err(|error| broken(&error))?;
        self.forget_landing();
        Ok(None)
    }

    pub(crate) fn failed(&self, why: &str) -> Fault {
        let root = self.root().display();
        let message = format!("The commits of the run cannot be brought to {root}: {why}.");
        Fault::permanent(FaultLayer::System, "landing", message)
            .hint("They are kept in the state directory; `autonoe land` tries again.")
    }
}

/// A branch of the user's repository, locked while it is about to be changed.
struct BranchLock {
    child: autonoe_sandbox::SandboxedChild,
    stdin: tokio::net::unix::pipe::Sender,
    stdout: BufReader<tokio::net::unix::pipe::Receiver>,
}

impl BranchLock {
    /// The inner error says why the branch cannot be locked.
    async fn take(
        room: &GitRoom,
        top: &str,
        branch: &str,
        commit: &str,
        old: Option<&str>,
    ) -> Result<Result<Self, String>, Fault> {
        let launch = room.script(TRANSACTION, [top, "autonoe: land"]).await?;
        let (errors, writer) = io::pipe().map_err(|error| broken(&error))?;
        let launch = launch.stderr(writer);
        let launch =
            launch.stdin(autonoe_sandbox::StdioTarget::Piped).stdout(autonoe_sandbox::StdioTarget::Piped);
        let mut child = launch.spawn().map_err(|error| broken(&error))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = streams.ok_or_else(|| broken(&"its streams are missing"))?;
        let mut lock = Self { child, stdin, stdout: BufReader::new(stdout) };
        let zeros = "0".repeat(commit.len());
        let request =
            format!("start\nupdate refs/heads/{branch} {commit} {}\nprepare\n", old.unwrap_or(&zeros));
        let prepared = lock.ask(&request, "prepare: ok").await;
        if prepared {
            return Ok(Ok(lock));
        }
        let finished = crate::git_room::outcome(lock.child, None, errors).await?;
        Ok(Err(finished.reason()))
    }

    /// Whether git confirms the request.
    async fn ask(&mut self, request: &str, confirmation: &str) -> bool {
        if self.stdin.write_all(request.as_bytes()).await.is_err() {
            return false;
        }
        let mut line = String::new();
        while let Ok(read) = self.stdout.read_line(&mut line).await {
            if line.trim() == confirmation {
                return true;
            }
            if read == 0 {
                return false;
            }
            line.clear();
        }
        false
    }

    async fn commit(mut self) -> io::Result<()> {
        match self.ask("commit\n", "commit: ok").await {
            true => Ok(()),
            false => Err(io::Error::other("the branch was not changed")),
        }
    }

    async fn abort(&mut self) {
        self.ask("abort\n", "abort: ok").await;
    }
}

/// The files that git names, and why it does not change them.
fn describe(finished: &Finished) -> String {
    let lines = finished.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines
        .filter(|line| !line.starts_with("Please ") && *line != "Aborting")
        .take(5)
        .map(|line| line.trim_start_matches("error: ").trim_start_matches("fatal: ").trim_end_matches('.'))
        .collect();
    if lines.is_empty() { finished.reason() } else { lines.join(" ") }
}
