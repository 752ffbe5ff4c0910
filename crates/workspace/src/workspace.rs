//! A workspace: the clone in which one agent works, with a repository of its own that borrows the user's objects.
//!
//! It is kept between the sessions of a run, with dependencies and build output. The next run reuses it: its repository is made
//! anew, tracked files are restored, and untracked files are removed; ignored ones stay.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_sandbox::RepositoryProblem;
use serde::{Deserialize, Serialize};

use autonoe_git::Skeleton;

use crate::hub::Hub;
use crate::hub_layout::{TREE, WORKSPACE};
use crate::project_files::{NOTE, OWN_DIRECTORY, SPEC};
use crate::project_revision::ProjectRevision;

/// Fills the working tree `$1` with the tree `$2`, without the files that the other arguments name. If it was filled before, its index is
/// as it was then.
const FILL: &str = r#"cd "$1" || exit
export GIT_DIR="$PWD/.git"
tree=$2; shift 2
[ -f .git/index ] && was_filled=1
if [ "$was_filled" ]; then
    git update-index -q --refresh > /dev/null
    git read-tree --reset -u "$tree" && git clean -ffdq || exit
else
    git read-tree "$tree" || exit
fi
git ls-files -z -- "$@" | git update-index -z --skip-worktree --stdin || exit
[ "$was_filled" ] || git checkout-index --all --quiet -u"#;

/// A clone in which one agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    directory: PathBuf,
    branch: String,
    /// The commit from which it was made; `None` if nothing was committed.
    base: Option<String>,
    format: String,
    /// The path of the project within the working tree, empty or with a final slash.
    part: String,
}

/// How a workspace came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    Created,
    Reused,
}

impl Workspace {
    /// The working tree.
    pub fn tree(&self) -> PathBuf {
        self.directory.join(TREE)
    }

    /// The project within the working tree.
    pub fn root(&self) -> PathBuf {
        self.tree().join(self.part.trim_end_matches('/'))
    }

    /// The path of the project within the working tree.
    pub(crate) fn part(&self) -> &Path {
        Path::new(self.part.trim_end_matches('/'))
    }

    /// Autonoe's own files, and SPEC.md, which is the user's, within the working tree.
    pub(crate) fn own_files(&self) -> [String; 3] {
        [OWN_DIRECTORY, NOTE, SPEC].map(|name| format!("{}{name}", self.part))
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        self.tree().join(".git")
    }

    /// Patterns of the user's files that must not be committed, out of the agents' reach.
    pub(crate) fn exclude_file(&self) -> PathBuf {
        self.directory.join("exclude")
    }

    /// Patterns of the files that `.worktreeinclude` brought.
    pub(crate) fn included_file(&self) -> PathBuf {
        self.directory.join("included")
    }

    /// The index as the working tree was filled, which agents cannot change.
    fn saved_index(&self) -> PathBuf {
        self.directory.join("index")
    }

    /// Whether it is the one of `run`, and not one of an agent that may work at the same time.
    pub(crate) fn is_of_run(&self) -> bool {
        self.directory.file_name().is_some_and(|name| name == WORKSPACE)
    }

    /// Whether it was filled once.
    pub(crate) fn exists(&self) -> bool {
        self.saved_index().is_file()
    }

    /// Why git would fail or wait for ever in it; `None` if it can be used.
    pub(crate) fn problem(&self) -> Option<String> {
        if !self.git_dir().symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Some("its repository is gone".to_owned());
        }
        let RepositoryProblem { path, why, .. } = RepositoryProblem::search(&self.tree())?;
        Some(format!("git cannot use {}: {why}", path.display()))
    }

    /// The branch that it is on, such as `autonoe/7`.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The commit from which it was made; `None` if nothing was committed.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    pub(crate) fn format(&self) -> &str {
        &self.format
    }
}

