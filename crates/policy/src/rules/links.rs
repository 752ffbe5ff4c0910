//! Links that lead out of the project may not be copied or moved: where they arrive has not been looked at yet when
//! the rest of the command is judged.

use std::path::Path;

use crate::paths::real_path;
use crate::verdict::{Ruling, deny_but};
use crate::walk::Walker;
use crate::words::{Arg, Kind};

/// How many files of a directory are looked at.
const MAX_FILES: usize = 2000;

/// Refuses a source that is, or contains, a link that leads out.
pub fn judge(walker: &Walker<'_>, source: &Arg) -> Ruling {
    let place = match source.kind {
        Kind::Plain => source.text.as_str(),
        Kind::Glob => source.text.rsplit_once('/').map_or(".", |(parent, _)| parent),
        Kind::Unknown | Kind::Several => {
            return deny_but(
                "links",
                "What would be copied is not known before it runs.",
                "Write the source out.",
            );
        }
    };
    let root = &walker.policy.paths.root;
    let mut left = MAX_FILES;
    if walker.directories.iter().any(|directory| leads_out(&directory.join(place), root, &mut left)) {
        return deny_but(
            "links",
            format!("'{place}' is or contains a link that leads out of the project."),
            "Copy the files without it.",
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
