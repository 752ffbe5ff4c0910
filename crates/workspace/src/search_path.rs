//! The directories in which the user's shell and git look for programs, as far as they lead into the project, and programs of the project to
//! which links in them lead.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::changed_file::ChangedFile;
use crate::disk_links::ways_of;
use crate::git_settings::expand_home;
use crate::hook_text::plain;
use crate::hub::UsersMachine;
use crate::tree_links::TreeLinks;

/// Variables beside `PATH`: git puts such a directory before it.
const MORE: [&str; 1] = ["GIT_EXEC_PATH"];

/// The modes of a committed program, and of a link.
const PROGRAM: &str = "100755";
const LINK: &str = "120000";

/// What a shell has built in: not every shell has all of it, and programs such as `env` and `sudo` look for a file.
#[rustfmt::skip]
const SHELL_COMMANDS: [&str; 52] = [
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "continue", "declare", "dirs", "disown", "echo",
    "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
    "logout", "popd", "printf", "pushd", "pwd", "read", "return", "set", "shift", "source", "test", "time", "times", "trap", "true", "type",
    "ulimit", "umask", "unset", "wait",
];

/// The most entries of such directories that are looked at.
const MAX_ENTRIES: usize = 20_000;

pub(crate) struct SearchPath<'a> {
    top: &'a Path,
    /// Directories of the working tree, and entries that are not absolute: they lead from wherever the user stands.
    inside: Vec<PathBuf>,
    outside: Vec<PathBuf>,
    /// What links in any of the directories lead to.
    linked: HashSet<PathBuf>,
}

impl<'a> SearchPath<'a> {
    /// `more` are further directories of the working tree, `links` its links.
    pub(crate) fn of(users: &UsersMachine, top: &'a Path, more: &[String], links: &TreeLinks) -> Self {
        let of_project = more.iter().map(|directory| top.join(directory));
        let variables = users.variables.iter().filter(|(name, _)| MORE.contains(&name.as_str()));
        let entries =
            users.search_path.iter().cloned().chain(variables.map(|(_, value)| PathBuf::from(value)));
        // A directory elsewhere may be a link into the project, and one of the project a link to another, also before they are there.
        let ways = entries.flat_map(|entry| {
            let text = entry.to_string_lossy();
            let entry = expand_home(&text, users.home.as_deref());
            match entry.is_absolute() {
                true => ways_of(&entry),
                false => ways_from_anywhere(&plain(&text), top, links),
            }
        });
        let ways = ways.chain(of_project);
        let (outside, inside): (Vec<_>, Vec<_>) =
            ways.partition(|entry| entry.is_absolute() && !entry.starts_with(top));
        let linked = programs_behind_links(inside.iter().chain(&outside), top, links);
        Self { top, inside, outside, linked }
    }

    /// Whether the user would run a file without knowing of the change: it is a program there already, or has the name of another one, or of a
    /// shell's own command, or a link that is there leads to it. A link in the place of a whole directory always counts. Any other new file has a
    /// name that nobody types yet.
    pub(crate) fn is_changed_by(&self, changed: &ChangedFile) -> bool {
        let file = self.top.join(&changed.path);
        let is_link = changed.mode == LINK;
        let is_old_program = !changed.is_addition && (is_link || changed.mode == PROGRAM);
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
        let others = self.outside.iter().chain(self.inside.iter().filter(|entry| *entry != directory));
        let mut others = others.filter(|entry| entry.is_absolute());
        let is_known = || SHELL_COMMANDS.iter().any(|command| name == *command);
        !changed.is_deletion()
            && (self.linked.contains(&file)
                || is_link && self.inside.iter().any(leads_there)
                || self.inside.iter().any(is_on_path)
                    && (is_old_program || is_known() || others.any(|entry| entry.join(name).exists())))
    }
}

/// An entry that leads from wherever the user stands, and the directories of the working tree that links in its place lead to.
fn ways_from_anywhere(entry: &str, top: &Path, links: &TreeLinks) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(entry)];
    // From the top, also through links that are not committed.
    found.extend(ways_of(&top.join(entry)).into_iter().filter(|way| way.starts_with(top) && way != top));
    let parts = || Path::new(entry).ancestors().filter(|part| !part.as_os_str().is_empty());
    for link in links.paths() {
        for part in parts().filter(|part| Path::new(link).ends_with(part)) {
            let rest = Path::new(entry).strip_prefix(part).unwrap_or(Path::new(""));
            let ways = links.ways_of(&Path::new(link).join(rest).to_string_lossy());
            found.extend(ways.into_iter().map(|way| top.join(way)));
        }
    }
    found
}

