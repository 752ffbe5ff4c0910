//! Landing: brings commits from the hub to the user's repository. The branch that the user has checked out is fast-forwarded if it
//! has not moved and no file that would change has uncommitted changes; otherwise the commits are left on a branch of their own.
//!
//! None of the repository's hooks and filters run. Git works in a room with a repository of ours that borrows the objects, and with
//! the user's index and files. The branch is locked while files are written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use autonoe_core::ci_files::is_ci_file;
use autonoe_core::event::HookFile;
use autonoe_core::fault::{Fault, FaultLayer};

use autonoe_git::{Finished, GitRoom, Skeleton};

use crate::branch_lock::BranchLock;
use crate::changed_file::ChangedFile;
use crate::hub::Hub;
use crate::landing_error::{LandingError, LandingRefusal};
use crate::named_paths::files_run_by_hooks;
use crate::project_revision::ProjectRevision;
use crate::unfinished_landing::LandingRecord;
use crate::workspace::Workspace;
use crate::workspace_preparation::copy_index;

// Arguments of the scripts: the working tree, our repository, the user's index, the commits before and after, then their own.

/// Prints the branch and the commit of the user's repository; `-` stands for what it does not have.
const WHERE: &str = r#"cd "$1" || exit 3
git symbolic-ref --quiet HEAD || echo -
git rev-parse --verify --quiet 'HEAD^{commit}' || echo -"#;

/// Copies the new objects to the user's repository.
const COPY: &str = r#"cd "$1" || exit 3
{ echo "$5"; [ -z "$4" ] || echo "^$4"; } |
    git --git-dir="$2" pack-objects --revs --stdout --delta-base-offset --quiet |
    git index-pack --stdin --strict > /dev/null"#;

const IS_ANCESTOR: &str = r#"git --git-dir="$2" merge-base --is-ancestor "$4" "$5""#;

/// Lists the changed files with their entries.
const CHANGED: &str = r#"export GIT_DIR="$2"
old=$4; [ "$old" ] || old=$(git hash-object -w -t tree /dev/null)
git diff-tree -r -z --no-renames --no-abbrev "$old" "$5""#;

/// Updates index and working tree. Settings about how files are written are taken from the user's repository. Not even ignored files
/// are overwritten. Prints the names of files that are not as the index says.
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
git checkout --quiet --no-overwrite-ignore --detach "$5" || exit
git update-index -q --refresh > /dev/null
git diff-files -z --name-only"#;

/// Restores the files that the file `$6` lists to the commit before; with the option `$7`, their entries in the index too.
const RESTORE: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$3" GIT_LITERAL_PATHSPECS=1
old=$4; [ "$old" ] || old=$(git hash-object -w -t tree /dev/null)
exec git restore --source="$old" $7 --worktree --pathspec-from-file="$6" --pathspec-file-nul"#;

/// Makes the branch `$6` of the user's repository, or fast-forwards it, to the new commit. If a branch of the user's is in the way, another
/// name is tried. Prints the name.
const SET_BRANCH: &str = r#"cd "$1" || exit 3
why="autonoe: leave commits for you to merge"
for name in "$6" "$6-2" "$6-3" "$6-4" "$6-5" "$7" "$7-2" "$7-3"; do
    old=$(git rev-parse --verify --quiet "refs/heads/$name^{commit}")
    [ -z "$old" ] || git --git-dir="$2" merge-base --is-ancestor "$old" "$5" 2> /dev/null || continue
    git update-ref --create-reflog -m "$why" "refs/heads/$name" "$5" "$old" && { echo "$name"; exit; }
done
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

/// Lists the files of the working tree that differ from the new commit.
const DIFFERING: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$2/compare"
git read-tree "$5" && { git update-index -q --refresh > /dev/null; git diff-files -z --name-only; }"#;

/// Enters the lines of the file `$6` in the user's index.
const ENTER: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2" GIT_WORK_TREE="$1" GIT_INDEX_FILE="$3"
git update-index -z --index-info < "$6""#;

