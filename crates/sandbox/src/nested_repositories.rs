//! Repositories below the top of a project. `git status` of the project looks into them too, with their settings and hooks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository::Repository;

/// The most directory entries that are looked at.
pub(crate) const MAX_ENTRIES: usize = 500_000;

/// The git directories that were found.
pub(crate) struct NestedRepositories {
    pub(crate) directories: BTreeSet<PathBuf>,
    /// Files and links named `.git` that lead out of the project.
    pub(crate) leading_out: BTreeSet<PathBuf>,
    /// Whether the project has no more than [`MAX_ENTRIES`].
    pub(crate) is_complete: bool,
}

impl NestedRepositories {
    /// Those below `root`, which must be canonical. No links are followed to other directories.
    pub(crate) fn of(root: &Path) -> Self {
        let mut found =
            Self { directories: BTreeSet::new(), leading_out: BTreeSet::new(), is_complete: true };
        let (mut left, mut entries) = (vec![root.to_owned()], 0);
        while let Some(directory) = left.pop() {
            let mut names = 0;
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                entries += 1;
                if entries > MAX_ENTRIES {
                    found.is_complete = false;
                    return found;
                }
                let name = entry.file_name();
                names += usize::from(["HEAD", "objects", "refs"].iter().any(|known| name == *known));
                if name == ".git" {
                    if directory != root {
                        let repository = Repository::around(&directory);
                        let (within, out): (Vec<_>, Vec<_>) =
                            repository.directories.into_iter().partition(|git| git.starts_with(root));
                        found.directories.extend(within);
                        found.leading_out.extend(out.first().map(|_| entry.path()));
                    }
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(entry.path());
                }
            }
            // Git takes such a directory for a repository when the user works in it.
            if names == 3 && directory != root {
                found.directories.insert(directory);
            }
        }
        // That of the project itself is somebody else's business.
        Repository::around(root).directories.iter().for_each(|own| {
            found.directories.remove(own);
        });
        found
    }
}
