//! Clean checkouts of the last commit, each with a room that no agent was ever in.
//!
//! Agents can write the project's repository, so none of its settings, hooks and filters are used: the
//! checkout is a repository of its own that borrows the project's objects. Agents can write those too, so the
//! result is hashed again. Git runs in rooms only. Where there is no repository, the files are copied, and
//! that is reported.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::WriteFailure;
use autonoe_sandbox::{Bounds, EgressRules, Repository, RepositoryProblem, RoomConfig, SessionSandbox};
use tempfile::TempDir;

use crate::blocking::blocking;
use crate::copied_tree::{CopyError, copy_tree};
use crate::git;
use crate::hub_objects::{CURRENT, HubObjects};
use crate::oracles::directory_within;
use crate::repository_query::{CommitInfo, NoCommit, QueryError, RepositoryQuery};

/// Checks out the tree `$1`.
const FILL: &str = r#"git read-tree "$1" && git checkout-index --all --quiet"#;

/// Creates checkouts of a project.
#[derive(Debug, Clone)]
pub struct CheckoutFactory {
    pub root: PathBuf,
    /// A directory of ours, outside the project.
    pub scratch: PathBuf,
    /// Sandbox, environment and readable paths. Its root and homes are not used.
    pub room_config: RoomConfig,
    /// Where the commits of agents are, if they work in a workspace.
    pub hub: Option<HubObjects>,
    /// Egress rules for checks that need the network; `None` if the user does not allow it.
    pub network: Option<Arc<EgressRules>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// `None` where files were copied.
    pub commit: Option<String>,
    /// Hash of all files.
    pub tree: String,
    /// Uncommitted files, which were not checked.
    pub uncommitted: Vec<String>,
    /// Reason for copying files, if they were copied.
    pub copied: Option<NoCommit>,
}

impl Revision {
    /// For messages.
    pub fn describe(&self) -> String {
        match (&self.commit, self.copied) {
            (Some(commit), _) => format!("commit {}", &commit[..commit.len().min(10)]),
            (None, Some(why)) => format!("a copy of the files ({why})"),
            (None, None) => "a copy of the files".to_owned(),
        }
    }
}

/// Removed when dropped.
pub struct Checkout {
    pub revision: Revision,
    /// The project directory within the checkout.
    pub root: PathBuf,
    /// The root of the repository, which may contain the project as a subdirectory.
    pub(crate) tree: PathBuf,
    offline: SessionSandbox,
    connected: Option<SessionSandbox>,
    // Last, so that the rooms are closed before their directory is gone.
    _directory: TempDir,
}

impl Checkout {
    /// `None` if the check needs a network that is not allowed.
    pub fn session_sandbox(&self, network: bool) -> Option<&SessionSandbox> {
        if network { self.connected.as_ref() } else { Some(&self.offline) }
    }

    /// Ends everything that runs in it.
    pub async fn close(self) {
        self.offline.close().await;
        if let Some(connected) = &self.connected {
            connected.close().await;
        }
    }
}

