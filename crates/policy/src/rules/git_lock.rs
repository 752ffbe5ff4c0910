//! `rm` of a lock file that git left behind: the one thing in a repository's own directory that may be removed by hand, and without
//! `--allow-destructive`, since git itself asks for it and does nothing until it is done.

use std::path::{Path, PathBuf};

use super::options::Parsed;
use crate::paths::real_path;
use crate::verdict::{Ruling, deny_but};
use crate::walk::Walker;
use crate::words::Arg;

/// Which lock files there are to remove, and who can tell whether one is still in use.
#[derive(Debug, Clone, Default)]
pub struct GitLocks {
    /// The directories of the project's repository, canonical.
    pub directories: Vec<PathBuf>,
    /// Says who uses the lock file at a path, in the project at another. Without it none is removed.
    pub in_use_by: Option<fn(&Path, &Path) -> Option<String>>,
}

/// Options that remove nothing but what is named.
const HARMLESS: [&str; 4] = ["f", "v", "force", "verbose"];

/// The ruling on an `rm` of nothing but lock files that are there; none if it is another.
pub fn judge(walker: &mut Walker<'_>, parsed: &Parsed<'_>) -> Option<Ruling> {
    let in_use_by = walker.policy.options.git_locks.in_use_by?;
    let is_plain = parsed.options.iter().all(|(option, _)| HARMLESS.contains(&option.as_str()));
    let locks: Option<Vec<Vec<PathBuf>>> =
        parsed.operands.iter().map(|operand| locks(walker, operand)).collect();
    let locks = locks.filter(|locks| is_plain && !locks.is_empty())?;
    Some(locks.iter().flatten().try_for_each(|lock| {
        walker.count_path()?;
        match in_use_by(&walker.policy.paths.root, lock) {
            None => Ok(()),
            Some(who) => deny_but(
                "git.lock",
                format!("'{}' is held by {who}, which is still running.", lock.display()),
                "Wait until it finishes; it removes the file itself.",
            ),
        }
    }))
}

/// The lock files that an argument may name, if each of them is one.
fn locks(walker: &Walker<'_>, operand: &Arg) -> Option<Vec<PathBuf>> {
    let text = operand.literal().filter(|_| !operand.from_braces)?;
    let path = Path::new(text);
    let name = path.file_name().filter(|_| text.ends_with(".lock"))?;
    let parent = path.parent()?;
    walker.directories.iter().map(|from| lock(walker, &from.join(parent), name.as_ref())).collect()
}

/// A file is itself a lock, in a directory that really is the repository's.
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
    fn a_lock_that_nobody_uses_may_be_removed_and_nothing_else() {
        let place = tempfile::tempdir().expect("directory");
        let root = place.path().canonicalize().expect("real").join("project");
        let linked = root.parent().expect("parent").join("main/.git/worktrees/x");
        for directory in
            [root.join(".git/refs/heads"), root.join("src"), linked.clone(), place.path().join("outside")]
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
        fs::write(place.path().join("outside/yarn.lock"), "").expect("written");
        fs::create_dir(root.join(".git/directory.lock")).expect("made");
        symlink("index.lock", root.join(".git/link.lock")).expect("linked");
        symlink(place.path().join("outside"), root.join(".git/way")).expect("linked");
        let git_locks =
            GitLocks { directories: vec![root.join(".git"), linked.clone()], in_use_by: Some(in_use_by) };
        let options = PolicyOptions { git_locks, ..PolicyOptions::new(Mode::Run, &root) };
        let is_allowed = |options: &PolicyOptions, command: &str| {
            CommandPolicy::new(options.clone()).check(command).is_allowed()
        };

        let there = format!("rm -f {}", linked.join("index.lock").display());
        let allowed = [
            "rm -f .git/index.lock",
            "rm .git/index.lock && git status",
            "rm --force -v ./.git/refs/heads/main.lock .git/index.lock",
            "cd src && rm -f ../.git/index.lock",
            &there,
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
        assert!(!is_allowed(&sync, allowed[0]), "sync changes nothing");
        let blind =
            PolicyOptions { git_locks: GitLocks { in_use_by: None, ..options.git_locks.clone() }, ..options };
        assert!(!is_allowed(&blind, allowed[0]), "nobody can tell whether it is in use");
    }
}
