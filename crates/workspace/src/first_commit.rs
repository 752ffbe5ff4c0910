//! Projects in which nothing is committed: agents work from commits, so everything that there is becomes the first one.

use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::Fault;
use autonoe_files::show_bytes;
use autonoe_sandbox::RepositoryProblem;

use autonoe_git::Skeleton;

use crate::hub::Hub;
use crate::project_revision::ProjectRevision;
use crate::user_files::UnreadableFile;

/// Name of a repository that is not complete yet.
const INCOMPLETE: &str = ".git.autonoe";

/// The file that shows that the repository was made by us.
const BEGUN: &str = "begun";

/// The most bytes that are committed without asking.
const MAX_FIRST_COMMIT: u64 = 1 << 30;

/// The exit code for more than that.
const TOO_LARGE: i32 = 9;

/// The exit code if git cannot take all files.
const NOT_ADDED: i32 = 8;

/// Commits everything in the working tree `$2` that is not ignored to the repository `$1`, without our own files. The file `$4` has what the
/// user's git ignores beside what `.gitignore` files say. Exits with 9 if it is larger than `$3` bytes, and with 8, after it has listed the
/// files, if they cannot be added. `git add` would read the repository's own patterns too, which may be a link.
const COMMIT_ALL: &str = r#"cd "$2" || exit 3
patterns=$4 limit=$3 list=$4.files
files() { git ls-files -z --exclude-per-directory=.gitignore --exclude-from="$patterns" "$@"; }
set -- "$1" "$2" . ':(exclude,glob)**/[.]autonoe/**' ':(exclude,glob)**/[.]autonoe-note.md' ':(exclude)[.]git.autonoe/*'
export GIT_DIR="$1" GIT_WORK_TREE="$2"
shift 2
size=$(files --others | xargs -0 -r stat -c %s -- 2> /dev/null | awk '{ total += $1 } END { printf "%.0f", total }')
[ "${size:-0}" -le "$limit" ] || exit 9
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
files --cached --others -- "$@" > "$list" || exit
sed -z 's,/$,,' "$list" | git update-index --add --remove --replace -z --stdin || { cat "$list"; exit 8; }
git -c commit.gpgSign=false commit --quiet --no-verify --allow-empty --untracked-files=no -m "Begin with what there is""#;

/// What had to be done before agents could work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// The project was made a repository, and its files were committed.
    NewRepository,
    /// The files of a repository without commits were committed.
    FirstCommit,
}

impl Hub {
    /// Reads the state of the user's repository. If nothing is committed, everything that there is gets committed first.
    pub(crate) async fn update_or_begin(&self) -> Result<(ProjectRevision, Option<Beginning>), Fault> {
        let repository = self.repository();
        let beginning = match repository.directories.last() {
            None if is_bare_repository(self.root()) => {
                return Err(self.refused("it is a bare repository", "Clone it, and run in the clone."));
            }
            None => {
                self.make_repository().await?;
                Beginning::NewRepository
            }
            Some(own) => {
                let revision = self.update().await?;
                if revision.is_ignored {
                    return Err(self.refused(
                        &format!("its repository is {}, which ignores it, so nothing in it can be committed", revision.top.display()),
                        "Run `git init` in the project, or let agents work in your checkout with `--in-place`.",
                    ));
                }
                if revision.commit.is_some() {
                    return Ok((revision, None));
                }
                self.record_locks(revision.branch.as_deref()).map_err(|error| self.unwritable(&error))?;
                let committed = self.commit_all(own, repository.top(self.root())).await;
                self.release_locks();
                committed?;
                Beginning::FirstCommit
            }
        };
        Ok((self.update().await?, Some(beginning)))
    }

    /// Whether the project had no repository before agents worked on it.
    pub(crate) fn made_repository(&self) -> bool {
        self.layout.directory().join(BEGUN).exists()
    }

    async fn make_repository(&self) -> Result<(), Fault> {
        let incomplete = self.root().join(INCOMPLETE);
        // Left behind by a process that was killed.
        let _ = fs::remove_dir_all(&incomplete);
        let skeleton = Skeleton { format: "sha1", branch: "main", ..Skeleton::default() };
        let unwritable = |error: io::Error| self.refused(&error.to_string(), "Run `git init` there.");
        skeleton.write(&incomplete).map_err(unwritable)?;
        if let Err(fault) = self.commit_all(&incomplete, self.root()).await {
            let _ = fs::remove_dir_all(&incomplete);
            return Err(fault);
        }
        fs::write(self.layout.directory().join(BEGUN), "").map_err(|error| self.unwritable(&error))?;
        // Nobody sees a repository before it is complete.
        fs::rename(&incomplete, self.root().join(".git")).map_err(unwritable)
    }

    async fn commit_all(&self, git: &Path, top: &Path) -> Result<(), Fault> {
        if self.contains_home(top) {
            return Err(self.refused(
                "nothing is committed, and it contains your home directory",
                "Commit what agents may see, or use `--in-place`.",
            ));
        }
        // Git would wait for a pipe, or read without end.
        if let Some(problem) = RepositoryProblem::search(self.root()) {
            let why = format!("git cannot use {}: {}", problem.path.display(), problem.why);
            return Err(self.refused(&why, &problem.advice));
        }
        let room = self.room([], [top.to_owned(), git.to_owned()])?;
        let limit = MAX_FIRST_COMMIT.to_string();
        let patterns = self.write_users_ignore_patterns(&room.work())?;
        let args = [git.as_os_str(), top.as_os_str(), limit.as_ref(), patterns.as_os_str()];
        let committed = room.run(COMMIT_ALL, args).await;
        room.close().await;
        let committed = committed?;
        match committed.code {
            0 => Ok(()),
            TOO_LARGE => Err(self.refused(
                &format!("nothing is committed, and its files are larger than {}", show_bytes(MAX_FIRST_COMMIT)),
                "Name what should not be committed in .gitignore, commit what there is yourself, or use `--in-place`.",
            )),
            code => {
                let mut files = committed.stdout.split_terminator('\0').filter(|_| code == NOT_ADDED);
                if let Some(file) = UnreadableFile::find(top, &mut files) {
                    return Err(self.refused(&file.to_string(), "Make it readable, or name it in .gitignore."));
                }
                let why = format!("its files cannot be committed ({})", committed.reason());
                Err(self.refused(&why, "Commit what there is yourself."))
            }
        }
    }
}

/// Whether a directory has what git needs to take it for a repository without files.
fn is_bare_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && ["objects", "refs"].iter().all(|name| directory.join(name).is_dir())
}