impl CheckoutFactory {
    /// Removes checkouts left by killed processes, if they are at least this old.
    pub fn remove_leftovers(&self, age: Duration) {
        let entries = fs::read_dir(&self.scratch).into_iter().flatten().flatten();
        for entry in entries {
            let touched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            if touched.is_none_or(|at| at.elapsed().is_ok_and(|since| since >= age)) {
                // Ignored: leftovers do no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Checks out a commit, or the last one.
    pub async fn check_out(&self, commit: Option<&str>) -> Result<Checkout, Fault> {
        let repository = Repository::around(&self.root);
        // Only what checks may see.
        let objects = match &self.hub {
            Some(hub) => Some(vec![hub.base.clone()]),
            None => self.objects(&repository)?,
        };
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        let closed = EgressRules {
            how_to_allow: "A check that needs the network must declare it, and you must allow it.".to_owned(),
            ..EgressRules::default()
        };
        let offline = self.session_sandbox(directory.path(), objects.as_deref(), &closed);
        let connected = self.network.as_ref();
        let connected =
            connected.map(|egress| self.session_sandbox(directory.path(), objects.as_deref(), egress));

        let filled = match &objects {
            None => Err(NoCommit::NoRepository.into()),
            Some(objects) => self.fill(&repository, objects, commit, &tree, &offline).await,
        };
        let revision = match filled {
            Ok(revision) => revision,
            Err(QueryError::Fault(fault)) => return Err(self.explain(fault)),
            Err(QueryError::NoCommit(_)) if commit.is_some() => {
                let message =
                    format!("Commit {} does not exist in this repository.", commit.unwrap_or_default());
                return Err(Fault::permanent(FaultLayer::Config, "no_commit", message));
            }
            Err(QueryError::NoCommit(why)) => {
                let hash = self.copy(&repository, &tree, why).await?;
                Revision { commit: None, tree: hash, uncommitted: Vec::new(), copied: Some(why) }
            }
        };
        // The project may be a subdirectory of its repository.
        let part = repository.above.as_ref().and_then(|above| self.root.strip_prefix(above).ok());
        let root = match (&revision.commit, part) {
            (Some(_), Some(part)) => directory_within(&tree, part).map_err(|error| self.io_fault(&error))?,
            _ => tree.clone(),
        };
        Ok(Checkout { revision, root, tree, offline, connected, _directory: directory })
    }

    async fn fill(
        &self,
        repository: &Repository,
        objects: &[PathBuf],
        commit: Option<&str>,
        tree: &Path,
        session_sandbox: &SessionSandbox,
    ) -> Result<Revision, QueryError> {
        let query = self.query(repository).map_err(|error| self.io_fault(&error))?;
        let hub = self.hub.as_ref().map(|hub| self.hub_query(hub)).transpose();
        let hub = hub.map_err(|error| self.io_fault(&error))?;
        // Agents cannot influence what the hub says about their commits.
        let asked = async {
            match &hub {
                Some(hub) => hub.commit(commit.unwrap_or(CURRENT)).await,
                None => query.commit(commit.unwrap_or("HEAD")).await,
            }
        };
        // The room is opened while the repository is queried.
        let (info, shell) = tokio::join!(asked, git::script(session_sandbox, FILL));
        if let Some(hub) = hub {
            hub.session_sandbox.close().await;
        }
        let CommitInfo { commit, tree: hash, format } = match info {
            Ok(info) => info,
            Err(error) => {
                query.session_sandbox.close().await;
                return Err(error);
            }
        };
        borrow(tree, &commit, objects, &format).map_err(|error| self.io_fault(&error))?;
        if let Some(hub) = &self.hub {
            self.pack(hub, tree, &commit).await?;
        }
        let rest = async {
            let uncommitted = query.uncommitted().await;
            query.session_sandbox.close().await;
            uncommitted
        };
        let (filled, uncommitted) = tokio::join!(git::output(shell?.args([&hash]).cwd(tree)), rest);
        let (code, output) = filled?;
        let revision = Revision { commit: Some(commit), tree: hash, uncommitted: uncommitted?, copied: None };
        if code != 0 {
            let message = format!("{} cannot be checked out: {}", revision.describe(), output.trim());
            return Err(Fault::permanent(FaultLayer::System, "checkout", message).into());
        }
        Ok(revision)
    }

    /// `why`: the reason for copying.
    async fn copy(&self, repository: &Repository, tree: &Path, why: NoCommit) -> Result<String, Fault> {
        let (root, repository, tree) = (self.root.clone(), repository.clone(), tree.to_owned());
        let copied = blocking(move |cancel| copy_tree(&root, &repository, &tree, cancel)).await;
        copied.map_err(|error| {
            let advice = match &error {
                CopyError::Unwritable(error) => return self.io_fault(error),
                CopyError::TooLarge { .. } | CopyError::TooMany | CopyError::Cancelled => {
                    "Commit the project to git, or list what checks do not need in .gitignore."
                }
                CopyError::Unreadable { error, .. } => error.advice(),
            };
            let message = format!("The project cannot be copied for its checks ({why}): {error}.");
            Fault::permanent(FaultLayer::Config, "checkout", message).hint(advice)
        })
    }

    /// The object directories with all commits, if there is a repository.
    pub(crate) fn objects(&self, repository: &Repository) -> Result<Option<Vec<PathBuf>>, Fault> {
        if let Some(hub) = &self.hub {
            return Ok(Some(hub.all()));
        }
        if let Some(problem) = RepositoryProblem::find(&self.root) {
            return Err(blocked_git(&problem));
        }
        let Some(directory) = repository.directories.first() else {
            return Ok(None);
        };
        let objects = directory.join("objects").canonicalize().map_err(|error| {
            let message = format!("{} cannot be opened: {error}.", directory.join("objects").display());
            Fault::permanent(FaultLayer::Config, "checkout", message)
                .hint("Check the repository with `git fsck`.")
        })?;
        if !objects.starts_with(directory) {
            let message = format!("The repository's objects are outside of it, in {}.", objects.display());
            return Err(Fault::permanent(FaultLayer::Config, "checkout", message));
        }
        Ok(Some(vec![objects]))
    }

    /// A directory for a room, removed when dropped.
    pub(crate) fn directory(&self) -> io::Result<TempDir> {
        fs::create_dir_all(&self.scratch)?;
        spread(&self.scratch);
        let directory = tempfile::Builder::new().prefix("checkout-").tempdir_in(&self.scratch)?;
        for name in ["tree", "home", "tmp"] {
            fs::create_dir(directory.path().join(name))?;
        }
        Ok(directory)
    }

    /// A room that may read the project's repository.
    pub(crate) fn query(&self, repository: &Repository) -> io::Result<RepositoryQuery> {
        let directory = self.directory()?;
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory.path());
        let top = repository.above.as_ref().unwrap_or(&self.root);
        room_config.bounds.read.extend([top.clone()].into_iter().chain(repository.directories.clone()));
        room_config.bounds.read.extend(self.hub.iter().flat_map(HubObjects::all));
        room_config.egress = Arc::new(EgressRules::default());
        Ok(RepositoryQuery {
            root: self.root.clone(),
            session_sandbox: SessionSandbox::new(room_config),
            directory,
        })
    }

    pub(crate) fn session_sandbox(
        &self,
        directory: &Path,
        objects: Option<&[PathBuf]>,
        egress: &EgressRules,
    ) -> SessionSandbox {
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory);
        room_config.bounds.read.extend(objects.into_iter().flatten().cloned());
        room_config.egress = Arc::new(egress.clone());
        SessionSandbox::new(room_config)
    }

    /// A room that may also read a checked-out tree.
    pub(crate) fn sandbox_reading(
        &self,
        directory: &Path,
        objects: &[PathBuf],
        tree: &Path,
        egress: &EgressRules,
    ) -> SessionSandbox {
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory);
        room_config.bounds.read.extend(objects.iter().cloned().chain([tree.to_owned()]));
        room_config.egress = Arc::new(egress.clone());
        SessionSandbox::new(room_config)
    }

