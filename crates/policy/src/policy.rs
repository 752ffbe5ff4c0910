//! The command policy and its options: decides whether a shell command may run.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use autonoe_core::files::ProtectedFiles;
pub use autonoe_core::mode::Mode;
use autonoe_core::profile::Profile;

use crate::paths::{CommandPaths, WriteScope};
use crate::permissions::{PermissionRule, PermissionSet};
use crate::rules::git_lock::GitLocks;
use crate::shell;
use crate::tool_pattern::ToolPattern;
use crate::verdict::{CommandVerdict, Denial};
use crate::walk::Walker;

#[derive(Debug, Clone)]
pub struct PolicyOptions {
    pub mode: Mode,
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
    /// The project root, canonical.
    pub root: PathBuf,
    /// The session's temporary directory.
    pub temp: Option<PathBuf>,
    /// The user's home directory, for permission rules that start with `~`.
    pub home: Option<PathBuf>,
    /// Paths outside the project that may be read: the toolchain, and what the user added.
    pub readable: Vec<PathBuf>,
    /// Files that no agent may write because checks depend on them.
    pub guarded: ProtectedFiles,
    /// Git lock files that may be removed.
    pub git_locks: GitLocks,
}

impl PolicyOptions {
    /// Every readable path outside the project, canonical.
    pub fn readable_paths(&self) -> Vec<PathBuf> {
        let paths = self.readable.iter().cloned().chain(PermissionSet::new(self).readable_roots());
        // A path that does not exist contains nothing to read.
        paths.filter_map(|path| path.canonicalize().ok()).collect()
    }

    /// Default options: all profiles, no permission rules and no tools.
    pub fn new(mode: Mode, root: impl Into<PathBuf>) -> Self {
        Self {
            mode,
            profiles: Vec::new(),
            allow_destructive: false,
            allow_commands: Vec::new(),
            pkill_targets: Vec::new(),
            permissions: Vec::new(),
            tools: Vec::new(),
            root: root.into(),
            temp: None,
            home: None,
            readable: Vec::new(),
            guarded: ProtectedFiles::default(),
            git_locks: GitLocks::default(),
        }
    }

    pub(crate) fn guarded_files(&self) -> Vec<PathBuf> {
        self.guarded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug, Clone)]
pub struct CommandPolicy {
    pub(crate) options: PolicyOptions,
    pub(crate) paths: CommandPaths,
}

impl CommandPolicy {
    pub fn new(options: PolicyOptions) -> Self {
        let write_scope = match options.mode {
            Mode::Run => WriteScope::Project,
            Mode::Sync => WriteScope::NoteOnly,
        };
        let temp = options.temp.as_ref().map(|temp| temp.canonicalize().unwrap_or_else(|_| temp.clone()));
        let readable = options.readable_paths();
        let paths = CommandPaths {
            root: options.root.clone(),
            temp,
            readable,
            write_scope,
            guarded: options.guarded_files(),
        };
        Self { options, paths }
    }

    /// Judges a command that starts in the project root.
    pub fn check(&self, command: &str) -> CommandVerdict {
        self.judge(command, vec![self.paths.root.clone()])
    }

    /// Judges a command that starts in `cwd`. Denies it if `cd` would not have been allowed to lead there.
    pub fn check_in(&self, cwd: &Path, command: &str) -> CommandVerdict {
        if cwd == self.paths.root {
            return self.check(command);
        }
        match self.paths.enter_physical(&[cwd.to_owned()], ".") {
            Ok(directories) => self.judge(command, directories),
            Err(denial) => denial.into(),
        }
    }

    fn judge(&self, command: &str, directories: Vec<PathBuf>) -> CommandVerdict {
        match shell::parse(command) {
            Ok(script) => Walker::new(self, &script, directories).verdict(),
            Err(error) => Denial::new("syntax", format!("The command could not be parsed: {error}."))
                .instead("Split it into several simple commands.")
                .into(),
        }
    }

    pub(crate) fn has(&self, profile: Profile) -> bool {
        self.options.profiles.is_empty() || self.options.profiles.contains(&profile)
    }

    pub(crate) fn is_sync(&self) -> bool {
        self.options.mode == Mode::Sync
    }
}
