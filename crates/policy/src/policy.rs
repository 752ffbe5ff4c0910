//! The command policy: what it is made from, and the question it answers.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use autonoe_core::files::Guarded;
pub use autonoe_core::mode::Mode;
use autonoe_core::profile::Profile;

use crate::paths::{Paths, Scope};
use crate::permissions::{PermissionRule, Permissions};
use crate::rules::git_lock::GitLocks;
use crate::shell;
use crate::tool_pattern::ToolPattern;
use crate::verdict::{Denial, Verdict};
use crate::walk::Walker;

/// What a policy is made from.
#[derive(Debug, Clone)]
pub struct PolicyOptions {
    /// Which command it is for.
    pub mode: Mode,
    /// The languages whose commands are known; empty for all.
    pub profiles: Vec<Profile>,
    /// Whether `rm` and `mv` may be used in `run`.
    pub allow_destructive: bool,
    /// Further commands, e.g. `docker` or `docker compose`; what they do is not looked at.
    pub allow_commands: Vec<String>,
    /// Further processes that `pkill` may end.
    pub pkill_targets: Vec<String>,
    /// The permission rules, the baseline's among them.
    pub permissions: Vec<PermissionRule>,
    /// The tools that may be used, the baseline's among them.
    pub tools: Vec<ToolPattern>,
    /// The project, canonical.
    pub root: PathBuf,
    /// The session's own temporary directory.
    pub temp: Option<PathBuf>,
    /// The user's home directory, for rules that name it.
    pub home: Option<PathBuf>,
    /// Places outside the project that may be read: the toolchain, and what the user added.
    pub readable: Vec<PathBuf>,
    /// What nobody may write: what checks judge by.
    pub guarded: Guarded,
    /// Which lock files of git's may be removed.
    pub git_locks: GitLocks,
}

impl PolicyOptions {
    /// Everything outside the project that may be read, as it is really called.
    pub fn readable_places(&self) -> Vec<PathBuf> {
        let named = self.readable.iter().cloned().chain(Permissions::new(self).readable_roots());
        // One that does not exist holds nothing that could be read.
        named.filter_map(|place| place.canonicalize().ok()).collect()
    }

    /// A policy for a project that nobody has widened: all profiles, no rules and no tools.
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
            guarded: Guarded::default(),
            git_locks: GitLocks::default(),
        }
    }

    /// What nobody may write at this moment.
    pub(crate) fn guarded_now(&self) -> Vec<PathBuf> {
        self.guarded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Judges shell commands.
#[derive(Debug, Clone)]
pub struct CommandPolicy {
    pub(crate) options: PolicyOptions,
    pub(crate) paths: Paths,
}

impl CommandPolicy {
    /// A policy with these options.
    pub fn new(options: PolicyOptions) -> Self {
        let scope = match options.mode {
            Mode::Run => Scope::Project,
            Mode::Sync => Scope::Note,
        };
        let temp = options.temp.as_ref().map(|temp| temp.canonicalize().unwrap_or_else(|_| temp.clone()));
        let readable = options.readable_places();
        let paths =
            Paths { root: options.root.clone(), temp, readable, scope, guarded: options.guarded_now() };
        Self { options, paths }
    }

    /// Whether a command may run in the project's root, and which rule says so.
    pub fn check(&self, command: &str) -> Verdict {
        self.judge(command, vec![self.paths.root.clone()])
    }

    /// Whether a command may run in `cwd`, which `cd` must have been allowed to lead to.
    pub fn check_in(&self, cwd: &Path, command: &str) -> Verdict {
        if cwd == self.paths.root {
            return self.check(command);
        }
        match self.paths.enter_really(&[cwd.to_owned()], ".") {
            Ok(directories) => self.judge(command, directories),
            Err(denial) => denial.into(),
        }
    }

    fn judge(&self, command: &str, directories: Vec<PathBuf>) -> Verdict {
        match shell::parse(command) {
            Ok(script) => Walker::new(self, &script, directories).verdict(),
            Err(error) => Denial::new("syntax", format!("The command is not understood: {error}."))
                .instead("Write it more simply, as several plain commands.")
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
