//! What the gates of one project and mode are built from.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use autonoe_core::files::ProtectedFiles;
use autonoe_core::mode::Mode;
use autonoe_core::profile::Profile;
use autonoe_files::PathMapping;

use crate::approved_file::ApprovedFile;
use crate::hook_rule::HookRule;
use crate::permissions::permission_rule::PermissionRule;
use crate::policy_level::PolicyLevel;
use crate::tool_pattern::ToolPattern;

#[derive(Debug, Clone)]
pub struct PolicyOptions {
    pub mode: Mode,
    pub level: PolicyLevel,
    /// Whether the working tree is thrown away afterwards, so that phases that only verify may write it too.
    pub is_throwaway: bool,
    /// The languages whose commands are allowed; empty for all.
    pub profiles: Vec<Profile>,
    /// Whether `run` may use `rm` and `mv`.
    pub allow_destructive: bool,
    /// Additional commands, e.g. `docker` or `docker compose`. Their arguments are not checked.
    pub allow_commands: Vec<String>,
    /// Additional process names that `pkill` may end.
    pub pkill_targets: Vec<String>,
    /// Permission rules, including the baseline.
    pub permissions: Vec<PermissionRule>,
    /// Allowed tools, including the baseline.
    pub tools: Vec<ToolPattern>,
    /// Commands that decide about the calls of sessions.
    pub hooks: Vec<HookRule>,
    /// Files of the project that hooks run; no agent may write them.
    pub hook_files: Vec<ApprovedFile>,
    /// Whether the room leaves it to the gates that agents do not write them.
    pub can_agents_write_hook_files: bool,
    /// The project root, canonical.
    pub root: PathBuf,
    /// Where sessions see the project root, if not at its own path.
    pub mapping: Option<PathMapping>,
    /// The session's temporary directory.
    pub temp: Option<PathBuf>,
    /// The user's home directory, for permission rules that start with `~`.
    pub home: Option<PathBuf>,
    /// Paths outside the project that may be read: the toolchain, and what the user added.
    pub readable: Vec<PathBuf>,
    /// What agents may write, now or in another run: nothing outside is readable through a link in there.
    pub written: Vec<PathBuf>,
    /// Files that no agent may write because checks depend on them.
    pub guarded: ProtectedFiles,
    /// Git lock files that may be removed.
    pub git_locks: GitLocks,
}

impl PolicyOptions {
    /// Default options: strict, all profiles, no permission rules and no tools.
    pub fn new(mode: Mode, root: impl Into<PathBuf>) -> Self {
        Self {
            mode,
            level: PolicyLevel::default(),
            is_throwaway: false,
            profiles: Vec::new(),
            allow_destructive: false,
            allow_commands: Vec::new(),
            pkill_targets: Vec::new(),
            permissions: Vec::new(),
            tools: Vec::new(),
            hooks: Vec::new(),
            hook_files: Vec::new(),
            can_agents_write_hook_files: false,
            root: root.into(),
            mapping: None,
            temp: None,
            home: None,
            readable: Vec::new(),
            written: Vec::new(),
            guarded: ProtectedFiles::default(),
            git_locks: GitLocks::default(),
        }
    }

    pub(crate) fn guarded_files(&self) -> Vec<PathBuf> {
        let guarded = self.guarded.read().unwrap_or_else(PoisonError::into_inner);
        guarded.iter().chain(self.hook_files.iter().map(|file| &file.path)).cloned().collect()
    }

    /// Whether the commands of a language are allowed.
    pub(crate) fn has(&self, profile: Profile) -> bool {
        self.profiles.is_empty() || self.profiles.contains(&profile)
    }

    /// Whether commands are judged at the contained level, which only phases that may write have.
    pub(crate) fn is_contained(&self) -> bool {
        self.level == PolicyLevel::Contained && (self.mode == Mode::Run || self.is_throwaway)
    }

    pub(crate) fn is_sync(&self) -> bool {
        self.mode == Mode::Sync
    }
}

/// Where lock files may be removed, and how to find out whether one is in use.
#[derive(Debug, Clone, Default)]
pub struct GitLocks {
    /// The git directories of the project's repository, canonical.
    pub directories: Vec<PathBuf>,
    /// Takes the project root and a lock file, and returns the process that uses the file. If `None`, no lock file
    /// may be removed.
    pub in_use_by: Option<fn(&Path, &Path) -> Option<String>>,
}
