//! Where a hub has its files. Nothing else knows these names.

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::hub_refs;
use autonoe_files::{SETTINGS_LIMIT, read_text};

use crate::landing_record::LandingRecord;
use crate::workspace_head::head_commit;

/// The workspace of `run`.
pub(crate) const WORKSPACE: &str = "1";

/// What the reflog says about a branch of ours. A user who moves it by hand makes it their own.
pub(crate) const LEFT_APART: &str = "autonoe: leave commits for you to merge";

/// The working tree within the directory of a workspace.
pub(crate) const TREE: &str = "tree";

/// The directory of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubLayout {
    directory: PathBuf,
}

/// What the hub has of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTip {
    /// The branch in the hub, such as `autonoe/7`.
    pub branch: String,
    /// Its last commit.
    pub commit: String,
}

impl HubLayout {
    /// `directory` is ours: no agent ever has write access to it but in its own workspace.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The hub of the project that has this state directory.
    pub fn in_state(state: &Path) -> Self {
        Self::new(state.join("hub"))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The bare repository.
    pub fn git_dir(&self) -> PathBuf {
        self.directory.join("hub.git")
    }

    /// Objects from workspaces, all of them checked.
    pub(crate) fn objects(&self) -> PathBuf {
        self.git_dir().join("objects")
    }

    /// Links to the object files of the user's repository.
    pub fn base_objects(&self) -> PathBuf {
        self.directory.join("base/objects")
    }

    /// What a room must be able to read in order to have all objects.
    pub fn readable(&self) -> [PathBuf; 2] {
        [self.base_objects(), self.git_dir()]
    }

    /// What rooms need while they are open.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.directory.join("scratch")
    }

    /// Where the workspaces of agents and the clones of harnesses are.
    pub fn workspaces(&self) -> PathBuf {
        self.directory.join("workspaces")
    }

    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        self.workspaces().join(name)
    }

    /// The working tree of a workspace.
    pub fn tree(&self, workspace: &str) -> PathBuf {
        self.workspace(workspace).join(TREE)
    }

    /// Whether a process was killed while it landed commits.
    pub fn has_unfinished_landing(&self) -> bool {
        self.landing_record().exists()
    }

    /// The user's commit from which a landing began during which a process was killed, if there was one; `None` without such a landing.
    pub fn begin_of_unfinished_landing(&self) -> Option<Option<String>> {
        self.has_unfinished_landing().then(|| LandingRecord::read(&self.landing_record())?.old)
    }

    /// The record of a landing that has begun.
    pub(crate) fn landing_record(&self) -> PathBuf {
        self.directory.join("landing.json")
    }

    /// The file that is locked by the process that has a landing turn.
    pub(crate) fn landing_lock(&self) -> PathBuf {
        self.directory.join("landing.lock")
    }

    /// Whether the workspace of `run` has a commit that was not brought to the hub, because a process was killed.
    pub fn has_commits_in_workspace(&self) -> bool {
        let head = head_commit(&self.tree(WORKSPACE));
        let (last, mut runs) = (self.runs().next(), self.runs());
        // Where workers have been, what this workspace had was brought to the hub before.
        let merged = read_text(&self.git_dir().join(hub_refs::MERGED), SETTINGS_LIMIT).ok().flatten();
        let is_new = |head: &String| {
            last.is_some_and(|run| {
                let is_in_hub = runs.any(|run| run.commit == *head);
                !is_in_hub && merged.is_none_or(|merged| merged.trim() != run.commit)
            })
        };
        head.filter(is_new).is_some_and(|head| !self.discarded().contains(&head))
    }

    /// The runs that have commits in the hub, the last one first.
    pub fn runs(&self) -> impl Iterator<Item = RunTip> {
        let branches = self.git_dir().join("refs/heads");
        let runs = fs::read_dir(branches.join("autonoe")).into_iter().flatten().flatten();
        let mut numbers: Vec<i64> =
            runs.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
        numbers.into_iter().filter_map(move |number| {
            let branch = format!("autonoe/{number}");
            let commit = read_text(&branches.join(&branch), SETTINGS_LIMIT).ok().flatten()?;
            Some(RunTip { branch, commit: commit.trim().to_owned() })
        })
    }
}
