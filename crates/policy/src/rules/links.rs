//! Links that lead out of the project may not be copied or moved: the rest of the command is judged before they exist
//! at their destination.

use std::path::Path;

use super::scope::CommandScope;
use crate::paths::real_path;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// The most files in a directory that are checked.
const MAX_FILES: usize = 2000;

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