/// Removes the file `$6` if it is no more than the beginning of the object `$7`.
const REMOVE_BEGINNING: &str = r#"cd "$1" || exit 3
export GIT_DIR="$2"
size=$(wc -c < "$6") || exit
[ "$(git cat-file blob "$7" | head -c "$size" | git hash-object --stdin)" != "$(git hash-object --no-filters "$6")" ] ||
    rm -f "$6""#;

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
    },
    /// The commits are on a branch of their own.
    Apart { branch: String, why: LandingRefusal },
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
        let attempt = LandingAttempt::begin(self, commit, from)?;
        let landing = attempt.land(workspace, target, consent).await;
        attempt.room.close().await;
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
        let attempt = LandingAttempt::begin(self, commit, from)?;
        let left = async {
            attempt.copy_objects().await?;
            let why = attempt.with_acting_files(why, &attempt.changed_files().await?).await?;
            Ok((attempt.leave_apart(workspace).await?, why))
        };
        let left = left.await;
        attempt.room.close().await;
        left
    }

    /// Finishes a landing during which a process was killed. Returns its branch and commit if it landed.
    pub async fn finish_interrupted_landing(&self) -> Result<Option<(String, String)>, Fault> {
        let Some(record) = self.unfinished_landing() else {
            return Ok(None);
        };
        let _turn = self.landing_turn().await?;
        let from = self.update().await?;
        Ok(self.finish_landing(&from).await?.map(|commit| (record.branch, commit)))
    }

    /// Finishes a landing during which the process was killed. Returns its commit if it landed. The caller must have a landing turn.
    pub(crate) async fn finish_landing(&self, from: &ProjectRevision) -> Result<Option<String>, Fault> {
        let Some(record) = self.unfinished_landing() else {
            return Ok(None);
        };
        self.remove_locks_of_landing(&record);
        let is_where_it_was = (from.branch.as_ref(), &from.commit) == (Some(&record.branch), &record.old);
        if !is_where_it_was {
            self.forget_landing();
            return Ok(None);
        }
        let attempt = LandingAttempt::begin(self, &record.commit, from)?;
        let index = fs::read(&attempt.index).ok();
        let finishing = async {
            attempt.copy_objects().await?;
            attempt.adopt_landed_files(&attempt.changed_files().await?, KilledBefore::Yes).await?;
            attempt.fast_forward(&record.branch).await
        };
        let finished = finishing.await;
        if let Err(LandingError::Refused(_)) = finished {
            attempt.restore_missing().await?;
        }
        let own_index = attempt.index.clone();
        attempt.room.close().await;
        match finished {
            Ok(()) => Ok(Some(record.commit)),
            // What has landed already must not get into the user's next commit.
            Err(LandingError::Refused(_)) => {
                index
                    .map_or(Ok(()), |index| restore_index(&own_index, &index))
                    .map_err(|e| self.unwritable(&e))?;
                Ok(None)
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
    fn begin(hub: &'a Hub, commit: &'a str, from: &'a ProjectRevision) -> Result<Self, Fault> {
        let repository = hub.repository();
        let (Some(shared), Some(own)) = (repository.directories.first(), repository.directories.last())
        else {
            return Err(hub.failed("its repository is gone"));
        };
        let writable = [from.top.clone()].into_iter().chain(repository.directories.iter().cloned());
        let room = hub.room(hub.layout.readable(), writable)?;
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
        skeleton.write(&git).map_err(|error| hub.unwritable(&error))?;
        Ok(Self { hub, room, from, commit, index: own.join("index"), git })
    }

    async fn land(
        &self,
        workspace: &Workspace,
        target: &LandingTarget,
        consent: LandingConsent,
    ) -> Result<Landing, Fault> {
        self.copy_objects().await?;
        let changed = self.changed_files().await?;
        let landed = match target {
            LandingTarget::CheckedOut => self.try_to_land(&changed, consent).await,
            LandingTarget::Branch(branch) => match self.check_files(&changed, consent).await {
                Ok(()) => self.forward_branch(branch).await,
                Err(error) => Err(error),
            },
        };
        match landed {
            Ok(branch) => {
                let paths = || changed.iter().map(|file| file.path.as_str());
                let ci_files = paths().filter(|path| is_ci_file(path)).map(str::to_owned).collect();
                let hook_files = files_run_by_hooks(self.hub.root(), self.hub.home(), paths());
                Ok(Landing::Landed { branch, ci_files, hook_files })
            }
            Err(LandingError::Refused(why)) => {
                let why = self.with_acting_files(why, &changed).await?;
                Ok(Landing::Apart { branch: self.leave_apart(workspace).await?, why })
            }
            Err(LandingError::Failed(fault)) => Err(fault),
        }
    }

    /// Whatever prevents a landing, the user may merge by hand.
    async fn with_acting_files(
        &self,
        why: LandingRefusal,
        changed: &[ChangedFile],
    ) -> Result<LandingRefusal, Fault> {
        if matches!(why, LandingRefusal::SelfActing(_) | LandingRefusal::Gitlinks(_)) {
            return Ok(why);
        }
        let consent = LandingConsent { protected: true, self_acting: false };
        match self.check_files(changed, consent).await {
            Err(LandingError::Refused(LandingRefusal::SelfActing(files))) => {
                Ok(LandingRefusal::AndSelfActing { why: Box::new(why), files })
            }
            Err(LandingError::Failed(fault)) => Err(fault),
            Ok(()) | Err(LandingError::Refused(_)) => Ok(why),
        }
    }

    /// Returns the branch that was fast-forwarded.
    async fn try_to_land(
        &self,
        changed: &[ChangedFile],
        consent: LandingConsent,
    ) -> Result<String, LandingError> {
        let branch = self.checked_out_branch().await?;
        self.check_ancestor().await?;
        self.check_user(changed).await?;
        self.check_files(changed, consent).await?;
        match self.fast_forward(&branch).await {
            Err(LandingError::Refused(LandingRefusal::Files(why))) => {
                match self.fast_forward_with_same_changes(&branch, changed).await? {
                    true => Ok(branch),
                    false => Err(LandingRefusal::Files(why).into()),
                }
            }
            other => other.map(|()| branch),
        }
    }

    /// Fast-forwards a branch that is not checked out, or makes it.
    async fn forward_branch(&self, branch: &str) -> Result<String, LandingError> {
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

    /// Like [`Self::run`], for scripts that must not fail.
    pub(crate) async fn succeed(&self, script: &str, more: &[&str]) -> Result<String, Fault> {
        let finished = self.run(script, more).await?;
        match finished.code {
            0 => Ok(finished.stdout),
            _ => Err(self.hub.failed(&finished.reason())),
        }
    }

    async fn copy_objects(&self) -> Result<(), Fault> {
        self.succeed(COPY, &[]).await.map(drop)
    }

    async fn changed_files(&self) -> Result<Vec<ChangedFile>, Fault> {
        Ok(ChangedFile::parse(&self.succeed(CHANGED, &[]).await?))
    }

    async fn leave_apart(&self, workspace: &Workspace) -> Result<String, Fault> {
        let other = workspace.branch().replace('/', "-");
        let branch = self.succeed(SET_BRANCH, &[workspace.branch(), &other]).await?;
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
            (Some(to), _) => Err(LandingRefusal::Switched { to }.into()),
            (None, _) => Err(LandingRefusal::Detached.into()),
        }
    }

    async fn check_ancestor(&self) -> Result<(), LandingError> {
        match self.from.commit.is_none() || self.run(IS_ANCESTOR, &[]).await?.code == 0 {
            true => Ok(()),
            false => Err(LandingRefusal::Diverged.into()),
        }
    }

    /// Updates files, index and branch, or none of them.
    async fn fast_forward(&self, branch: &str) -> Result<(), LandingError> {
        let record = LandingRecord {
            branch: branch.to_owned(),
            commit: self.commit.to_owned(),
            old: self.from.commit.clone(),
        };
        self.hub.record_landing(&record).map_err(|error| self.hub.unwritable(&error))?;
        let forwarded = self.fast_forward_on_record(&record).await;
        // A failure is looked at again by the next start.
        if !matches!(forwarded, Err(LandingError::Failed(_))) {
            self.hub.forget_landing();
        }
        forwarded
    }

    async fn fast_forward_on_record(&self, record: &LandingRecord) -> Result<(), LandingError> {
        let lock = BranchLock::take(&self.room, &self.from.top, record).await?;
        let updated = self.run(UPDATE, &[]).await?;
        if updated.code != 0 {
            lock.abort().await;
            return Err(LandingRefusal::Files(describe(&updated)).into());
        }
        let changed = self.changed_files().await?;
        if let Some(unwritten) = self.unwritten(&changed, &updated.stdout) {
            // None of these files had changes of the user's.
            self.restore_files(changed.iter(), "--staged").await?;
            lock.abort().await;
            return Err(LandingRefusal::Files(format!("{unwritten} cannot be written")).into());
        }
        lock.commit().await?;
        Ok(())
    }

    /// The first file that is not as the new commit has it: git succeeds although it could not write a file. `differing` is what git says.
    fn unwritten<'f>(&self, changed: &'f [ChangedFile], differing: &str) -> Option<&'f str> {
        let differing: HashSet<&str> = differing.split_terminator('\0').collect();
        let is_unwritten = |file: &&ChangedFile| {
            let is_missing = self.is_missing(file);
            differing.contains(file.path.as_str()) || (is_missing != file.is_deletion())
        };
        changed.iter().find(is_unwritten).map(|file| file.path.as_str())
    }

    /// Git removes all old files before it writes the new ones. If it was killed then, they are neither the user's nor ours to lose.
    async fn restore_missing(&self) -> Result<(), Fault> {
        let changed = self.changed_files().await?;
        let is_missing = |file: &&ChangedFile| !file.is_addition && self.is_missing(file);
        self.restore_files(changed.iter().filter(is_missing), "").await
    }

    /// A directory may have taken the place of a file.
    fn is_missing(&self, file: &ChangedFile) -> bool {
        self.from.top.join(&file.path).symlink_metadata().map_or(true, |metadata| metadata.is_dir())
    }

    async fn restore_files<'f>(
        &self,
        files: impl Iterator<Item = &'f ChangedFile>,
        option: &str,
    ) -> Result<(), Fault> {
        let paths: String = files.map(|file| format!("{}\0", file.path)).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let list = self.room.work().join("restored");
        fs::write(&list, paths).map_err(|error| self.hub.unwritable(&error))?;
        // What could not be written cannot be restored either, and is as it was.
        self.run(RESTORE, &[&list.display().to_string(), option]).await.map(drop)
    }

    /// Tries again after uncommitted changes of the user that are the same in the new commit were entered in the index. Returns whether it
    /// landed; otherwise the index is as before.
    async fn fast_forward_with_same_changes(
        &self,
        branch: &str,
        changed: &[ChangedFile],
    ) -> Result<bool, LandingError> {
        let saved = self.room.work().join("index.saved");
        if fs::copy(&self.index, &saved).is_err() {
            return Ok(false);
        }
        let adopted = self.adopt_landed_files(changed, KilledBefore::No).await;
        let landed = match adopted {
            Ok(()) => self.fast_forward(branch).await,
            Err(fault) => Err(fault.into()),
        };
        if landed.is_err() {
            copy_index(&saved, &self.index).map_err(|error| self.hub.failed(&error.to_string()))?;
        }
        Ok(landed.is_ok())
    }

    /// Enters the changed files that are as the new commit has them in the user's index.
    async fn adopt_landed_files(&self, changed: &[ChangedFile], killed: KilledBefore) -> Result<(), Fault> {
        let differing = self.succeed(DIFFERING, &[]).await?;
        let differing: HashSet<&str> = differing.split_terminator('\0').collect();
        let mut entries = String::new();
        for file in changed {
            let is_missing = self.is_missing(file);
            let is_same = if file.is_deletion() { is_missing } else { !differing.contains(&*file.path) };
            if is_same {
                entries.push_str(&file.as_index_line());
            } else if killed == KilledBefore::Yes && !file.is_deletion() && !is_missing {
                self.succeed(REMOVE_BEGINNING, &[&file.path, &file.hash]).await?;
            }
        }
        let list = self.room.work().join("entries");
        fs::write(&list, entries).map_err(|error| self.hub.unwritable(&error))?;
        self.succeed(ENTER, &[&list.display().to_string()]).await.map(drop)
    }
}

/// Puts an index back, unless git is writing it now.
fn restore_index(index: &Path, content: &[u8]) -> io::Result<()> {
    let lock = index.with_extension("lock");
    match File::create_new(&lock) {
        Ok(mut file) => file.write_all(content).and_then(|()| fs::rename(&lock, index)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether git may have been killed while it wrote files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KilledBefore {
    Yes,
    No,
}

/// The files that git names, and why it does not change them.
fn describe(finished: &Finished) -> String {
    let lines = finished.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines
        .filter(|line| !line.starts_with("Please ") && !line.starts_with("hint:") && *line != "Aborting")
        .take(5)
        .map(|line| line.trim_start_matches("error: ").trim_start_matches("fatal: ").trim_end_matches('.'))
        .collect();
    if lines.is_empty() { finished.reason() } else { lines.join(" ") }
}
