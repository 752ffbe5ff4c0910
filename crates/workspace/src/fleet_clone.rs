//! Clones in which the harnesses of a fleet work. Each is a project of its own, with workspaces of its own for its agents, and its commits come
//! home to a branch; the user's checkout is not touched.
//!
//! Unlike a workspace, a clone has all of the project's files, and it is never made anew: a harness continues in it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_files::{DOCUMENT_LIMIT, read_text, remove_tree, show_bytes};

use crate::first_commit::Beginning;
use crate::hub::Hub;
use crate::landing::{Landing, LandingConsent, LandingTarget};
use crate::project_files::OWN_DIRECTORY;
use crate::project_revision::ProjectRevision;
use crate::workspace::Workspace;
use crate::workspace_head::head_commit;
use crate::workspace_preparation::clear;

/// Written once the clone is complete.
const MADE: &str = "clone.json";

/// The commit that came home last. Without it, what a clone has is nowhere else.
const HOME: &str = "home";

/// Exit code of [`FILL`] for commits that cannot be merged.
const CONFLICT: i32 = 12;

/// Fills the working tree `$1` with the commit `$2`, and merges the others into it, of which each is given with its branch.
const FILL: &str = r#"cd "$1" || exit 3
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Autonoe}" GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-autonoe@localhost}"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
git read-tree "$2" && git checkout-index --all --quiet -u || exit
shift 2
while [ $# -gt 1 ]; do
    git -c commit.gpgSign=false merge --quiet --no-verify -m "Merge branch '$2'" "$1" > /dev/null ||
        { git diff --name-only --diff-filter=U; exit 12; }
    shift 2
done"#;

/// Prints the sizes of the files of the commit `$2` in the repository of the working tree `$1`.
const SIZES: &str = r#"git --git-dir="$1/.git" ls-tree -r --format='%(objectsize)' "$2""#;

/// Code of the fault of a clone for which there is too little free space.
pub const DISK_SPACE: &str = "disk_space";

/// What a clone needs for other things than files, in bytes.
const OWN_NEED: u64 = 16 * 1024 * 1024;

/// A commit that came home, and its branch.
pub type CommitOnBranch<'a> = (&'a str, &'a str);

/// Disk space that the harnesses at work will still take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReservedSpace {
    pub harnesses: u64,
    /// How often they will write the project's files: into workspaces of agents and into checkouts for checks.
    pub copies: u64,
}

/// Commits that came home from a clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtHome {
    /// In the user's repository.
    pub branch: String,
    pub commit: String,
    /// What the user should know before merging.
    pub note: Option<String>,
}

impl Hub {
    /// Makes sure that there is a commit to start from. Returns the names of the user's uncommitted files, which clones do not have.
    pub async fn begin_clones(&self) -> Result<(Vec<String>, Option<Beginning>), Fault> {
        let _turn = self.landing_turn().await?;
        let (from, beginning) = self.update_or_begin().await?;
        let is_ours = |name: &String| name.split('/').any(|part| part == OWN_DIRECTORY || part == ".harness");
        Ok((from.uncommitted.into_iter().filter(|name| !is_ours(name)).collect(), beginning))
    }

