//! Credentials in directories that a room can read: toolchains contain those of their package managers.

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_files::credentials_within;

use crate::bounds::Bounds;
use crate::system_paths;

/// System directories in which programs are installed with settings of their own.
const INSTALLED: [&str; 4] = ["/etc", "/usr", "/usr/local", "/opt"];

/// How many directories in `/opt` are looked at.
const MAX_OPTIONAL: usize = 64;

/// The credentials that the room must not see, without links. Nothing is masked in the project.
pub(crate) fn masked(bounds: &Bounds) -> Vec<PathBuf> {
    let optional = fs::read_dir("/opt").into_iter().flatten().flatten().map(|entry| entry.path());
    let installed = INSTALLED.map(PathBuf::from).into_iter().chain(optional.take(MAX_OPTIONAL));
    let named = bounds.read.iter().chain(&bounds.write).cloned();
    let found = installed.chain(named).flat_map(|directory| credentials_within(&directory));
    // Behind a link is a file that may be visible elsewhere.
    let mut found: Vec<_> = found.filter_map(|path| path.canonicalize().ok()).collect();
    let unmasked = |path: &Path| bounds.unmasked.iter().any(|unmasked| path.starts_with(unmasked));
    found.retain(|path| is_visible(bounds, path) && !path.starts_with(&bounds.root) && !unmasked(path));
    found.sort();
    found.dedup();
    found
}

/// Whether the room has a path unless it is masked. A path that was named itself was meant.
fn is_visible(bounds: &Bounds, path: &Path) -> bool {
    let named = || bounds.read.iter().chain(&bounds.write).map(PathBuf::as_path);
    let visible = system_paths::SYSTEM.into_iter().map(Path::new).chain(named());
    visible.into_iter().any(|visible| path.starts_with(visible)) && !named().any(|named| named == path)
}
