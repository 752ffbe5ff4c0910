//! Landing: brings commits from the hub to the user's repository. The branch that the user has checked out is fast-forwarded if it
//! has not moved and no file that would change has uncommitted changes; otherwise the commits are left on a branch of their own.
//!
//! None of the repository's hooks and filters run. Git works in a room with a repository of ours that borrows the objects, and with
//! the user's index and files. The branch is locked while files are written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::ci_files::is_ci_file;
use autonoe_core::event::HookFile;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::hub_refs;
use autonoe_git::{Finished, GitRoom, Skeleton};

use crate::branch_lock::BranchLock;
use crate::changed_file::ChangedFile;
use crate::git_refusal::{describe, why_it_failed};
use crate::hub::Hub;
use crate::hub_layout::LEFT_APART;
use crate::landing_error::{LandingError, LandingRefusal, list_files};
use crate::landing_record::LandingRecord;
use crate::named_paths::files_run_by_hooks;
use crate::project_revision::ProjectRevision;
use crate::saved_index::SavedIndex;
use crate::settled::Settled;
use crate::workspace::Workspace;
use crate::writing_settings::{copy_settings, files_to_read};

// Arguments of the scripts: the working tree, our repository, the user's index, the commits before and after, then their own.

/// Prints the branch and the commit of the user's repository; `-` stands for what it does not have.
const WHERE: &str = r#"cd "$1" || exit 3
git symbolic-ref --quiet HEAD || echo -
git rev-parse --verify --quiet 'HEAD^{commit}' || echo -"#;

/// Copies the new objects to the user's repository. If that fails, as on a full disk, what git has begun to write is removed. A user who has
/// rewritten the history may not have the commit before any more: then everything is new that no branch has.
const COPY: &str = r#"cd "$1" || exit 3
packs=$(git rev-parse --git-path objects/pack) || exit
begun() { (cd "$packs" && echo tmp_*); }
before=" $(begun) "
known() {
    if [ -z "$1" ]; then return
    elif [ "$1" = "$(git rev-parse --verify --quiet HEAD)" ] || [ "$(git for-each-ref --count=1 --contains="$1")" ]; then
        echo "^$1"
    else git for-each-ref --format='^%(objectname)'; fi
}
{ echo "$5"; known "$4"; } |
    git --git-dir="$2" pack-objects --revs --stdout --delta-base-offset --quiet |
    git index-pack --stdin --strict > /dev/null && exit
code=$?
for file in $(begun); do
    case $before in *" $file "*) ;; *) rm -f "$packs/$file" ;; esac
done
exit $code"#;

/// Exits with 3 if the commits have no common ancestor.
const IS_ANCESTOR: &str = r#"export GIT_DIR="$2"
git merge-base --is-ancestor "$4" "$5" && exit
git merge-base "$4" "$5" > /dev/null
[ $? = 1 ] && exit 3
exit 1"#;

/// Whether the branch `$6` of the user's repository `$1` has ever been at the commit `$7`, as far as git has noted it.
const HAS_BEEN_AT: &str =
    r#"git -C "$1" log -g --format=%H "refs/heads/$6" -- 2> /dev/null | grep -qxF "$7""#;

/// Exits with 3 if the new commit and what is checked out now have no common ancestor.
const IS_RELATED: &str = r#"head=$(git -C "$1" rev-parse --verify --quiet 'HEAD^{commit}') || exit 0
git --git-dir="$2" merge-base "$head" "$5" > /dev/null
[ $? != 1 ] || exit 3"#;

/// Lists the changed files with their entries. What the user has committed meanwhile is not among them.
pub(crate) const CHANGED: &str = r#"export GIT_DIR="$2"
if [ "$4" ]; then old=$(git merge-base "$4" "$5") || old=$4
else old=$(git hash-object -w -t tree /dev/null); fi
git diff-tree -r -z --no-renames --no-abbrev "$old" "$5""#;

/// Goes to the working tree, with the user's index.
const ENTER_TREE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$3"
"#;

