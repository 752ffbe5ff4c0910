//! Finds the directories of the git repository that a project belongs to.

use std::path::{Path, PathBuf};

use autonoe_files::{ReadError, read_bytes, read_text};
use serde::{Deserialize, Serialize};

/// Maximum size of a repository's config file, in bytes; with ten thousand branches it has about a megabyte.
pub(crate) const CONFIG_LIMIT: u64 = 16 * 1024 * 1024;

/// The directories of the repository that a project belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top of the working tree; `None` if it is the project itself.
    pub above: Option<PathBuf>,
    /// The `.git` directory. For a linked working tree two: first the shared one, then its own.
    pub directories: Vec<PathBuf>,
}

impl Repository {
    /// The repository that contains `root`, which must be absolute and canonical.
    pub fn around(root: &Path) -> Self {
        let Some(top) = root.ancestors().find(|directory| is_repository(&directory.join(".git"))) else {
            return Self::default();
        };
        let above = (top != root).then(|| top.to_owned());
        let Some(own) = real_directory(&top.join(".git")) else {
            return Self { above, directories: Vec::new() };
        };
        let shared = read_text(&own.join("commondir"), CONFIG_LIMIT).ok().flatten();
        let shared = shared.and_then(|path| own.join(path.trim_end()).canonicalize().ok());
        Self { above, directories: shared.into_iter().chain([own]).collect() }
    }

    /// The config files.
    pub fn settings(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("config"))
    }

    /// The first config file that cannot be read (a pipe, or too large), and why; `None` if all are fine.
    pub fn unreadable_settings(&self) -> Option<(PathBuf, ReadError)> {
        self.settings().find_map(|file| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).err()?)))
    }

    /// The top of the working tree that `root` belongs to.
    pub fn top<'a>(&'a self, root: &'a Path) -> &'a Path {
        self.above.as_deref().unwrap_or(root)
    }

    /// The hook directories.
    pub fn hooks(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("hooks"))
    }
}

/// Whether git would accept it as a repository: a directory with a HEAD, or a file that names such a directory.
fn is_repository(git: &Path) -> bool {
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// The directory that `.git` is or, if it is a file, names.
fn real_directory(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = read_text(git, CONFIG_LIMIT).ok()??;
    let named = text.strip_prefix("gitdir:")?.trim();
    git.parent()?.join(named).canonicalize().ok()
}