/// The files of the working tree that links in the directories lead to. Links that are only in the new commit do not count: nobody types their
/// names yet.
fn programs_behind_links<'p>(
    directories: impl Iterator<Item = &'p PathBuf>,
    top: &Path,
    links: &TreeLinks,
) -> HashSet<PathBuf> {
    let directories: HashSet<&PathBuf> = directories.collect();
    let (absolute, relative): (Vec<&PathBuf>, Vec<_>) =
        directories.into_iter().partition(|directory| directory.is_absolute());
    let entries = absolute.into_iter().flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let entries = entries.flatten().take(MAX_ENTRIES).map(|entry| entry.path());
    let is_below = |link: &PathBuf| {
        let directory = link.parent();
        relative.iter().any(|entry| directory.is_some_and(|directory| directory.ends_with(entry)))
    };
    let committed = links.paths().map(|link| top.join(link)).filter(is_below);
    let programs = entries.chain(committed).filter(|path| path.is_symlink());
    let ways = programs.flat_map(|link| ways_of(&link).into_iter().filter(move |way| *way != link));
    ways.filter(|way| way.starts_with(top)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::{LINK, PROGRAM, SearchPath};
    use crate::changed_file::ChangedFile;
    use crate::hub::UsersMachine;
    use crate::tree_links::TreeLinks;

    const FILE: &str = "100644";

    fn added(path: &str, mode: &str) -> ChangedFile {
        let (mode, path) = (mode.to_owned(), path.to_owned());
        ChangedFile { is_addition: true, mode, hash: String::new(), path }
    }

    fn changed(path: &str, mode: &str) -> ChangedFile {
        ChangedFile { is_addition: false, ..added(path, mode) }
    }

    #[test]
    fn a_program_on_the_search_path_acts_if_it_was_one_or_has_a_known_name() {
        let top = Path::new("/project");
        let path = ["tools", "./scripts", "/project/.venv/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let users = UsersMachine { search_path: path.to_vec(), ..UsersMachine::default() };
        let search_path = SearchPath::of(&users, top, &["direnv/bin".to_owned()], &TreeLinks::default());
        for (file, expected) in [
            (added(".venv/bin/sh", PROGRAM), true),
            (added(".venv/bin/our-own", PROGRAM), false),
            (changed(".venv/bin/our-own", PROGRAM), true),
            (changed(".venv/bin/our-own", LINK), true),
            (changed(".venv/bin/README", FILE), false),
            (changed(".venv/bin/our-own", "000000"), false),
            (changed(".venv/bin/deep/our-own", PROGRAM), false),
            (added(".venv/bin/source", PROGRAM), true),
            (added(".venv/bin", LINK), true),
            (added(".venv", LINK), true),
            (added(".venv", FILE), false),
            (added("tools", LINK), true),
            (added("tools/sh", PROGRAM), true),
            (added("deep/tools/sh", PROGRAM), true),
            (added("scripts/sh", PROGRAM), true),
            (added("direnv/bin/sh", PROGRAM), true),
            (added("direnv/bin/new", PROGRAM), false),
            (changed("direnv/bin/new", PROGRAM), true),
            (added("src/sh", PROGRAM), false),
            (added("src", LINK), false),
            (added("sh", PROGRAM), false),
        ] {
            let shown = (&file.path, &file.mode, file.is_addition);
            assert_eq!(search_path.is_changed_by(&file), expected, "{shown:?}");
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
            let search_path = SearchPath::of(&users, &top, &[], &TreeLinks::default());
            assert!(search_path.is_changed_by(&added("bin/sh", PROGRAM)), "{entry}");
            assert!(search_path.is_changed_by(&added("bin", LINK)), "{entry}");
            for file in ["bin/our-own", "src/sh", "sh"] {
                assert!(!search_path.is_changed_by(&added(file, PROGRAM)), "{entry}: {file}");
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
        let search_path = SearchPath::of(&users, Path::new("/project"), &[], &TreeLinks::default());
        assert!(search_path.is_changed_by(&added("sh", PROGRAM)));
        assert!(!search_path.is_changed_by(&added("main.c", FILE)));
    }
    #[test]
    fn links_among_programs_and_in_the_place_of_directories_are_followed() {
        let directory = tempfile::tempdir().expect("made");
        let home = directory.path().canonicalize().expect("there");
        let top = home.join("project");
        for made in ["project/bin", "project/lib", "project/real", "project/web", "own"] {
            std::fs::create_dir_all(home.join(made)).expect("made");
        }
        let committed = [
            ("bin/mytool", "../lib/t.sh"),
            ("bin/sub", "../real"),
            ("tools", "real"),
            ("web/tools", "../real"),
        ];
        for (link, target) in committed {
            symlink(target, top.join(link)).expect("linked");
        }
        symlink(top.join("lib/own.sh"), home.join("own/mine")).expect("linked");
        let links = TreeLinks::new(committed.into_iter());
        for (entry, file, expected) in [
            ("$TOP/bin", changed("lib/t.sh", PROGRAM), true),
            ("$TOP/bin", changed("lib/t.sh", FILE), true),
            ("$TOP/bin", added("lib/t.sh", PROGRAM), true),
            ("bin", changed("lib/t.sh", PROGRAM), true),
            ("$TOP/bin", changed("lib/other.sh", PROGRAM), false),
            ("$HOME/own", changed("lib/own.sh", PROGRAM), true),
            ("tools", added("real/sh", PROGRAM), true),
            ("bin/sub", added("real/sh", PROGRAM), true),
            ("bin/sub", changed("real/mine", PROGRAM), true),
            ("bin/sub", added("real/mine", PROGRAM), false),
            ("$TOP/tools", added("real/sh", PROGRAM), true),
            ("other", added("real/sh", PROGRAM), false),
        ] {
            let path = entry
                .replace("$TOP", &top.display().to_string())
                .replace("$HOME", &home.display().to_string());
            let search_path = vec![PathBuf::from(path), PathBuf::from("/bin")];
            let users = UsersMachine { search_path, ..UsersMachine::default() };
            let search_path = SearchPath::of(&users, &top, &[], &links);
            assert_eq!(search_path.is_changed_by(&file), expected, "{entry}: {} {}", file.path, file.mode);
        }
    }
}