/// Sets `old` to what git is to take for the user's last commit: with the changes that were entered in the index, if there are any. Git
/// would refuse a file that stands where that commit has a directory.
const OLD: &str = r#"old=$4
[ ! -f "$2/adopted" ] || old=$(cat "$2/adopted")
[ "$old" ] || old=$(git hash-object -w -t tree /dev/null) || exit
"#;

/// Tries with a copy of the index whether it and the working tree can be updated, and touches nothing. If not, lists the uncommitted files.
const TRY: &str = r#"export GIT_INDEX_FILE="$2/tried"
git update-index -q --refresh > /dev/null
git read-tree --dry-run -m -u "$old" "$5" || { git diff-files -z --name-only; exit 1; }
"#;

/// Lists the entries of the user's index that are not as the new commit has them.
const NOT_STAGED: &str = r#"git diff-index --cached -z --name-only "$5""#;

/// Updates index and working tree. Not even ignored files are overwritten. Prints the names of files that are not as the index says.
const UPDATE: &str = r#"export GIT_AUTHOR_NAME=autonoe GIT_AUTHOR_EMAIL=autonoe@localhost
export GIT_COMMITTER_NAME=autonoe GIT_COMMITTER_EMAIL=autonoe@localhost
[ "$old" = "$4" ] || old=$(git commit-tree -m "what the user has" "$old") || exit
echo "$old" > "$2/HEAD"
git checkout --quiet --no-overwrite-ignore --detach "$5" || exit
git update-index -q --refresh > /dev/null
git diff-files -z --name-only"#;

/// Makes the branch `$6` of the user's repository, or fast-forwards it, to the new commit. If a branch of the user's is in the way, or it is
/// checked out somewhere, another name is tried. A branch of an earlier run that is there already will do. Prints the name. `$8` is for the
/// reflog.
const SET_BRANCH: &str = r#"cd "$1" || exit 3
same=$(git for-each-ref --points-at="$5" --format='%(refname:lstrip=2)' 'refs/heads/autonoe/**' 'refs/heads/autonoe-*' | head -n 1)
[ -z "$same" ] || { echo "$same"; exit; }
checked_out=$(git worktree list --porcelain)
names() {
    for base in "$6" "$7"; do
        echo "$base"; n=2
        while [ "$n" -lt 100 ]; do echo "$base-$n"; n=$((n + 1)); done
    done
}
for name in $(names "$@"); do
    ! printf '%s\n' "$checked_out" | grep -qxF "branch refs/heads/$name" || continue
    old=$(git rev-parse --verify --quiet "refs/heads/$name^{commit}")
    [ -z "$old" ] || git --git-dir="$2" merge-base --is-ancestor "$old" "$5" 2> /dev/null || continue
    git update-ref --create-reflog -m "$8" "refs/heads/$name" "$5" "$old" && { echo "$name"; exit; }
done
echo "error: all names such as $6-99 are taken; remove branches that are not needed" >&2
exit 1"#;

/// Exit codes of [`FORWARD_BRANCH`].
const IS_CHECKED_OUT: i32 = 11;
const IS_ELSEWHERE: i32 = 12;

/// Sets the branch `$6`, which must not be checked out, to the new commit if that continues it.
const FORWARD_BRANCH: &str = r#"cd "$1" || exit 3
git worktree list --porcelain | grep -qxF "branch refs/heads/$6" && exit 11
old=$(git rev-parse --verify --quiet "refs/heads/$6^{commit}")
[ -z "$old" ] || git --git-dir="$2" merge-base --is-ancestor "$old" "$5" || exit 12
git update-ref --create-reflog -m "autonoe: land" "refs/heads/$6" "$5" "$old""#;

/// Enters the lines of the file `$6` in the user's index. Notes the tree that the user's last commit would have with them.
const ENTER: &str = r#"git update-index -z --index-info < "$6" || exit
export GIT_INDEX_FILE="$2/adopting"
git read-tree "$old" && git update-index -z --index-info < "$6" && git write-tree > "$2/adopted""#;

/// How commits came to the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The branch was fast-forwarded and, if it is checked out, its files were updated.
    Landed {
        branch: String,
        /// Changed files that decide what a CI service runs.
        ci_files: Vec<String>,
        /// Changed files that the user's hooks run through other programs.
        hook_files: Vec<HookFile>,
        /// Changed files that the user's git has filters for, which have not run.
        filtered_files: Vec<String>,
    },
    /// The commits are on a branch of their own.
    Apart { branch: String, why: LandingRefusal },
}