    /// A room that may also write a repository.
    pub(crate) fn packing_room(
        &self,
        directory: &Path,
        objects: &[PathBuf],
        git: &Path,
        egress: &EgressRules,
    ) -> SessionSandbox {
        let mut room_config = self.room_config.clone();
        room_config.bounds = self.bounds(directory);
        room_config.bounds.read.extend(objects.iter().cloned());
        room_config.bounds.write.push(git.to_owned());
        room_config.egress = Arc::new(egress.clone());
        SessionSandbox::new(room_config)
    }

    /// What programs in a checkout may access. The project itself is not included.
    fn bounds(&self, directory: &Path) -> Bounds {
        let usual = &self.room_config.bounds;
        let mut bounds = Bounds::new(directory.join("tree"), directory.join("home"), directory.join("tmp"));
        let is_outside_project =
            |path: &&PathBuf| !path.starts_with(&self.root) && !self.root.starts_with(path);
        bounds.read = usual.read.iter().filter(is_outside_project).cloned().collect();
        bounds.limits = usual.limits;
        bounds
    }

    /// Names the file for which git waits, if that is why it did not finish.
    fn explain(&self, fault: Fault) -> Fault {
        match fault.code == git::TIMED_OUT {
            true => RepositoryProblem::search(&self.root).map_or(fault, |problem| blocked_git(&problem)),
            false => fault,
        }
    }

    pub(crate) fn io_fault(&self, error: &io::Error) -> Fault {
        let WriteFailure { why, advice } = WriteFailure::of(&self.scratch, error);
        let message = format!("Cannot create a checkout in {}: {why}.", self.scratch.display());
        Fault::permanent(FaultLayer::System, "checkout", message).hint(advice)
    }
}

fn blocked_git(RepositoryProblem { path, why, advice }: &RepositoryProblem) -> Fault {
    let message = format!("git cannot use {}: {why}.", path.display());
    Fault::permanent(FaultLayer::Config, "checkout", message).hint(advice.as_str())
}

/// Asks the file system to spread out what is created in a directory. Ext4 scans recently removed files
/// nearby before it creates another: without this, repeated checkouts take several times as long.
fn spread(directory: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(directory) = File::open(directory)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&directory)
        && !flags.contains(rustix::fs::IFlags::TOPDIR)
    {
        // Other file systems do not support it, and nothing depends on it.
        let _ = rustix::fs::ioctl_setflags(&directory, flags | rustix::fs::IFlags::TOPDIR);
    }
}

/// Creates a repository with just one commit, whose objects are borrowed from others.
pub(crate) fn borrow(tree: &Path, commit: &str, objects: &[PathBuf], format: &str) -> io::Result<()> {
    let git = tree.join(".git");
    for directory in ["objects/info", "objects/pack", "refs/heads"] {
        fs::create_dir_all(git.join(directory))?;
    }
    let settings = match format {
        "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned(),
        other => {
            format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = {other}\n"
            )
        }
    };
    fs::write(git.join("config"), settings)?;
    let alternates: String = objects.iter().map(|path| format!("{}\n", path.display())).collect();
    fs::write(git.join("objects/info/alternates"), alternates)?;
    fs::write(git.join("HEAD"), format!("{commit}\n"))
}
