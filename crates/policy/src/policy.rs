//! The command policy: decides whether a shell command may run.

use std::path::{Path, PathBuf};

use autonoe_core::mode::Mode;

use crate::contained;
use crate::paths::{CommandPaths, WriteScope};
use crate::permission_set::PermissionSet;
use crate::policy_options::PolicyOptions;
use crate::shell;
use crate::verdict::{CommandVerdict, Denial};
use crate::walk::Walker;

#[derive(Debug, Clone)]
pub struct CommandPolicy {
    options: PolicyOptions,
    paths: CommandPaths,
}

impl CommandPolicy {
    pub fn new(options: PolicyOptions) -> Self {
        let write_scope = match options.mode {
            Mode::Run => WriteScope::Project,
            Mode::Sync => WriteScope::NoteOnly,
        };
        let temp = options.temp.as_ref().map(|temp| temp.canonicalize().unwrap_or_else(|_| temp.clone()));
        let readable = PermissionSet::new(&options).readable_paths();
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
        if self.options.is_contained() {
            return contained::judge(&self.options, command);
        }
        self.judge(command, vec![self.paths.root.clone()])
    }

    /// Judges a command that starts in `cwd`. Denies it if `cd` would not have been allowed to lead there.
    pub fn check_in(&self, cwd: &Path, command: &str) -> CommandVerdict {
        if self.options.is_contained() || cwd == self.paths.root {
            return self.check(command);
        }
        match self.paths.enter_physical(&[cwd.to_owned()], ".") {
            Ok(directories) => self.judge(command, directories),
            Err(denial) => denial.into(),
        }
    }

    /// Judges a command at the strict level, which asks the contained rules too: it never allows what they deny.
    fn judge(&self, command: &str, directories: Vec<PathBuf>) -> CommandVerdict {
        match shell::parse(command) {
            Ok(script) => {
                let strict = Walker::new(&self.options, &self.paths, &script, directories).verdict();
                let contained = strict.is_allowed().then(|| contained::judge(&self.options, command));
                contained.filter(|verdict| !verdict.is_allowed()).unwrap_or(strict)
            }
            Err(error) => Denial::new("syntax", format!("The command could not be parsed: {error}."))
                .instead("Split it into several simple commands.")
                .into(),
        }
    }
}