/// What has become of a landing during which a process was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptedLanding {
    Finished {
        commit: String,
        landing: Landing,
    },
    /// The user has committed, edited files or switched branches since, so these are as the user's commit has them again.
    TakenBack {
        files: Vec<String>,
    },
}

impl InterruptedLanding {
    fn taken_back(files: Vec<String>) -> Option<Self> {
        (!files.is_empty()).then_some(Self::TakenBack { files })
    }
}

impl fmt::Display for InterruptedLanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished { .. } => write!(f, "A landing that was interrupted is finished now."),
            Self::TakenBack { files } => write!(
                f,
                "A landing that was interrupted was taken back: {} file(s) are as your last commit has them again ({}).",
                files.len(),
                list_files(files)
            ),
        }
    }
}

/// Where commits are to land.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LandingTarget {
    #[default]
    CheckedOut,
    /// This branch, which is not checked out.
    Branch(String),
}

/// What the user agrees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LandingConsent {
    /// Files that act on the machine by themselves.
    pub self_acting: bool,
    /// Changes to files by which checks judge.
    pub protected: bool,
}

impl Hub {
    /// Lands a fetched commit of a workspace. `from` is the state of the user's repository from which it was made, or that the last landing
    /// led to.
    pub async fn land(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        target: &LandingTarget,
        consent: LandingConsent,
    ) -> Result<Landing, Fault> {
        let _turn = self.landing_turn().await?;
        let attempt = LandingAttempt::begin(self, commit, from).await?;
        let landing = attempt.land(workspace, target, consent).await;
        attempt.close().await;
        landing
    }

    /// Puts a commit on the workspace's branch in the user's repository, and touches nothing else. Returns the branch, and the reason with the
    /// files of which a user who merges by hand should know.
    pub(crate) async fn leave_apart(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        why: LandingRefusal,
    ) -> Result<(String, LandingRefusal), Fault> {
        let _turn = self.landing_turn().await?;
        self.leave_apart_in_turn(workspace, commit, from, why).await
    }

    /// Like [`Self::leave_apart`]. The caller must have a landing turn.
    pub(crate) async fn leave_apart_in_turn(
        &self,
        workspace: &Workspace,
        commit: &str,
        from: &ProjectRevision,
        why: LandingRefusal,
    ) -> Result<(String, LandingRefusal), Fault> {
        let attempt = LandingAttempt::begin(self, commit, from).await?;
        let left = async {
            attempt.copy_objects().await?;
            let why = attempt.with_warnings(why, &attempt.changed_files().await?).await?;
            Ok((attempt.leave_apart(workspace).await?, why))
        };
        let left = left.await;
        attempt.close().await;
        left
    }

    /// Finishes a landing during which a process was killed; `None` if there is none, or it had written nothing. `settled` is what has been
    /// settled until now.
    pub async fn finish_interrupted_landing(
        &self,
        settled: &Settled,
    ) -> Result<Option<InterruptedLanding>, Fault> {
        if self.unfinished_landing().is_none() {
            return Ok(None);
        }
        let _turn = self.landing_turn().await?;
        let from = self.update().await?;
        self.finish_landing(&from, settled).await
    }

    /// Takes back what a landing had written during which a process was killed; `None` if there was nothing.
    pub async fn take_back_interrupted_landing(&self) -> Result<Option<InterruptedLanding>, Fault> {
        let Some(record) = self.unfinished_landing() else {
            return Ok(None);
        };
        let _turn = self.landing_turn().await?;
        let from = self.update().await?;
        let before = ProjectRevision { commit: record.old.clone(), ..from.clone() };
        let attempt = LandingAttempt::begin(self, &record.commit, &before).await?;
        let taken = attempt.take_back(&record, from.commit.as_deref()).await;
        attempt.close().await;
        let taken = taken?;
        self.forget_landing();
        Ok(InterruptedLanding::taken_back(taken))
    }

