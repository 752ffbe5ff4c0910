//! What remains of a readable directory without the paths in it that are masked: the entries on the way to them, one by one.

use std::fs;
use std::path::{Path, PathBuf};

/// One part of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum VisiblePart {
    /// A path that contains nothing masked.
    Everything(PathBuf),
    /// A directory that does; its entries are parts of their own.
    Names(PathBuf),
    /// A symbolic link in such a directory. What it leads to is not looked at.
    Link(PathBuf),
}

/// The parts of `path`, a directory before what it contains; none if `path` itself is masked. None of the paths may have links.
pub(crate) fn visible_parts(path: &Path, masked: &[PathBuf]) -> Vec<VisiblePart> {
    let mut parts = Vec::new();
    add(path, masked, &mut parts);
    parts
}

/// Whether something masked is in `path`, or it is masked itself.
pub(crate) fn contains_masked(path: &Path, masked: &[PathBuf]) -> bool {
    masked.iter().any(|masked| masked.starts_with(path))
}

fn add(path: &Path, masked: &[PathBuf], parts: &mut Vec<VisiblePart>) {
    if masked.iter().any(|masked| masked == path) {
        return;
    }
    if !contains_masked(path, masked) {
        parts.push(VisiblePart::Everything(path.to_owned()));
        return;
    }
    parts.push(VisiblePart::Names(path.to_owned()));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_symlink() {
            true => parts.push(VisiblePart::Link(path)),
            false => add(&path, masked, parts),
        }
    }
}
