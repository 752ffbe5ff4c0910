//! Where the commits of agents are: in the hub, which only we write, or in the project's own repository, which agents can write.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::hub_refs;
use autonoe_sandbox::{Repository, RepositoryProblem};

/// A repository that only we write, and the object directory of the user's that it borrows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubObjects {
    pub git_dir: PathBuf,
    pub base: PathBuf,
}

/// A repository from which commits are taken.
#[derive(Debug)]
pub(crate) struct CommitSource {
    /// Where git runs.
    pub(crate) directory: PathBuf,
    /// What git must read.
    pub(crate) readable: Vec<PathBuf>,
    /// Object directories with all commits.
    pub(crate) objects: Vec<PathBuf>,
    /// The name of the last commit.
    pub(crate) head: &'static str,
    /// The project within the repository, with a slash at the end; empty if it is the whole.
    pub(crate) part: String,
}

impl CommitSource {
    /// `None` without a repository. `root` is where agents work, and `temporary` what they can write elsewhere.
    pub(crate) fn find(
        root: &Path,
        hub: Option<&HubObjects>,
        temporary: &[&PathBuf],
    ) -> Result<Option<Self>, Fault> {
        let repository = Repository::around(root);
        let part = root.strip_prefix(repository.top(root)).ok().filter(|part| *part != Path::new(""));
        let part = part.map(|part| format!("{}/", part.display())).unwrap_or_default();
        if let Some(HubObjects { git_dir, base }) = hub {
            return Ok(Some(Self {
                directory: git_dir.clone(),
                readable: vec![git_dir.clone(), base.clone()],
                objects: vec![git_dir.join("objects"), base.clone()],
                head: hub_refs::CURRENT,
                part,
            }));
        }
        if let Some(problem) = RepositoryProblem::find(root) {
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
        let all = repository.object_directories().map_err(|error| {
            let message = format!("The objects that {} borrows cannot be read: {error}.", objects.display());
            Fault::permanent(FaultLayer::Config, "checkout", message).hint(error.advice())
        })?;
        let is_lasting = |path: &PathBuf| !temporary.iter().any(|place| path.starts_with(place));
        let borrowed = all.into_iter().skip(1).filter(is_lasting);
        let objects: Vec<PathBuf> = [objects].into_iter().chain(borrowed).collect();
        let top = repository.top(root).to_owned();
        let directories = repository.directories.iter().chain(&objects).cloned();
        Ok(Some(Self {
            directory: root.to_owned(),
            readable: [top].into_iter().chain(directories).collect(),
            objects,
            head: "HEAD",
            part,
        }))
    }
}

pub(crate) fn blocked_git(RepositoryProblem { path, why, advice }: &RepositoryProblem) -> Fault {
    let message = format!("git cannot use {}: {why}.", path.display());
    Fault::permanent(FaultLayer::Config, "checkout", message).hint(advice.as_str())
}