    /// Like [`Self::finish_interrupted_landing`]. The caller must have a landing turn.
    pub(crate) async fn finish_landing(
        &self,
        from: &ProjectRevision,
        settled: &Settled,
    ) -> Result<Option<InterruptedLanding>, Fault> {
        let Some(record) = self.unfinished_landing() else {
            return Ok(None);
        };
        let is_where_it_was = (from.branch.as_ref(), &from.commit) == (Some(&record.branch), &record.old);
        let before = ProjectRevision { commit: record.old.clone(), ..from.clone() };
        let attempt = LandingAttempt::begin(self, &record.commit, &before).await?;
        let mut taken = Vec::new();
        let finishing = async {
            taken = attempt.take_back(&record, from.commit.as_deref()).await?;
            // The branch may have had the commit already, and the user may have moved it back.
            let has_landed = from.commit.as_ref() == Some(&record.commit)
                || attempt.run(HAS_BEEN_AT, &[&record.branch, &record.commit]).await?.code == 0;
            if has_landed {
                self.note_landing(Some(&record.branch), &record.commit, settled)?;
            }
            if has_landed || !is_where_it_was {
                self.forget_landing();
                return Ok(InterruptedLanding::taken_back(std::mem::take(&mut taken)));
            }
            attempt.copy_objects().await?;
            let changed = attempt.changed_files().await?;
            let same = attempt.try_update(&changed).await?;
            attempt.fast_forward(&record.branch, &changed, same).await?;
            self.note_landing(Some(&record.branch), &record.commit, settled)?;
            let landing = attempt.landed(record.branch.clone(), &changed).await?;
            Ok(Some(InterruptedLanding::Finished { commit: record.commit.clone(), landing }))
        };
        let finished = finishing.await;
        attempt.close().await;
        match finished {
            Ok(landed) => Ok(landed),
            Err(LandingError::Refused(_)) => {
                self.forget_landing();
                Ok(InterruptedLanding::taken_back(taken))
            }
            Err(LandingError::Failed(fault)) => Err(fault),
        }
    }

    pub(crate) fn failed(&self, why: &str) -> Fault {
        let root = self.root().display();
        let message = format!("The commits of the run cannot be brought to {root}: {why}.");
        Fault::permanent(FaultLayer::System, "landing", message)
            .hint("They are kept in the state directory; `autonoe land` tries again.")
    }
}

/// One commit on its way to the user's repository, and the room in which git brings it there.
pub(crate) struct LandingAttempt<'a> {
    pub(crate) hub: &'a Hub,
    room: GitRoom,
    pub(crate) from: &'a ProjectRevision,
    commit: &'a str,
    /// The user's index.
    index: PathBuf,
    /// A repository of ours that has all objects, the user's and the hub's.
    git: PathBuf,
}

impl<'a> LandingAttempt<'a> {
    pub(crate) async fn begin(
        hub: &'a Hub,
        commit: &'a str,
        from: &'a ProjectRevision,
    ) -> Result<Self, Fault> {
        hub.record_locks(from.branch.as_deref()).map_err(|error| hub.unwritable(&error))?;
        let repository = hub.repository();
        let (Some(shared), Some(own)) = (repository.directories.first(), repository.directories.last())
        else {
            return Err(hub.failed("its repository is gone"));
        };
        let writable = [from.top.clone()].into_iter().chain(repository.directories.iter().cloned());
        let settings = files_to_read(&repository, &hub.users);
        let room = hub.room(hub.layout.readable().into_iter().chain(settings), writable)?;
        let git = room.work().join("land.git");
        let borrowed = [shared.join("objects"), hub.layout.objects(), hub.layout.base_objects()];
        let shallow = hub.shallow(&repository)?;
        let skeleton = Skeleton {
            format: &from.format,
            branch: "none",
            borrowed: &borrowed,
            shallow: shallow.as_deref(),
            ..Skeleton::default()
        };
        let written = match skeleton.write(&git) {
            Ok(()) => copy_settings(&room, &repository, &hub.users, &from.top, &git).await?,
            Err(error) => Err(error),
        };
        written.map_err(|error| hub.unwritable(&error))?;
        Ok(Self { hub, room, from, commit, index: own.join("index"), git })
    }

