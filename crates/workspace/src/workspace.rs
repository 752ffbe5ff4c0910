//! A workspace: the clone in which one agent works, with a repository of its own that borrows the user's objects.
//!
//! It is kept between the sessions of a run, with dependencies and build output. The next run reuses it: its repository is made
//! anew, tracked files are restored, and untracked files are removed; ignored ones stay.

use std::path::{Path, PathBuf};

use autonoe_sandbox::RepositoryProblem;
use serde::{Deserialize, Serialize};

use crate::hub_layout::{TREE, WORKSPACE};
use crate::project_files::{NOTE, OWN_DIRECTORY, SPEC};

/// A clone in which one agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub(crate) directory: PathBuf,
    pub(crate) branch: String,
    /// The commit from which it was made; `None` if nothing was committed.
    pub(crate) base: Option<String>,
    pub(crate) format: String,
    /// The path of the project within the working tree, empty or with a final slash.
    pub(crate) part: String,
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
    pub(crate) fn saved_index(&self) -> PathBuf {
        self.directory.join("index")
    }

    /// The file that names the user's commit from which its work began.
    pub(crate) fn begin_file(&self) -> PathBuf {
        self.directory.join("begin")
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
