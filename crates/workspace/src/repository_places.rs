//! Where a repository has parts of its own beside its directories: what links in them lead to, the directories that it borrows objects from,
//! and its other working trees. If that is in the checkout, what lands there acts on the repository itself.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_sandbox::Repository;

/// The most entries of a repository's directory that are looked at, those that are not deep first, and how deep: as far as
/// `worktrees/x/config.worktree`.
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 3;

/// The most working trees of a repository that are looked at.
const MAX_TREES: usize = 32;

/// Links in the directories of a repository, and the directories that it borrows from, whether they exist or not.
pub(crate) fn places_elsewhere(repository: &Repository) -> Vec<PathBuf> {
    let links = repository.directories.iter().flat_map(|directory| links_in(directory));
    links.chain(borrowed_directories(repository)).collect()
}

/// The working trees of a repository beside the one that it was found by.
pub(crate) fn other_trees(repository: &Repository) -> Vec<PathBuf> {
    let shared = repository.directories.first().filter(|_| repository.directories.len() > 1);
    let main = shared.filter(|shared| shared.ends_with(".git")).and_then(|shared| shared.parent());
    let linked = linked_directories(repository).into_iter().filter_map(|directory| {
        let git = read_text(&directory.join("gitdir"), SETTINGS_LIMIT).ok().flatten()?;
        Some(directory.join(git.trim_end()).parent()?.to_owned())
    });
    main.map(Path::to_owned).into_iter().chain(linked).collect()
}

/// The directories of a repository's linked working trees within its own.
pub(crate) fn linked_directories(repository: &Repository) -> Vec<PathBuf> {
    let all = repository.directories.first().map(|shared| shared.join("worktrees"));
    let entries = all.into_iter().flat_map(|all| fs::read_dir(all).into_iter().flatten().flatten());
    entries.map(|entry| entry.path()).take(MAX_TREES).collect()
}

fn links_in(directory: &Path) -> Vec<PathBuf> {
    let mut queue = VecDeque::from([(directory.to_owned(), 1)]);
    let mut left = MAX_ENTRIES;
    let mut links = Vec::new();
    while let Some((directory, depth)) = queue.pop_front() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if left == 0 {
                return links;
            }
            left -= 1;
            let path = entry.path();
            if path.is_symlink() {
                links.push(path.clone());
            }
            // A link may lead to a directory with links.
            if depth < MAX_DEPTH && !is_of_objects(&path) && path.is_dir() {
                queue.push_back((path, depth + 1));
            }
        }
    }
    links
}

/// Whether a directory may have many objects, such as `objects/a1`.
fn is_of_objects(path: &Path) -> bool {
    let is_in_objects = path.parent().and_then(Path::file_name) == Some(OsStr::new("objects"));
    is_in_objects && path.file_name() != Some(OsStr::new("info"))
}

fn borrowed_directories(repository: &Repository) -> Vec<PathBuf> {
    // One that cannot be read has been refused before.
    let all = repository.object_directories().unwrap_or_default();
    let mut found = Vec::new();
    for objects in all {
        let list = read_text(&objects.join("info/alternates"), SETTINGS_LIMIT).ok().flatten();
        found.extend(list.unwrap_or_default().lines().map(|line| objects.join(line)));
        found.push(objects);
    }
    found
}