    pub(crate) async fn close(self) {
        self.room.close().await;
        self.hub.release_locks();
    }

    async fn land(
        &self,
        workspace: &Workspace,
        target: &LandingTarget,
        consent: LandingConsent,
    ) -> Result<Landing, Fault> {
        let ((), changed) = tokio::try_join!(self.copy_objects(), self.changed_files())?;
        let landed = match target {
            LandingTarget::CheckedOut => {
                let landed = self.try_to_land(&changed, consent).await;
                if landed.is_ok() {
                    self.remove_merged_branches().await?;
                }
                landed
            }
            LandingTarget::Branch(branch) => match self.check_files(&changed, consent).await {
                Ok(()) => self.forward_branch(branch).await,
                Err(error) => Err(error),
            },
        };
        match landed {
            Ok(branch) => self.landed(branch, &changed).await,
            Err(LandingError::Refused(why)) => {
                let why = match (why, &self.from.commit) {
                    (LandingRefusal::Moved, _) if self.run(IS_RELATED, &[]).await?.code == 3 => {
                        LandingRefusal::Unrelated
                    }
                    (LandingRefusal::Moved, Some(before)) => {
                        self.why_dropped(before).await?.unwrap_or(LandingRefusal::Moved)
                    }
                    (why, _) => why,
                };
                let why = self.with_warnings(why, &changed).await?;
                Ok(Landing::Apart { branch: self.leave_apart(workspace).await?, why })
            }
            Err(LandingError::Failed(fault)) => Err(fault),
        }
    }

    async fn landed(&self, branch: String, changed: &[ChangedFile]) -> Result<Landing, Fault> {
        let paths = || changed.iter().map(|file| file.path.as_str());
        let ci_files = paths().filter(|path| is_ci_file(path)).map(str::to_owned).collect();
        let hook_files = files_run_by_hooks(self.hub.root(), self.hub.home(), paths());
        let is_checked_out = self.from.branch.as_ref() == Some(&branch);
        let filtered_files = if is_checked_out { self.filtered_files(changed).await? } else { Vec::new() };
        Ok(Landing::Landed { branch, ci_files, hook_files, filtered_files })
    }

    /// What else the user should know, who may merge by hand whatever prevents a landing.
    async fn with_warnings(
        &self,
        why: LandingRefusal,
        changed: &[ChangedFile],
    ) -> Result<LandingRefusal, Fault> {
        let why = self.with_acting_files(why, changed).await?;
        Ok(match self.in_progress() {
            Some(file) if !why.is_in_progress() => LandingRefusal::AndInProgress { why: Box::new(why), file },
            _ => why,
        })
    }

    async fn with_acting_files(
        &self,
        why: LandingRefusal,
        changed: &[ChangedFile],
    ) -> Result<LandingRefusal, Fault> {
        // Compared with a branch without commits, every file is new.
        if matches!(why, LandingRefusal::SelfActing(_) | LandingRefusal::Unborn) {
            return Ok(why);
        }
        let files = self.acting_files(changed).await?;
        Ok(match files.is_empty() {
            true => why,
            false => LandingRefusal::AndSelfActing { why: Box::new(why), files },
        })
    }