impl Hub {
    /// Makes the workspace `name` from a state of the user's repository, or reuses the one that there is.
    pub async fn workspace(
        &self,
        name: &str,
        branch: &str,
        revision: &ProjectRevision,
    ) -> Result<(Workspace, Preparation), Fault> {
        let workspace = self.described(name, branch, revision);
        let is_usable = workspace.exists() && RepositoryProblem::search(&workspace.tree()).is_none();
        let preparation = if is_usable { Preparation::Reused } else { Preparation::Created };
        if preparation == Preparation::Created {
            clear(&workspace.directory).map_err(|error| self.unwritable(&error))?;
        }
        self.write_repository(&workspace, revision).map_err(|error| self.unwritable(&error))?;
        let tree = revision.tree.as_deref().unwrap_or(empty_tree(&revision.format));
        let room = self.room(self.layout.readable(), [workspace.directory.clone()])?;
        let path = workspace.tree();
        let own = workspace.own_files();
        let args = [path.as_os_str(), tree.as_ref()].into_iter().chain(own.iter().map(OsStr::new));
        let finished = room.run(FILL, args).await;
        room.close().await;
        let finished = finished?;
        match finished.code {
            0 => {
                let finished = remove(&workspace.root().join(OWN_DIRECTORY))
                    .and_then(|()| copy_index(&workspace.git_dir().join("index"), &workspace.saved_index()));
                finished.map_err(|error| self.unwritable(&error))?;
                Ok((workspace, preparation))
            }
            _ if preparation == Preparation::Reused => {
                // Whatever the agent did to it, it can be made anew.
                clear(&workspace.directory).map_err(|error| self.unwritable(&error))?;
                Box::pin(self.workspace(name, branch, revision)).await
            }
            _ => {
                let message =
                    format!("The workspace {} cannot be filled: {}.", path.display(), finished.reason());
                Err(Fault::permanent(FaultLayer::System, "workspace", message))
            }
        }
    }

    /// Moves a workspace out of the way. An earlier one that was moved is removed. Returns where it is.
    pub(crate) fn set_aside(&self, name: &str) -> io::Result<PathBuf> {
        let aside = self.layout.workspace(&format!("{name}.aside"));
        remove(&aside)?;
        fs::rename(self.layout.workspace(name), &aside)?;
        Ok(aside)
    }

    /// The workspace `name`, whether it exists or not.
    pub(crate) fn described(&self, name: &str, branch: &str, revision: &ProjectRevision) -> Workspace {
        let part = self.root().strip_prefix(&revision.top).ok().and_then(Path::to_str).unwrap_or_default();
        Workspace {
            directory: self.layout.workspace(name),
            branch: branch.to_owned(),
            base: revision.commit.clone(),
            format: revision.format.clone(),
            part: if part.is_empty() { String::new() } else { format!("{part}/") },
        }
    }

    /// Replaces the repository of a workspace by a new one.
    fn write_repository(&self, workspace: &Workspace, revision: &ProjectRevision) -> io::Result<()> {
        fs::create_dir_all(workspace.tree())?;
        remove(&workspace.git_dir())?;
        let shallow = self.shallow(&self.repository()).ok().flatten();
        let skeleton = Skeleton {
            format: &revision.format,
            is_bare: false,
            branch: &workspace.branch,
            commit: revision.commit.as_deref(),
            borrowed: &[self.layout.base_objects(), self.layout.objects()],
            shallow: shallow.as_deref(),
            refs: &revision.packed_tags(),
        };
        skeleton.write(&workspace.git_dir())?;
        self.write_excludes(workspace)?;
        match workspace.exists() {
            true => copy_index(&workspace.saved_index(), &workspace.git_dir().join("index")),
            false => Ok(()),
        }
    }
}

/// The empty tree, which every repository has.
fn empty_tree(format: &str) -> &'static str {
    match format {
        "sha256" => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        _ => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    }
}

/// Copies an index, with its time: git compares that with the times of files.
pub(crate) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let new = to.with_extension("new");
    fs::copy(from, &new)?;
    let copied = fs::File::options().write(true).open(&new)?;
    copied.set_modified(from.metadata()?.modified()?)?;
    fs::rename(&new, to)
}

/// Removes a file or directory, and whatever else an agent may have put in its place.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Moves a directory out of the way and removes as much of it as can be removed.
fn clear(directory: &Path) -> io::Result<()> {
    if directory.symlink_metadata().is_ok() && remove(directory).is_err() {
        let aside = directory.with_extension(format!("{}.old", std::process::id()));
        fs::rename(directory, aside)?;
    }
    fs::create_dir_all(directory)
}
