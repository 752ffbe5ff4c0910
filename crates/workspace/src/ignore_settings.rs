//! Which file has the patterns that the user's own git ignores in every repository: the last setting counts, as git reads them.

use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_sandbox::Repository;

use crate::git_settings::{expand_home, settings_of_variables, usual_files};
use crate::hub::UsersMachine;
use crate::settings_text::{Setting, parse};

/// The settings of the machine.
const SYSTEM: &str = "/etc/gitconfig";

/// How deep files of settings include others.
const MAX_DEPTH: usize = 10;

/// The most files of settings that are read.
const MAX_FILES: usize = 128;

/// The files with what the user ignores in every repository; several if conditions that only git knows decide. A relative path is one in the
/// working tree at `top`.
pub(crate) fn ignore_files(repository: &Repository, top: &Path, users: &UsersMachine) -> Vec<PathBuf> {
    let mut named = Named { home: users.home.as_deref(), values: Vec::new(), is_certain: false, files: 0 };
    for file in files_in_order(repository, users) {
        named.add_file(&file, Condition::Always, 0);
    }
    named.add(&settings_of_variables(&users.variables), top, Condition::Always, 0);
    let usual = usual_files("ignore", users).into_iter().filter(|_| !named.is_certain);
    // One that is empty turns the usual file off.
    let values = named.values.iter().filter(|value| !value.is_empty());
    usual.chain(values.map(|value| top.join(expand_home(value, named.home)))).collect()
}

/// The files of settings, those that decide over the others last.
fn files_in_order(repository: &Repository, users: &UsersMachine) -> Vec<PathBuf> {
    let variable = |wanted: &str| {
        let found = users.variables.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    let is_off = |value: &str| ["0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str());
    let system = match (variable("GIT_CONFIG_NOSYSTEM"), variable("GIT_CONFIG_SYSTEM")) {
        (Some(value), _) if !is_off(value) => None,
        (_, Some(file)) => Some(PathBuf::from(file)),
        _ => Some(PathBuf::from(SYSTEM)).filter(|file| users.git_settings.contains(file)),
    };
    let global = match variable("GIT_CONFIG_GLOBAL") {
        Some(file) => vec![expand_home(file, users.home.as_deref())],
        None => {
            let own = users.home.iter().map(|home| home.join(".gitconfig"));
            usual_files("config", users).into_iter().chain(own).collect()
        }
    };
    let shared = repository.directories.first().map(|git| git.join("config"));
    let has_more = shared.as_deref().is_some_and(|file| {
        let is_more = |setting: &Setting| setting.section == "extensions" && setting.key == "worktreeconfig";
        read(file).iter().any(|setting| is_more(setting) && !is_off(&setting.value))
    });
    let more = repository.directories.last().filter(|_| has_more).map(|git| git.join("config.worktree"));
    system.into_iter().chain(global).chain(shared).chain(more).collect()
}

/// Whether what a file says holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    /// As it is included under a condition.
    Perhaps,
}

/// The values of `core.excludesFile` that may hold.
struct Named<'a> {
    home: Option<&'a Path>,
    values: Vec<String>,
    /// Whether one of them holds under every condition.
    is_certain: bool,
    files: usize,
}

impl Named<'_> {
    fn add_file(&mut self, file: &Path, condition: Condition, depth: usize) {
        if depth > MAX_DEPTH || self.files == MAX_FILES {
            return;
        }
        self.files += 1;
        self.add(&read(file), file.parent().unwrap_or(Path::new("/")), condition, depth);
    }

    /// Adds the values of these settings, and of the files that they include, relative to `directory`.
    fn add(&mut self, settings: &[Setting], directory: &Path, condition: Condition, depth: usize) {
        for Setting { section, subsection, key, value } in settings {
            match (section.as_str(), subsection.as_str(), key.as_str()) {
                ("core", "", "excludesfile") => {
                    if condition == Condition::Always {
                        self.values.clear();
                        self.is_certain = true;
                    }
                    self.values.push(value.clone());
                }
                ("include", "", "path") => {
                    self.add_file(&directory.join(expand_home(value, self.home)), condition, depth + 1);
                }
                ("includeif", _, "path") => {
                    let file = directory.join(expand_home(value, self.home));
                    self.add_file(&file, Condition::Perhaps, depth + 1);
                }
                _ => {}
            }
        }
    }
}

