//! `rm` of stale git lock files. They are the only files in a repository's git directory that may be removed, even
//! without `--allow-destructive`, because git refuses to work until they are gone.

use std::path::{Path, PathBuf};

use super::options::ParsedArgs;
use crate::paths::real_path;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::walk::Walker;
use crate::words::Arg;

/// Where lock files may be removed, and how to find out whether one is in use.
#[derive(Debug, Clone, Default)]
pub struct GitLocks {
    /// The git directories of the project's repository, canonical.
    pub directories: Vec<PathBuf>,
    /// Takes the project root and a lock file, and returns the process that uses the file. If `None`, no lock file
    /// may be removed.
    pub in_use_by: Option<fn(&Path, &Path) -> Option<String>>,
}

/// Options that do not extend the removal beyond the named files.
const HARMLESS: [&str; 4] = ["f", "v", "force", "verbose"];

/// Judges an `rm` whose operands are all existing lock files; `None` for any other `rm`.
pub fn judge(walker: &mut Walker<'_>, parsed: &ParsedArgs<'_>) -> Option<RuleResult> {
    let in_use_by = walker.policy.options.git_locks.in_use_by?;
    let is_plain = parsed.options.iter().all(|(option, _)| HARMLESS.contains(&option.as_str()));
    let locks: Option<Vec<Vec<PathBuf>>> =
        parsed.operands.iter().map(|operand| locks(walker, operand)).collect();
    let locks = locks.filter(|locks| is_plain && !locks.is_empty())?;
    Some(locks.iter().flatten().try_for_each(|lock| {
        walker.count_path()?;
        match in_use_by(&walker.policy.paths.root, lock) {
            None => Ok(()),
            Some(process) => deny_with_hint(
                "git.lock",
                format!("'{}' is in use by {process}, which is still running.", lock.display()),
                "Wait until the process finishes; it removes the file.",
            ),
        }
    }))
}

/// The lock files that an argument may name; `None` if one of them is not a lock file.
fn locks(walker: &Walker<'_>, operand: &Arg) -> Option<Vec<PathBuf>> {
    let text = operand.literal().filter(|_| !operand.from_braces)?;
    let path = Path::new(text);
    let name = path.file_name().filter(|_| text.ends_with(".lock"))?;
    let parent = path.parent()?;
    walker.directories.iter().map(|from| lock(walker, &from.join(parent), name.as_ref())).collect()
}

/// The resolved lock file; `None` if it is not a regular file in one of the repository's git directories.
fn lock(walker: &Walker<'_>, parent: &Path, name: &Path) -> Option<PathBuf> {
    let directories = &walker.policy.options.git_locks.directories;
    let real = real_path(parent).ok().filter(|real| directories.iter().any(|own| real.starts_with(own)))?;
    let lock = real.join(name);
    lock.symlink_metadata().is_ok_and(|metadata| metadata.is_file()).then_some(lock)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::GitLocks;
    use crate::{CommandPolicy, Mode, PolicyOptions};

    fn in_use_by(_root: &Path, lock: &Path) -> Option<String> {
        lock.ends_with("HEAD.lock").then(|| "git (process 7)".to_owned())
    }

    #[test]
    fn only_unused_lock_files_may_be_removed() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("real").join("project");
        let linked = root.parent().expect("parent").join("main/.git/worktrees/x");
        for directory in
            [root.join(".git/refs/heads"), root.join("src"), linked.clone(), directory.path().join("outside")]
        {
            fs::create_dir_all(directory).expect("made");
        }
        for file in [
            ".git/index.lock",
            ".git/HEAD.lock",
            ".git/refs/heads/main.lock",
            ".git/config",
            "src/yarn.lock",
            "Cargo.lock",
        ] {
            fs::write(root.join(file), "").expect("written");
        }
        fs::write(linked.join("index.lock"), "").expect("written");
        fs::write(directory.path().join("outside/yarn.lock"), "").expect("written");
        fs::create_dir(root.join(".git/directory.lock")).expect("made");
        symlink("index.lock", root.join(".git/link.lock")).expect("linked");
        symlink(directory.path().join("outside"), root.join(".git/way")).expect("linked");
        let git_locks =
            GitLocks { directories: vec![root.join(".git"), linked.clone()], in_use_by: Some(in_use_by) };
        let options = PolicyOptions { git_locks, ..PolicyOptions::new(Mode::Run, &root) };
        let is_allowed = |options: &PolicyOptions, command: &str| {
            CommandPolicy::new(options.clone()).check(command).is_allowed()
        };

        let rm_linked = format!("rm -f {}", linked.join("index.lock").display());
        let allowed = [
            "rm -f .git/index.lock",
            "rm .git/index.lock && git status",
            "rm --force -v ./.git/refs/heads/main.lock .git/index.lock",
            "cd src && rm -f ../.git/index.lock",
            &rm_linked,
        ];
        for command in allowed {
            assert!(is_allowed(&options, command), "{command}");
        }
        let denied = [
            "rm -f .git/HEAD.lock",
            "rm -rf .git/index.lock",
            "rm -f .git/*.lock",
            "rm -f .git/{index,HEAD}.lock",
            "rm -f .git/index.lock .git/config",
            "rm -f .git/index.lock Cargo.lock",
            "rm -f Cargo.lock",
            "rm -f src/yarn.lock",
            "rm -f .git/config",
            "rm -rf .git/directory.lock",
            "rm -f .git/directory.lock",
            "rm -f .git/link.lock",
            "rm -f .git/way/yarn.lock",
            "rm -f .git/../Cargo.lock",
            "rm -f .git/missing.lock",
            "rm -f \"$x\".lock",
            "mv .git/index.lock x",
            "rm -f",
        ];
        for command in denied {
            assert!(!is_allowed(&options, command), "{command}");
        }
        let sync = PolicyOptions { mode: Mode::Sync, ..options.clone() };
        assert!(!is_allowed(&sync, allowed[0]), "sync removes nothing");
        let without_process_lookup =
            PolicyOptions { git_locks: GitLocks { in_use_by: None, ..options.git_locks.clone() }, ..options };
        assert!(!is_allowed(&without_process_lookup, allowed[0]), "use cannot be determined");
    }
}