    /// The clone `name` on the branch `branch`, from the user's last commit or from what came home from others. One that is complete is left
    /// as it is. There must be space for it beside what is reserved. Returns the project directory in it.
    pub async fn fleet_clone(
        &self,
        name: &str,
        branch: &str,
        builds_on: &[CommitOnBranch<'_>],
        reserved: ReservedSpace,
    ) -> Result<PathBuf, Fault> {
        if let Some(existing) = self.made_clone(name) {
            self.is_at_work_again(&existing).map_err(|error| self.unwritable(&error))?;
            return Ok(existing.root());
        }
        let _turn = self.landing_turn().await?;
        let (from, _) = self.update_or_begin().await?;
        let base = builds_on.first().map(|(commit, _)| (*commit).to_owned()).or(from.commit.clone());
        let revision = ProjectRevision { commit: base.clone(), tree: base, ..from };
        let workspace = self.described(name, branch, &revision);
        clear(&workspace.directory).map_err(|error| self.unwritable(&error))?;
        self.write_repository(&workspace, &revision).map_err(|error| self.unwritable(&error))?;
        self.fill_clone(&workspace, builds_on, reserved).await?;
        self.record_clone(&workspace).map_err(|error| self.unwritable(&error))?;
        Ok(workspace.root())
    }

    async fn fill_clone(
        &self,
        workspace: &Workspace,
        builds_on: &[CommitOnBranch<'_>],
        reserved: ReservedSpace,
    ) -> Result<(), Fault> {
        let room = self.room(self.layout.readable(), [workspace.directory.clone()])?;
        let tree = workspace.tree();
        let base = workspace.base().unwrap_or_default();
        let sizes = room.run(SIZES, [tree.as_os_str(), base.as_ref()]).await;
        if let Some(fault) = sizes.ok().and_then(|sizes| self.lacks_space(&tree, &sizes.stdout, reserved)) {
            room.close().await;
            return Err(fault);
        }
        let others = builds_on.iter().skip(1).flat_map(|(commit, branch)| [commit, branch]);
        let others = others.map(OsStr::new);
        let filled = room.run(FILL, [tree.as_os_str(), base.as_ref()].into_iter().chain(others)).await;
        room.close().await;
        let filled = filled?;
        let message = match filled.code {
            0 => return Ok(()),
            CONFLICT => {
                let files: Vec<&str> = filled.stdout.lines().take(10).collect();
                format!(
                    "Harnesses have changed the same lines of {}, so their commits cannot be merged.",
                    list_names(files)
                )
            }
            _ => format!("A clone of {} cannot be made: {}.", self.root().display(), filled.reason()),
        };
        Err(Fault::permanent(FaultLayer::System, "fleet_clone", message))
    }

    /// The fault if there is no space for a clone with files of these sizes, the workspace of its agents and a checkout for checks.
    fn lacks_space(&self, tree: &Path, sizes: &str, reserved: ReservedSpace) -> Option<Fault> {
        let files: u64 = sizes.lines().filter_map(|size| size.trim().parse::<u64>().ok()).sum();
        let needed = (3 + reserved.copies) * files + (1 + reserved.harnesses) * OWN_NEED;
        let disk = rustix::fs::statvfs(tree).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        let message = format!(
            "A clone of {} needs {} of disk space with what its agents and those of others will write, and {} is free.",
            self.root().display(),
            show_bytes(needed),
            show_bytes(free)
        );
        (free < needed).then(|| Fault::permanent(FaultLayer::System, DISK_SPACE, message))
    }

    /// Brings the commits of a clone to its branch in the user's repository; `None` if it has none of its own.
    pub async fn bring_home(&self, name: &str) -> Result<Option<BroughtHome>, Fault> {
        let Some(workspace) = self.made_clone(name) else {
            return Ok(None);
        };
        let commit = self.fetch(&workspace).await?;
        let is_own = workspace.base() != Some(commit.as_str());
        let home = if is_own { Some(self.put_on_branch(&workspace, &commit).await?) } else { None };
        // Ignored: then it is brought home once more before the clone is removed.
        let _ = fs::write(workspace.directory.join(HOME), &commit);
        Ok(home)
    }

    /// Brings a commit of a clone that is not a part of what it has finished to a branch of its own.
    pub async fn bring_unfinished_home(
        &self,
        name: &str,
        commit: &str,
    ) -> Result<Option<BroughtHome>, Fault> {
        let Some(mut workspace) = self.made_clone(name) else {
            return Ok(None);
        };
        if let Some((fleet, id)) = workspace.branch.rsplit_once('/') {
            workspace.branch = format!("{fleet}-unfinished/{id}");
        }
        let room = self.room(self.layout.readable().into_iter().chain([workspace.tree()]), [])?;
        let fetched = self.fetch_commit(&room, &workspace, commit).await;
        room.close().await;
        fetched?;
        self.put_on_branch(&workspace, commit).await.map(Some)
    }

    async fn put_on_branch(&self, workspace: &Workspace, commit: &str) -> Result<BroughtHome, Fault> {
        let from = self.update().await?;
        let target = LandingTarget::Branch(workspace.branch().to_owned());
        let consent = LandingConsent::default();
        let (branch, note) = match self.land(workspace, commit, &from, &target, consent).await? {
            Landing::Landed { branch, .. } => (branch, None),
            Landing::Apart { branch, why } => (branch, Some(why.to_string())),
        };
        Ok(BroughtHome { branch, commit: commit.to_owned(), note })
    }

    /// What it has is not at home any more.
    fn is_at_work_again(&self, workspace: &Workspace) -> io::Result<()> {
        match fs::remove_file(workspace.directory.join(HOME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Where a clone has its files, whether it exists or not.
    pub fn clone_directory(&self, name: &str) -> PathBuf {
        self.layout.workspace(name)
    }

    /// Names of the clones that begin with `prefix`, complete or not.
    pub fn clones(&self, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.layout.workspaces()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// Whether the user's repository has, or had, all that a clone has committed.
    pub fn is_home(&self, name: &str) -> bool {
        let Some(workspace) = self.made_clone(name) else { return true };
        let home = read_text(&workspace.directory.join(HOME), DOCUMENT_LIMIT).ok().flatten();
        let head = head_commit(&workspace.tree());
        head.is_some() && head == home
    }

    /// The branch that a clone was made for; `None` if it is not complete.
    pub fn clone_branch(&self, name: &str) -> Option<String> {
        Some(self.made_clone(name)?.branch().to_owned())
    }

    /// Removes a clone, whatever it has.
    pub fn remove_clone(&self, name: &str) -> Result<(), Fault> {
        remove_tree(&self.clone_directory(name)).map_err(|error| self.unwritable(&error))
    }

    /// `None` if it is not complete.
    fn made_clone(&self, name: &str) -> Option<Workspace> {
        let text = read_text(&self.layout.workspace(name).join(MADE), DOCUMENT_LIMIT).ok()??;
        serde_json::from_str(&text).ok()
    }

    fn record_clone(&self, workspace: &Workspace) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&workspace.directory)?;
        serde_json::to_writer(&mut file, workspace)?;
        file.as_file().sync_all()?;
        file.persist(workspace.directory.join(MADE)).map(drop).map_err(|error| error.error)
    }
}