fn read(file: &Path) -> Vec<Setting> {
    parse(&read_text(file, SETTINGS_LIMIT).ok().flatten().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use autonoe_sandbox::Repository;

    use super::ignore_files;
    use crate::hub::UsersMachine;

    /// A home directory, with a repository in `p`. In what is written there, `HOME` stands for its path.
    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("made");
        let home = directory.path().canonicalize().expect("there");
        let usual =
            [(".config/git/ignore", "usual\n"), ("one", "one\n"), ("two", "two\n"), ("p/own", "own\n")];
        autonoe_test_kit::git(&home, &["init", "-q", "p"]);
        for (name, content) in usual.iter().chain(files) {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            let content = content.replace("HOME", &home.display().to_string());
            fs::write(path, content).expect("written");
        }
        (directory, home)
    }

    /// Of some names, those that the user's own git ignores.
    fn ignored_by_git(home: &Path, variables: &[(String, String)]) -> Vec<String> {
        let output = Command::new("git")
            .args(["check-ignore", "usual", "moved", "one", "two", "own"])
            .current_dir(home.join("p"))
            .env_clear()
            .envs([("PATH", autonoe_test_kit::PATH), ("HOME", home.to_str().expect("text"))])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(variables.iter().cloned())
            .output()
            .expect("git is installed");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_patterns_are_those_that_git_reads() {
        let named = "[core]\n\texcludesFile = ~/one\n";
        let count = |number: &'static str, values: &[&'static str]| {
            let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), number.to_owned())];
            for (at, value) in values.iter().enumerate() {
                variables.push((format!("GIT_CONFIG_KEY_{at}"), "core.EXCLUDESfile".to_owned()));
                variables.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
            }
            variables
        };
        let one = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for (files, variables, expected) in [
            (&[][..], vec![], "usual"),
            (&[(".gitconfig", named)], vec![], "one"),
            (&[(".gitconfig", "[core]\n\texcludesFile =\n")], vec![], ""),
            (&[(".gitconfig", "[core]\n\texcludesFile = \"\"\n")], vec![], ""),
            (
                &[(".gitconfig", named), (".config/git/config", "[core]\n\texcludesFile = ~/two\n")],
                vec![],
                "one",
            ),
            (&[(".gitconfig", named), ("p/.git/config", "[core]\n\texcludesFile = own\n")], vec![], "own"),
            (&[(".gitconfig", named), ("p/.git/config", "[core]\n\texcludesFile =\n")], vec![], ""),
            (&[(".gitconfig", "[include]\n\tpath = more\n"), ("more", named)], vec![], "one"),
            (
                &[
                    (".gitconfig", "[include]\n\tpath = more\n[core]\n\texcludesFile = ~/two\n"),
                    ("more", named),
                ],
                vec![],
                "two",
            ),
            (&[("p/.git/config.worktree", named)], vec![], "usual"),
            (
                &[
                    (
                        "p/.git/config",
                        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n",
                    ),
                    ("p/.git/config.worktree", named),
                ],
                vec![],
                "one",
            ),
            (&[], count("1", &["~/one"]), "one"),
            (&[(".gitconfig", named)], count("1", &["HOME/two"]), "two"),
            (&[(".gitconfig", named)], count("2", &["HOME/two", ""]), ""),
            (&[], count("1", &["~/one", "~/two"]), "one"),
            (&[], one("GIT_CONFIG_PARAMETERS", "'a.b'='c' 'core.excludesFile'='HOME/one'"), "one"),
            (&[], one("GIT_CONFIG_PARAMETERS", "'core.excludesFile=HOME/two'"), "two"),
            (
                &[(".gitconfig", named), ("other", "[core]\n\tx = y\n")],
                one("GIT_CONFIG_GLOBAL", "HOME/other"),
                "usual",
            ),
            (
                &[(".gitconfig", named), ("other", "[core]\n\texcludesFile = ~/two\n")],
                one("GIT_CONFIG_GLOBAL", "HOME/other"),
                "two",
            ),
            (&[("a/git/config", "")], one("GIT_CONFIG_GLOBAL", "HOME/a/git/config"), "usual"),
            (&[("xdg/git/ignore", "moved\n")], one("XDG_CONFIG_HOME", "HOME/xdg"), "moved"),
            (&[], one("XDG_CONFIG_HOME", "HOME/xdg"), ""),
        ] {
            let (_directory, home) = home(files);
            let at_home = |value: &str| value.replace("HOME", &home.display().to_string());
            let variables: Vec<_> =
                variables.into_iter().map(|(name, value)| (name, at_home(&value))).collect();
            let case = format!("{files:?} {variables:?}");
            assert_eq!(ignored_by_git(&home, &variables).join(" "), expected, "git: {case}");
            let git_settings = variables.iter().filter_map(|(name, value)| match name.as_str() {
                "XDG_CONFIG_HOME" => Some(PathBuf::from(value).join("git/config")),
                "GIT_CONFIG_GLOBAL" => Some(PathBuf::from(value)),
                _ => None,
            });
            let git_settings = git_settings.collect();
            let users =
                UsersMachine { home: Some(home.clone()), variables, git_settings, ..UsersMachine::default() };
            let top = home.join("p");
            let files = ignore_files(&Repository::around(&top), &top, &users);
            let found: Vec<_> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
            assert_eq!(found.concat().trim(), expected, "{case}");
        }
    }

    #[test]
    fn what_is_included_under_a_condition_counts_beside_the_others() {
        let files = [
            (".gitconfig", "[includeIf \"gitdir:~/p/\"]\n\tpath = more\n"),
            ("more", "[core]\n\texcludesFile = ~/one\n"),
        ];
        let (_directory, home) = home(&files);
        let users = UsersMachine { home: Some(home.clone()), ..UsersMachine::default() };
        let top = home.join("p");
        let found = ignore_files(&Repository::around(&top), &top, &users);
        assert_eq!(found, [home.join(".config/git/ignore"), home.join("one")]);
    }
}
