//! Links that lead out of the project may not be copied or moved: the rest of the command is judged before they exist
//! at their destination. Nor may a program that searches directories follow them, `find` pass them on, or `cp` write
//! through them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::scope::CommandScope;
use crate::path_globs::segment_matches;
use crate::paths::{may_read_outside, real_path};
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// The most directory entries that are looked at in what is copied, and where it is copied to.
const MAX_COPIED: usize = 20_000;

/// The most directory entries among which `find` may pass links to a command.
const MAX_FOUND: usize = 20_000;

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
    let mut left = MAX_COPIED;
    for directory in &scope.directories {
        let leads_out = any_link(&directory.join(path), usize::MAX, &mut left, &mut |link| {
            !real_path(link).is_ok_and(|real| real.starts_with(root))
        });
        match leads_out {
            Some(false) => {}
            Some(true) => {
                return deny_with_hint(
                    "links",
                    format!("'{path}' is or contains a link that leads out of the project."),
                    "Copy the files without the link.",
                );
            }
            None => return too_many_files(path),
        }
    }
    Ok(())
}

/// Denies a copy into a directory where a link leads to what may not be written: `cp` writes through links that it
/// finds there.
pub fn judge_copied_over(
    scope: &CommandScope<'_>,
    sources: &[&Arg],
    target: &str,
    is_recursive: bool,
) -> RuleResult {
    let mut left = MAX_COPIED;
    for directory in &scope.directories {
        let base = directory.join(target);
        if !base.is_dir() {
            continue;
        }
        for source in sources {
            let (landing, pattern) = landing(&base, source);
            let depth = if is_recursive { usize::MAX } else { 1 };
            let may_not_write = |link: &Path| {
                let is_named = link.parent() != Some(&base) || matches_name(pattern, link);
                let path = link.to_str().map(Arg::plain);
                is_named && path.is_none_or(|path| scope.may_write(&path).is_err())
            };
            match any_link(&landing, depth, &mut left, &mut { may_not_write }) {
                Some(false) => {}
                Some(true) => {
                    return deny_with_hint(
                        "links",
                        format!("'{target}' contains a link that leads to a file that may not be written."),
                        "Copy into a directory without links, or name the files.",
                    );
                }
                None => return too_many_files(target),
            }
        }
    }
    Ok(())
}

/// Where a source lands in an existing directory, and the pattern of its name if that is not known.
fn landing<'s>(base: &Path, source: &'s Arg) -> (PathBuf, Option<&'s str>) {
    let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match source.kind {
        ArgKind::Plain if !matches!(name, "" | "." | "..") => (base.join(name), None),
        ArgKind::Glob => (base.to_owned(), Some(name)),
        ArgKind::Plain | ArgKind::Unknown | ArgKind::Several => (base.to_owned(), None),
    }
}

fn matches_name(pattern: Option<&str>, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    pattern.is_none_or(|pattern| name.starts_with('.') || segment_matches(pattern, &name))
}

/// What `find` would pass on: the tests of its call that every found entry has passed.
#[derive(Debug, Default)]
pub struct FoundEntries<'c> {
    pub starts: Vec<&'c Arg>,
    /// Patterns that the name matches.
    pub names: Vec<&'c str>,
    /// `usize::MAX` without `-maxdepth`.
    pub depth: usize,
}

/// Denies passing on what `find` finds if a link that leads out of the project may be among it.
pub fn judge_found(scope: &CommandScope<'_>, found: &FoundEntries<'_>) -> RuleResult {
    let here = Arg::plain(".");
    let starts = if found.starts.is_empty() { vec![&here] } else { found.starts.clone() };
    let mut left = MAX_FOUND;
    for (directory, start) in scope.directories.iter().flat_map(|from| starts.iter().map(move |s| (from, s)))
    {
        // Of a start that is not written out, only its directory is known.
        let text = match start.kind {
            ArgKind::Plain => start.text.as_str(),
            _ => start
                .text
                .split(['*', '?', '['])
                .next()
                .unwrap_or_default()
                .rsplit_once('/')
                .map_or(".", |(p, _)| p),
        };
        let leads_out = |link: &Path| {
            let is_found = found.names.iter().all(|name| matches_name(Some(name), link));
            is_found && !link.canonicalize().is_ok_and(|real| may_read(scope, &real))
        };
        match any_link(&directory.join(text), found.depth, &mut left, &mut { leads_out }) {
            Some(false) => {}
            Some(true) => {
                return deny_with_hint(
                    "links",
                    "find would pass a link that leads out of the project to a command.",
                    "Add -type f before -exec: find . -type f -exec …",
                );
            }
            None => {
                return deny_with_hint(
                    "links",
                    "There are too many files to see whether find would pass on a link that leads out of the project.",
                    "Add -type f before -exec: find . -type f -exec …",
                );
            }
        }
    }
    Ok(())
}

fn may_read(scope: &CommandScope<'_>, real: &Path) -> bool {
    scope.paths.is_own(real) || may_read_outside(real, &scope.paths.readable)
}

fn too_many_files(path: &str) -> RuleResult {
    deny_with_hint(
        "links",
        format!("There are too many files in '{path}' to see whether a link leads out of the project."),
        "Name the directories below it.",
    )
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
        if !may_read(scope, &real) {
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

/// Whether `test` holds for a path, if it is a link, or for a link below it, down to `depth` directories; `None` if there
/// are too many entries to look at. Links are not followed.
fn any_link(
    path: &Path,
    depth: usize,
    left: &mut usize,
    test: &mut dyn FnMut(&Path) -> bool,
) -> Option<bool> {
    let Ok(metadata) = path.symlink_metadata() else { return Some(false) };
    if metadata.is_symlink() {
        return Some(test(path));
    }
    let mut open = vec![(path.to_owned(), depth)];
    while let Some((directory, depth)) = open.pop() {
        if depth == 0 {
            continue;
        }
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() && test(&entry.path()) => return Some(true),
                Ok(kind) if kind.is_dir() => open.push((entry.path(), depth - 1)),
                _ => {}
            }
        }
    }
    Some(false)
}