    /// Returns the branch that was fast-forwarded.
    async fn try_to_land(
        &self,
        changed: &[ChangedFile],
        consent: LandingConsent,
    ) -> Result<String, LandingError> {
        // They only look, so none waits for another; the first that refuses is the reason.
        let (branch, ancestor, user, files) = tokio::join!(
            self.checked_out_branch(),
            self.check_ancestor(),
            self.check_user(changed),
            self.check_files(changed, consent)
        );
        let branch = branch?;
        ancestor?;
        check_names(changed)?;
        user?;
        files?;
        match self.try_update(changed).await {
            Ok(same) => self.fast_forward(&branch, changed, same).await?,
            Err(LandingError::Refused(LandingRefusal::Files(why))) => {
                self.fast_forward_with_same_changes(&branch, changed, why).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(branch)
    }

    /// Fast-forwards a branch that is not checked out, or makes it.
    async fn forward_branch(&self, branch: &str) -> Result<String, LandingError> {
        self.hub.record_locks(Some(branch)).map_err(|error| self.hub.unwritable(&error))?;
        let forwarded = self.run(FORWARD_BRANCH, &[branch]).await?;
        let branch = branch.to_owned();
        match forwarded.code {
            0 => Ok(branch),
            IS_CHECKED_OUT => Err(LandingRefusal::CheckedOut { branch }.into()),
            IS_ELSEWHERE => Err(LandingRefusal::Elsewhere { branch }.into()),
            _ => Err(LandingRefusal::Locked(forwarded.reason()).into()),
        }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.room.work()
    }

    /// Runs one of our scripts, whose first arguments are the working tree, our repository, the user's index, and the commits before and
    /// after.
    pub(crate) async fn run(&self, script: &str, more: &[&str]) -> Result<Finished, Fault> {
        let paths = [&self.from.top, &self.git, &self.index].map(|path| path.as_os_str());
        let commits = [self.from.commit.as_deref().unwrap_or_default(), self.commit].map(OsStr::new);
        // The user's repository may borrow objects from places that are not in the room.
        let script = format!("export GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$2/objects\"\n{script}");
        self.room.run(&script, paths.into_iter().chain(commits).chain(more.iter().map(OsStr::new))).await
    }

    /// Like [`Self::run`], in the user's working tree.
    pub(crate) async fn run_in_tree(&self, script: &str, more: &[&str]) -> Result<Finished, Fault> {
        self.run(&format!("{ENTER_TREE}{script}"), more).await
    }

    /// Like [`Self::run`], for scripts that must not fail.
    pub(crate) async fn succeed(&self, script: &str, more: &[&str]) -> Result<String, Fault> {
        self.must_succeed(self.run(script, more).await?)
    }

    pub(crate) fn must_succeed(&self, finished: Finished) -> Result<String, Fault> {
        match finished.code {
            0 => Ok(finished.stdout),
            _ => Err(self.hub.failed(&why_it_failed(&finished))),
        }
    }

    /// Writes a list for a script. Returns its path.
    pub(crate) fn list(&self, name: &str, text: &str) -> Result<String, Fault> {
        let path = self.work().join(name);
        fs::write(&path, text).map_err(|error| self.hub.unwritable(&error))?;
        Ok(path.display().to_string())
    }

    async fn copy_objects(&self) -> Result<(), Fault> {
        self.succeed(COPY, &[]).await.map(drop)
    }

    async fn changed_files(&self) -> Result<Vec<ChangedFile>, Fault> {
        Ok(ChangedFile::parse(&self.succeed(CHANGED, &[]).await?))
    }

    async fn leave_apart(&self, workspace: &Workspace) -> Result<String, Fault> {
        let other = workspace.branch().replace('/', "-");
        let branch = self.succeed(SET_BRANCH, &[workspace.branch(), &other, LEFT_APART]).await?;
        Ok(branch.trim().to_owned())
    }

    /// The branch to fast-forward.
    async fn checked_out_branch(&self) -> Result<String, LandingError> {
        let found = self.succeed(WHERE, &[]).await?;
        let mut lines = found.lines().map(|line| (line != "-").then(|| line.to_owned()));
        let (branch, commit) = (lines.next().flatten(), lines.next().flatten());
        let branch = branch.map(|name| name.trim_start_matches("refs/heads/").to_owned());
        match (branch, &self.from.branch) {
            (Some(now), Some(before)) if now == *before && commit == self.from.commit => Ok(now),
            (Some(now), Some(before)) if now == *before => Err(LandingRefusal::Moved.into()),
            (Some(to), _) => Err(LandingRefusal::Switched { to, wanted: self.wanted_branch().await? }.into()),
            (None, _) => Err(self.without_branch().await?.into()),
        }
    }

    async fn check_ancestor(&self) -> Result<(), LandingError> {
        if self.from.commit.is_none() {
            // The user has had commits, so the work is built on one of them.
            return match self.hub.commit_of(hub_refs::BASE) {
                Some(_) => Err(LandingRefusal::Unborn.into()),
                None => Ok(()),
            };
        }
        match self.run(IS_ANCESTOR, &[]).await?.code {
            0 => Ok(()),
            3 => Err(LandingRefusal::Unrelated.into()),
            _ => Err(LandingRefusal::Diverged.into()),
        }
    }

    /// Updates files, index and branch, or none of them. `same` are files that the user has staged as they are in the new commit.
    async fn fast_forward(
        &self,
        branch: &str,
        changed: &[ChangedFile],
        same: Vec<String>,
    ) -> Result<(), LandingError> {
        let record = LandingRecord {
            branch: branch.to_owned(),
            commit: self.commit.to_owned(),
            old: self.from.commit.clone(),
            same,
        };
        self.hub.record_landing(&record).map_err(|error| self.hub.unwritable(&error))?;
        let forwarded = self.fast_forward_on_record(&record, changed).await;
        // A failure is looked at again by the next start.
        if !matches!(forwarded, Err(LandingError::Failed(_))) {
            self.hub.forget_landing();
        }
        forwarded
    }

    /// Fails if the user's files cannot be updated. Returns those that the user has staged as they are in the new commit.
    async fn try_update(&self, changed: &[ChangedFile]) -> Result<Vec<String>, LandingError> {
        match SavedIndex::copy(&self.index, &self.git.join("tried")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.hub.unwritable(&error).into());
            }
            _ => {}
        }
        let tried = self.run_in_tree(&format!("{OLD}{TRY}{NOT_STAGED}"), &[]).await?;
        if tried.code == 0 {
            let same = staged(changed, &tried.stdout);
            return match self.in_the_way(changed, &same) {
                Some(path) => {
                    let why = format!("{path} is not committed and would be overwritten");
                    Err(LandingRefusal::Files(why).into())
                }
                None => Ok(same),
            };
        }
        let uncommitted: HashSet<&str> = tried.stdout.split_terminator('\0').collect();
        let paths = changed.iter().map(|file| file.path.clone());
        let changed_too: Vec<String> = paths.filter(|path| uncommitted.contains(path.as_str())).collect();
        let why = match changed_too.is_empty() {
            true => describe(&tried),
            false => format!("these have uncommitted changes: {}", list_files(&changed_too)),
        };
        Err(LandingRefusal::Files(why).into())
    }

