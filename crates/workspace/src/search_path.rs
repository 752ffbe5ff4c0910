//! The directories in which the user's shell and git look for programs, as far as they lead into the project.

use std::path::{Path, PathBuf};

use crate::disk_links::ways_of;
use crate::git_settings::expand_home;
use crate::hook_text::plain;
use crate::hub::UsersMachine;

/// Variables beside `PATH`: git puts such a directory before it.
const MORE: [&str; 1] = ["GIT_EXEC_PATH"];

pub(crate) struct SearchPath<'a> {
    top: &'a Path,
    /// Directories of the working tree, and entries that are not absolute: they lead from wherever the user stands.
    inside: Vec<PathBuf>,
    outside: Vec<PathBuf>,
}

impl<'a> SearchPath<'a> {
    pub(crate) fn of(users: &UsersMachine, top: &'a Path) -> Self {
        let more = users.variables.iter().filter(|(name, _)| MORE.contains(&name.as_str()));
        let entries = users.search_path.iter().cloned().chain(more.map(|(_, value)| PathBuf::from(value)));
        // A directory elsewhere may be a link into the project, and one of the project a link to another, also before they are there.
        let ways = entries.flat_map(|entry| {
            let text = entry.to_string_lossy();
            let entry = expand_home(&text, users.home.as_deref());
            match entry.is_absolute() {
                true => ways_of(&entry),
                false => vec![PathBuf::from(plain(&text))],
            }
        });
        let (outside, inside) = ways.partition(|entry| entry.is_absolute() && !entry.starts_with(top));
        Self { top, inside, outside }
    }

    /// Whether a file comes before, or instead of, another program of its name. A link in the place of a whole directory always does.
    pub(crate) fn is_shadowed_by(&self, path: &Path, is_link: bool) -> bool {
        let file = self.top.join(path);
        let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
            return false;
        };
        let is_on_path = |entry: &PathBuf| match entry.is_absolute() {
            true => entry == directory,
            false => directory.ends_with(entry),
        };
        let leads_there = |entry: &PathBuf| match entry.is_absolute() {
            true => entry.starts_with(&file),
            false => entry.ancestors().any(|part| !part.as_os_str().is_empty() && file.ends_with(part)),
        };
        is_link && self.inside.iter().any(leads_there)
            || self.inside.iter().any(is_on_path)
                && self.outside.iter().any(|entry| entry.join(name).exists())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::SearchPath;
    use crate::hub::UsersMachine;

    #[test]
    fn a_program_on_the_search_path_is_shadowed_only_by_its_name() {
        let top = Path::new("/project");
        let path = ["tools", "./scripts", "/project/.venv/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let users = UsersMachine { search_path: path.to_vec(), ..UsersMachine::default() };
        let search_path = SearchPath::of(&users, top);
        for (file, is_link, expected) in [
            (".venv/bin/sh", false, true),
            (".venv/bin/our-own", false, false),
            (".venv/bin", true, true),
            (".venv", true, true),
            (".venv", false, false),
            ("tools", true, true),
            ("tools/sh", false, true),
            ("deep/tools/sh", false, true),
            ("scripts/sh", false, true),
            ("src/sh", false, false),
            ("src", true, false),
            ("sh", false, false),
        ] {
            assert_eq!(search_path.is_shadowed_by(Path::new(file), is_link), expected, "{file}");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_known_by_every_spelling() {
        let directory = tempfile::tempdir().expect("made");
        let home = directory.path().canonicalize().expect("there");
        let top = home.join("project");
        std::fs::create_dir(&top).expect("made");
        for (link, target) in [("bin", "project/bin"), ("projects", "."), ("deep", "projects/project")] {
            symlink(target, home.join(link)).expect("linked");
        }
        for entry in [
            "$HOME/project/bin",
            "$HOME/project/../project/bin",
            "$HOME/project/new/../bin/.",
            "$HOME/bin",
            "$HOME/bin/",
            "$HOME/projects/project/bin",
            "$HOME/deep/bin",
            "~/bin",
            "x/../bin",
        ] {
            let entry = entry.replace("$HOME", &home.display().to_string());
            let search_path = vec![PathBuf::from(&entry), PathBuf::from("/bin")];
            let users = UsersMachine { search_path, home: Some(home.clone()), ..UsersMachine::default() };
            let search_path = SearchPath::of(&users, &top);
            assert!(search_path.is_shadowed_by(Path::new("bin/sh"), false), "{entry}");
            assert!(search_path.is_shadowed_by(Path::new("bin"), true), "{entry}");
            for file in ["bin/our-own", "src/sh", "sh"] {
                assert!(!search_path.is_shadowed_by(Path::new(file), false), "{entry}: {file}");
            }
        }
    }

    #[test]
    fn git_searches_one_more_directory() {
        let users = UsersMachine {
            search_path: vec![PathBuf::from("/bin")],
            variables: vec![("GIT_EXEC_PATH".to_owned(), ".".to_owned())],
            ..UsersMachine::default()
        };
        let search_path = SearchPath::of(&users, Path::new("/project"));
        assert!(search_path.is_shadowed_by(Path::new("sh"), false));
        assert!(!search_path.is_shadowed_by(Path::new("main.c"), false));
    }
}
