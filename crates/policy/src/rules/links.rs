//! Links that lead out of the project may not be copied or moved: the rest of the command is judged before they exist
//! at their destination. Nor may a program that searches directories follow them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::scope::CommandScope;
use crate::paths::{may_read_outside, real_path};
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// The most files in a directory that are checked.
const MAX_FILES: usize = 2000;

/// The most directory entries that are looked at before a program may follow links.
const MAX_FOLLOWED: usize = 5000;

/// Denies a source that is or contains a link that leads out of the project.
pub fn judge(scope: &CommandScope<'_>, source: &Arg) -> RuleResult {
    let path = match source.kind {
        ArgKind::Plain => source.text.as_str(),
        ArgKind::Glob => source.text.rsplit_once('/').map_or(".", |(parent, _)| parent),
        ArgKind::Unknown | ArgKind::Several => {
            return deny_with_hint(
                "links",
                "The files to copy are not known before the command runs.",
                "Write a literal source.",
            );
        }
    };
    let root = &scope.paths.root;
    let mut left = MAX_FILES;
    if scope.directories.iter().any(|directory| leads_out(&directory.join(path), root, &mut left)) {
        return deny_with_hint(
            "links",
            format!("'{path}' is or contains a link that leads out of the project."),
            "Copy the files without the link.",
        );
    }
    Ok(())
}

/// Denies a program that follows the links in directories, if one in the project leads out of it or if there are too
/// many files to know. `without` is how to call it without following links.
pub fn judge_followed(scope: &CommandScope<'_>, without: &'static str) -> RuleResult {
    let open = [&scope.paths.root].into_iter().chain(&scope.paths.temp).cloned().collect();
    match follows_out(scope, open) {
        true => deny_with_hint(
            "links",
            "The command follows links, and one may lead out of the project.",
            without,
        ),
        false => Ok(()),
    }
}

fn follows_out(scope: &CommandScope<'_>, mut open: Vec<PathBuf>) -> bool {
    let mut left = MAX_FOLLOWED;
    let mut seen = HashSet::new();
    while let Some(path) = open.pop() {
        let Ok(real) = path.canonicalize() else { continue };
        if !scope.paths.is_own(&real) && !may_read_outside(&real, &scope.paths.readable) {
            return true;
        }
        if !scope.paths.is_own(&real) || !seen.insert(real.clone()) {
            continue;
        }
        for entry in real.read_dir().into_iter().flatten().flatten() {
            if left == 0 {
                return true;
            }
            left -= 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink()) {
                open.push(entry.path());
            }
        }
    }
    false
}

fn leads_out(path: &Path, root: &Path, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let Ok(metadata) = path.symlink_metadata() else { return false };
    if metadata.is_symlink() {
        return !real_path(path).is_ok_and(|real| real.starts_with(root));
    }
    if !metadata.is_dir() {
        return false;
    }
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.take(*left).any(|entry| {
        let directory = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
        if directory { leads_out(&entry.path(), root, left) } else { false }
    })
}
