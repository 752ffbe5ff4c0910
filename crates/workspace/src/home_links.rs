//! Links in the hidden places of the user's home directory, where programs have their settings. One that leads into the project makes files of
//! the project act, such as `~/.ssh/config` or `~/.local/lib/python3.11/site-packages`.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The most entries that are looked at, and how deep: a landing should not wait for the walk.
const MAX_ENTRIES: usize = 4000;
const MAX_DEPTH: usize = 6;

/// Directories that come first: in a large home the walk would end before it gets that deep.
const FIRST: [&str; 6] = [
    ".ssh",
    ".local/lib",
    ".local/bin",
    ".local/share/bash-completion",
    ".config/systemd/user",
    ".config/autostart",
];

/// Directories of any depth that are large and have no settings.
const SKIPPED: [&str; 9] = [
    ".cache",
    ".git",
    "Cache",
    "CacheStorage",
    "Trash",
    "_cacache",
    "__pycache__",
    "node_modules",
    "registry",
];

/// The links there, those that are not deep first. What is in `project` does not count: its links are its own.
pub(crate) fn links_in_hidden_places(home: &Path, project: &Path) -> Vec<PathBuf> {
    let mut queue: VecDeque<(PathBuf, usize)> = VecDeque::new();
    queue.extend(FIRST.map(|name| (home.join(name), name.split('/').count())));
    queue.push_back((home.to_owned(), 0));
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut left = MAX_ENTRIES;
    let mut links = Vec::new();
    while let Some((directory, depth)) = queue.pop_front() {
        if !seen.insert(directory.clone()) || depth > 0 && directory == project {
            continue;
        }
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if depth == 0 && !name.as_bytes().starts_with(b".") {
                continue;
            }
            if left == 0 {
                return links;
            }
            left -= 1;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                links.push(entry.path());
            } else if kind.is_dir() && depth < MAX_DEPTH && !SKIPPED.iter().any(|skipped| name == *skipped) {
                queue.push_back((entry.path(), depth + 1));
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{MAX_ENTRIES, links_in_hidden_places};

    fn link(path: &Path) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        symlink("/elsewhere", path).expect("linked");
    }

    #[test]
    fn links_are_found_in_hidden_places_only() {
        let home = tempfile::tempdir().expect("made");
        let found =
            [".bash_completion", ".ssh/config", ".a/b/c/d/e/x", ".local/lib/python3.11/site-packages"];
        let others =
            ["bin", "docs/.x", ".cache/x", ".a/node_modules/x", ".own/project/x", ".a/b/c/d/e/f/g/x"];
        for path in found.iter().chain(&others) {
            link(&home.path().join(path));
        }
        let mut links = links_in_hidden_places(home.path(), &home.path().join(".own/project"));
        links.sort();
        let mut expected = found.map(|path| home.path().join(path));
        expected.sort();
        assert_eq!(links, expected);
    }

    #[test]
    fn a_large_home_is_looked_at_in_part() {
        let home = tempfile::tempdir().expect("made");
        for at in 0..MAX_ENTRIES {
            fs::create_dir_all(home.path().join(format!(".large/{at}"))).expect("made");
        }
        for path in [".profile", ".local/lib/python3.11/site-packages", ".large/0/x"] {
            link(&home.path().join(path));
        }
        let mut links = links_in_hidden_places(home.path(), Path::new("/project"));
        links.sort();
        let expected = [".local/lib/python3.11/site-packages", ".profile"].map(|path| home.path().join(path));
        assert_eq!(links, expected);
    }
}
