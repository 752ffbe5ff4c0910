//! Links to directories: a path that goes through one leads elsewhere, with `..` even beside it. Agents may make links, but a check that goes
//! through one of theirs could judge by files of theirs. So could one that writes to a link of theirs to a protected file.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

/// The most files that are looked at.
const MAX_FILES: usize = 100_000;

/// The most links that one path may go through, as in the kernel.
const MAX_LINKS: usize = 40;

/// Beginnings of paths where each process sees other files.
pub(crate) const OF_PROCESSES: [&str; 3] = ["/proc/", "/dev/fd", "/dev/std"];

/// The links below `root` that lead to directories or to `protected` files, and where they lead in the end; their targets, if that is outside
/// or not there.
pub(crate) fn linked_directories(root: &Path, protected: &[PathBuf]) -> BTreeMap<String, String> {
    let is_repository = |path: &Path, depth: usize| depth == 1 && path.ends_with(".git");
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| !is_repository(entry.path(), entry.depth()))
        .build();
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let judges: HashSet<PathBuf> = protected.iter().filter_map(|file| file.canonicalize().ok()).collect();
    // A program would write to what it is compared with.
    let is_judge = |link: &Path| {
        !protected.iter().any(|file| file == link)
            && link.canonicalize().is_ok_and(|target| judges.contains(&target))
    };
    let links = walk.filter_map(Result::ok).take(MAX_FILES).filter(|entry| entry.path_is_symlink());
    links
        .filter(|link| {
            !fs::metadata(link.path()).is_ok_and(|target| target.is_file())
                || is_judge(link.path())
                || is_of_process(link.path())
        })
        .filter_map(|link| {
            let end = link.path().canonicalize().ok().filter(|_| !is_of_process(link.path()));
            let inside = end.and_then(|end| Some(end.strip_prefix(&real).ok()?.to_owned()));
            let target = inside.or_else(|| fs::read_link(link.path()).ok())?;
            let path = link.path().strip_prefix(root).ok()?;
            Some((path.to_str()?.to_owned(), target.to_string_lossy().into_owned()))
        })
        .collect()
}

/// Whether a link leads to a place where each process sees another file, so that nobody can say where it leads.
fn is_of_process(link: &Path) -> bool {
    let target = fs::read_link(link).unwrap_or_default();
    OF_PROCESSES.iter().any(|place| target.as_os_str().as_encoded_bytes().starts_with(place.as_bytes()))
}

/// All links that a path goes through below `top`, in turn, the path itself included.
pub(crate) fn links_on_the_way(top: &Path, path: &Path) -> Vec<PathBuf> {
    let Ok(below) = path.strip_prefix(top) else { return Vec::new() };
    let mut left: Vec<OsString> = parts(below);
    let mut here = top.to_owned();
    let mut found = Vec::new();
    while let Some(part) = left.pop() {
        if part == ".." {
            if here == top || !here.pop() {
                return found;
            }
            continue;
        }
        let next = here.join(&part);
        match fs::read_link(&next) {
            Ok(target) if target.is_absolute() || found.len() == MAX_LINKS => {
                found.push(next);
                return found;
            }
            Ok(target) => {
                left.extend(parts(&target));
                found.push(next);
            }
            Err(_) => here = next,
        }
    }
    found
}

/// The parts of a relative path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.rev().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::{linked_directories, links_on_the_way};

    #[test]
    fn every_link_of_a_chain_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        for name in ["tests", "v1/deep", "a"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::fs::write(top.join("v1/run.sh"), "").unwrap();
        symlink("../cur/run.sh", top.join("tests/run.sh")).unwrap();
        symlink("v1", top.join("cur")).unwrap();
        symlink("v1/deep", top.join("d")).unwrap();
        symlink("d/../run.sh", top.join("detour.sh")).unwrap();
        symlink("round", top.join("round")).unwrap();
        let names = |path: &str| {
            let found = links_on_the_way(top, &top.join(path));
            found.iter().map(|link| link.strip_prefix(top).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("tests/run.sh"), ["tests/run.sh", "cur"]);
        assert_eq!(names("detour.sh"), ["detour.sh", "d"]);
        assert_eq!(names("v1/run.sh"), Vec::<String>::new());
        assert_eq!(names("round").len(), 41);
        let found =
            |protected: &[PathBuf]| linked_directories(top, protected).into_iter().collect::<Vec<_>>();
        let link = |path: &str, target: &str| (path.to_owned(), target.to_owned());
        assert_eq!(found(&[]), [link("cur", "v1"), link("d", "v1/deep"), link("round", "round")]);
        let judge = found(&[top.join("v1/run.sh"), top.join("tests/run.sh")]);
        assert_eq!(judge[2], link("detour.sh", "v1/run.sh"));
        assert_eq!(judge.len(), 4, "the other one is protected itself");
        let here = std::env::current_dir().unwrap();
        let seen = std::fs::read_dir(here).unwrap().flatten().find(|entry| entry.path().is_file()).unwrap();
        let target = format!("/proc/self/cwd/{}", seen.file_name().display());
        symlink(&target, top.join("out")).unwrap();
        assert!(top.join("out").is_file() && found(&[]).contains(&link("out", &target)));
    }
}