    /// A file or a link of the user's where the new commit has a file or a directory, and that git would overwrite: it may be ignored, or be in
    /// place of a directory.
    fn in_the_way(&self, changed: &[ChangedFile], same: &[String]) -> Option<String> {
        let same: HashSet<&str> = same.iter().map(String::as_str).collect();
        let known: HashSet<&str> = changed.iter().map(|file| file.path.as_str()).collect();
        let is_own = |file: &ChangedFile| {
            file.is_addition && !self.is_missing(file) && !same.contains(file.path.as_str())
        };
        let above = |file: &ChangedFile| {
            let parents = Path::new(&file.path).ancestors().skip(1).filter_map(Path::to_str);
            let mut parents = parents.filter(|parent| !parent.is_empty() && !known.contains(parent));
            let is_file = |parent: &&str| {
                self.from.top.join(parent).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
            };
            parents.find(is_file).map(str::to_owned)
        };
        let written = || changed.iter().filter(|file| !file.is_deletion());
        written()
            .find_map(above)
            .or_else(|| written().find(|file| is_own(file)).map(|file| file.path.clone()))
    }

    /// Those of the changed files whose entries in the user's index are as the new commit has them.
    pub(crate) async fn staged(&self, changed: &[ChangedFile]) -> Result<Vec<String>, Fault> {
        let listed = self.must_succeed(self.run_in_tree(NOT_STAGED, &[]).await?)?;
        Ok(staged(changed, &listed))
    }

    async fn fast_forward_on_record(
        &self,
        record: &LandingRecord,
        changed: &[ChangedFile],
    ) -> Result<(), LandingError> {
        let lock = match BranchLock::take(&self.room, &self.from.top, record).await {
            Ok(lock) => lock,
            Err(error) => {
                self.hub.remove_locks_of_ended_git().await;
                return Err(error);
            }
        };
        let updated = self.run_in_tree(&format!("{OLD}{UPDATE}"), &[]).await?;
        let Some(why) = self.why_not_updated(changed, &updated).await? else {
            return match lock.commit().await {
                Ok(()) => Ok(()),
                Err(fault) => self.recover(record, fault).await,
            };
        };
        lock.abort().await;
        // Git says so if it has touched nothing.
        if !updated.stderr.contains("Aborting") {
            self.hub.remove_locks_of_ended_git().await;
            let head = self.users_commit().await?;
            self.take_back(record, head.as_deref()).await?;
        }
        Err(LandingRefusal::Files(why).into())
    }

