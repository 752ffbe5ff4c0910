//! Where git finds the hooks of a checkout: in the directories that its settings name, and behind links that are hooks.

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_sandbox::Repository;

use crate::git_settings::settings_files;

/// The directories of hooks of a repository whose working tree is `top`, and the files that hooks are links to. Not `top` itself,
/// which has other files too. `more` are further files of git's settings.
pub fn hook_places(
    repository: &Repository,
    top: &Path,
    home: Option<&Path>,
    more: &[PathBuf],
) -> Vec<PathBuf> {
    let named = settings_files(repository, home, more).into_iter();
    let named = named.flat_map(|file| file.hook_directories(top, home));
    let mut places: Vec<PathBuf> = repository.hooks().chain(named).collect();
    // A directory may be a link, and so may each hook in it.
    let real: Vec<PathBuf> = places.iter().filter_map(|place| place.canonicalize().ok()).collect();
    let entries = real.iter().flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    let links = entries.map(|entry| entry.path()).filter(|path| path.is_symlink());
    let targets: Vec<PathBuf> = links.filter_map(|link| link.canonicalize().ok()).collect();
    places.extend(real.into_iter().chain(targets));
    places.retain(|place| !top.starts_with(place));
    places.sort();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use autonoe_sandbox::Repository;

    use super::hook_places;

    #[test]
    fn hooks_are_found_where_settings_and_links_lead() {
        let directory = tempfile::tempdir().expect("directory");
        let top = directory.path().canonicalize().expect("real");
        let git = top.join(".git");
        for path in [".git/hooks", "scripts", ".husky/_", "home"] {
            fs::create_dir_all(top.join(path)).expect("directory");
        }
        let repository = Repository { above: None, directories: vec![git.clone()] };
        let places = |settings: &str, more: &[PathBuf]| {
            fs::write(git.join("config"), settings).expect("written");
            let found = hook_places(&repository, &top, Some(&top.join("home")), more);
            let relative =
                found.iter().map(|place| place.strip_prefix(&top).expect("inside").display().to_string());
            relative.collect::<Vec<_>>()
        };
        assert_eq!(places("", &[]), [".git/hooks"]);
        assert_eq!(places("[core]\n\thooksPath = .githooks\n", &[]), [".git/hooks", ".githooks"]);
        assert_eq!(places("[core]\n\thooksPath = .husky/_\n", &[]), [".git/hooks", ".husky", ".husky/_"]);
        assert_eq!(places("[core]\n\thooksPath = .\n", &[]), [".git/hooks"]);
        let more = top.join("home/more");
        fs::write(&more, "[core]\nhooksPath = scripts\n").expect("written");
        assert_eq!(places("", &[more]), [".git/hooks", "scripts"]);

        fs::write(top.join("scripts/check.sh"), "make check\n").expect("written");
        symlink("../../scripts/check.sh", git.join("hooks/pre-commit")).expect("link");
        symlink("../../nowhere", git.join("hooks/pre-push")).expect("link");
        assert_eq!(places("", &[]), [".git/hooks", "scripts/check.sh"]);
    }
}
