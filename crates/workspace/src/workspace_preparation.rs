//! Makes the workspaces of a hub, and makes them anew.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::remove_tree;
use autonoe_git::Skeleton;
use autonoe_sandbox::RepositoryProblem;

use crate::hub::Hub;
use crate::project_files::OWN_DIRECTORY;
use crate::project_revision::ProjectRevision;
use crate::saved_index::SavedIndex;
use crate::workspace::Workspace;

/// Fills the working tree `$1` with the tree `$2`, without the files that the other arguments name. If it was filled before, its index is
/// as it was then.
const FILL: &str = r#"cd "$1" || exit
export GIT_DIR="$PWD/.git"
tree=$2; shift 2
[ -f .git/index ] && was_filled=1
if [ "$was_filled" ]; then
    git read-tree --reset -u "$tree" && git clean -ffdq || exit
else
    git read-tree "$tree" || exit
fi
git ls-files -z -- "$@" | git update-index -z --skip-worktree --stdin || exit
[ "$was_filled" ] || git checkout-index --all --quiet -u"#;

/// Has git look at the files in the working tree `$1` that are as young as the index of our repository `$2`.
const REFRESH: &str = r#"cd "$1" || exit
export GIT_DIR="$2" GIT_WORK_TREE="$PWD"
git update-index -q --refresh > /dev/null
exit 0"#;

/// How a workspace came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    Created,
    Reused,
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
        match self.write_repository(&workspace, revision) {
            Err(_) if preparation == Preparation::Reused => {
                return self.workspace_anew(&workspace, name, branch, revision).await;
            }
            written => written.map_err(|error| self.unwritable(&error))?,
        }
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
                let finished = remove(&workspace.root().join(OWN_DIRECTORY)).and_then(|()| {
                    SavedIndex::copy(&workspace.git_dir().join("index"), &workspace.saved_index())
                });
                finished.map_err(|error| self.unwritable(&error))?;
                Ok((workspace, preparation))
            }
            _ if preparation == Preparation::Reused => {
                self.workspace_anew(&workspace, name, branch, revision).await
            }
            _ => {
                let message =
                    format!("The workspace {} cannot be filled: {}.", path.display(), finished.reason());
                Err(Fault::permanent(FaultLayer::System, "workspace", message))
            }
        }
    }

    /// Whatever an agent did to a workspace, it can be made anew.
    async fn workspace_anew(
        &self,
        workspace: &Workspace,
        name: &str,
        branch: &str,
        revision: &ProjectRevision,
    ) -> Result<(Workspace, Preparation), Fault> {
        clear(&workspace.directory).map_err(|error| self.unwritable(&error))?;
        Box::pin(self.workspace(name, branch, revision)).await
    }

    /// Makes the next reuse of a new workspace fast: git compares all files whose times are not older than the index, which were written in the
    /// same second. Does nothing if that was done before.
    pub async fn settle(&self, workspace: &Workspace) -> Result<(), Fault> {
        let (saved, settled) = (workspace.saved_index(), workspace.directory.join("settled"));
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        if modified(&saved) == modified(&settled) || workspace.problem().is_some() {
            return Ok(());
        }
        let room = self.room(self.layout.readable().into_iter().chain([workspace.tree()]), [])?;
        // The settings in the agent's own repository could hide changes.
        let git = room.work().join("settle.git");
        let skeleton = Skeleton { format: workspace.format(), branch: "none", ..Skeleton::default() };
        let copy = git.join("index");
        let refreshed = match skeleton.write(&git).and_then(|()| SavedIndex::copy(&saved, &copy)) {
            Ok(()) => room.run(REFRESH, [workspace.tree(), git]).await.map(drop),
            Err(error) => Err(self.unwritable(&error)),
        };
        let kept = refreshed.and_then(|()| {
            let copied = SavedIndex::copy(&copy, &saved);
            let noted =
                copied.and_then(|()| File::create(&settled)?.set_modified(saved.metadata()?.modified()?));
            noted.map_err(|error| self.unwritable(&error))
        });
        room.close().await;
        kept
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
    pub(crate) fn write_repository(
        &self,
        workspace: &Workspace,
        revision: &ProjectRevision,
    ) -> io::Result<()> {
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
            true => SavedIndex::copy(&workspace.saved_index(), &workspace.git_dir().join("index")),
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

/// Removes a file or directory, and whatever else an agent may have put in its place.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Moves a directory out of the way and removes as much of it as can be removed.
pub(crate) fn clear(directory: &Path) -> io::Result<()> {
    if directory.symlink_metadata().is_ok() && remove(directory).is_err() {
        let aside = directory.with_extension(format!("{}.old", std::process::id()));
        fs::rename(directory, aside)?;
    }
    fs::create_dir_all(directory)
}