    /// The user's commit now.
    async fn users_commit(&self) -> Result<Option<String>, Fault> {
        let found = self.succeed(WHERE, &[]).await?;
        Ok(found.lines().nth(1).filter(|commit| *commit != "-").map(str::to_owned))
    }

    /// Git was ended before it confirmed that the branch was changed.
    async fn recover(&self, record: &LandingRecord, fault: Fault) -> Result<(), LandingError> {
        self.hub.remove_locks_of_ended_git().await;
        let head = self.users_commit().await?;
        if head.as_deref() == Some(self.commit) {
            return Ok(());
        }
        self.take_back(record, head.as_deref()).await?;
        Err(LandingRefusal::Locked(fault.message.trim_end_matches('.').to_owned()).into())
    }

    /// A directory may have taken the place of a file, and a link that of a directory above it.
    pub(crate) fn is_missing(&self, file: &ChangedFile) -> bool {
        let path = self.from.top.join(&file.path);
        let above = path.ancestors().skip(1).take_while(|above| *above != self.from.top);
        let is_file = || path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
        above.into_iter().any(Path::is_symlink) || !is_file()
    }

    /// Lands after uncommitted changes of the user that are the same in the new commit were entered in the index. If it does not land, the index
    /// is as before, and `why` is the reason.
    async fn fast_forward_with_same_changes(
        &self,
        branch: &str,
        changed: &[ChangedFile],
        why: String,
    ) -> Result<(), LandingError> {
        let Ok(index) = SavedIndex::read(&self.index) else {
            return Err(LandingRefusal::Files(why).into());
        };
        let landing = async {
            self.adopt_same_files(changed).await?;
            let same = self.try_update(changed).await?;
            self.fast_forward(branch, changed, same).await
        };
        let landed = landing.await;
        if landed.is_err() {
            index.restore(&self.index).map_err(|error| self.hub.failed(&error.to_string()))?;
        }
        landed.map_err(|error| match error {
            LandingError::Refused(LandingRefusal::Files(_)) => LandingRefusal::Files(why).into(),
            other => other,
        })
    }

    /// Enters the changed files that are as the new commit has them in the user's index.
    async fn adopt_same_files(&self, changed: &[ChangedFile]) -> Result<(), Fault> {
        let differing = self.differing(self.commit).await?;
        let is_same = |file: &&ChangedFile| match file.is_deletion() {
            true => self.is_missing(file),
            false => !differing.contains(&file.path),
        };
        // First what is gone: a file may have taken the place of a directory.
        let (gone, there): (Vec<_>, Vec<_>) =
            changed.iter().filter(is_same).partition(|file| file.is_deletion());
        let entries: String = gone.into_iter().chain(there).map(|file| file.as_index_line()).collect();
        let list = self.list("entries", &entries)?;
        self.must_succeed(self.run_in_tree(&format!("{OLD}{ENTER}"), &[&list]).await?).map(drop)
    }
}

/// What is not UTF-8 cannot be told from other names here.
fn check_names(changed: &[ChangedFile]) -> Result<(), LandingRefusal> {
    let unclear = changed.iter().filter(|file| file.path.contains(char::REPLACEMENT_CHARACTER));
    let unclear: Vec<String> = unclear.map(|file| file.path.clone()).collect();
    if unclear.is_empty() { Ok(()) } else { Err(LandingRefusal::Names(unclear)) }
}

/// The changed files that are not in `not_staged`.
fn staged(changed: &[ChangedFile], not_staged: &str) -> Vec<String> {
    let not_staged: HashSet<&str> = not_staged.split_terminator('\0').collect();
    let paths = changed.iter().map(|file| &file.path);
    paths.filter(|path| !not_staged.contains(path.as_str())).cloned().collect()
}
