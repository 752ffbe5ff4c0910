//! Where paths lead on the user's disk, also if not all of a path is there yet.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many links a path may lead through, as for the kernel.
const MAX_STEPS: usize = 40;

/// An absolute path without `..`, and every path that it leads to through links. What is not there yet counts as a directory: a landing may
/// bring it.
pub(crate) fn ways_of(path: &Path) -> Vec<PathBuf> {
    let mut ways = vec![joined(Path::new("/"), &names(path))];
    let mut at = PathBuf::from("/");
    let mut rest = names(path);
    let mut steps = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        let Some(target) = fs::read_link(&at).ok().filter(|_| steps < MAX_STEPS) else { continue };
        steps += 1;
        at = if target.is_absolute() { PathBuf::from("/") } else { at.parent().unwrap_or(&at).to_owned() };
        rest.extend(names(&target));
        ways.push(joined(&at, &rest));
    }
    ways.push(at);
    ways.dedup();
    ways
}

/// The names in a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    names.collect()
}

/// A path with names below it, the last one first.
fn joined(path: &Path, names: &[OsString]) -> PathBuf {
    let mut path = path.to_owned();
    for name in names.iter().rev() {
        match name == ".." {
            true => drop(path.pop()),
            false => path.push(name),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::ways_of;

    #[test]
    fn links_are_followed_although_what_they_lead_to_is_not_there() {
        let directory = tempfile::tempdir().expect("made");
        let top = directory.path().canonicalize().expect("there");
        fs::create_dir_all(top.join("home/project")).expect("made");
        for (link, target) in [
            ("home/bin", "project/bin"),
            ("home/lnk", "./project/../project"),
            ("home/project/sh", "../../tools"),
            ("home/a", "b"),
            ("home/b", "a"),
        ] {
            symlink(target, top.join(link)).expect("linked");
        }
        for (path, ways) in [
            ("home/project/../project/bin", &["home/project/bin"][..]),
            ("home/project/new/../bin", &["home/project/bin"]),
            ("home/bin", &["home/bin", "home/project/bin"]),
            ("home/bin/git", &["home/bin/git", "home/project/bin/git"]),
            ("home/lnk/sh/x", &["home/lnk/sh/x", "home/project/sh/x", "tools/x"]),
        ] {
            let ways: Vec<PathBuf> = ways.iter().map(|way| top.join(way)).collect();
            assert_eq!(ways_of(&top.join(path)), ways, "{path}");
        }
        // The physical parent of what a link leads to.
        assert!(ways_of(&top.join("home/project/sh/../x")).contains(&top.join("x")));
        assert!(ways_of(&top.join("home/a/x")).len() < 100, "a circle ends");
    }
}
