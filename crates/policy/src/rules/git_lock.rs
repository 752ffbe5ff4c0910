//! `rm` of stale git lock files. They are the only files in a repository's git directory that may be removed, even
//! without `--allow-destructive`, because git refuses to work until they are gone.

use std::path::{Path, PathBuf};

use super::options::ParsedArgs;
use super::scope::CommandScope;
use crate::paths::real_path;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

/// Options that do not extend the removal beyond the named files.
const HARMLESS: [&str; 4] = ["f", "v", "force", "verbose"];

/// Judges an `rm` whose operands are all existing lock files; `None` for any other `rm`.
pub fn judge(scope: &mut CommandScope<'_>, parsed: &ParsedArgs<'_>) -> Option<RuleResult> {
    let in_use_by = scope.options.git_locks.in_use_by?;
    let is_plain = parsed.options.iter().all(|(option, _)| HARMLESS.contains(&option.as_str()));
    let locks: Option<Vec<Vec<PathBuf>>> =
        parsed.operands.iter().map(|operand| locks(scope, operand)).collect();
    let locks = locks.filter(|locks| is_plain && !locks.is_empty())?;
    Some(locks.iter().flatten().try_for_each(|lock| {
        scope.count_path()?;
        match in_use_by(&scope.paths.root, lock) {
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
fn locks(scope: &CommandScope<'_>, operand: &Arg) -> Option<Vec<PathBuf>> {
    let text = operand.literal().filter(|_| !operand.from_braces)?;
    let path = Path::new(text);
    let name = path.file_name().filter(|_| text.ends_with(".lock"))?;
    let parent = path.parent()?;
    scope.directories.iter().map(|from| lock(scope, &from.join(parent), name.as_ref())).collect()
}

/// The resolved lock file; `None` if it is not a regular file in one of the repository's git directories.
fn lock(scope: &CommandScope<'_>, parent: &Path, name: &Path) -> Option<PathBuf> {
    let directories = &scope.options.git_locks.directories;
    let real = real_path(parent).ok().filter(|real| directories.iter().any(|own| real.starts_with(own)))?;
    let lock = real.join(name);
    lock.symlink_metadata().is_ok_and(|metadata| metadata.is_file()).then_some(lock)
}

#[cfg(test)]
mod tests;
