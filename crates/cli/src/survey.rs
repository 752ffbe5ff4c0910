//! Looks at a project: its languages, how it is tested, its repository and its CI. Reads files and runs nothing.
//!
//! Each language has a file of its own below, with a `find` function.

mod c;
mod deno;
mod go;
mod java;
mod node;
mod php;
mod python;
mod ruby;
mod rust;
mod source_dir;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use autonoe_core::profile::Profile;
use autonoe_sandbox::Repository;

use self::source_dir::SourceDir;

/// Subdirectories that are looked at, and of a directory with many, how many.
const MAX_SUBDIRECTORIES: usize = 64;

/// Languages that are named; a project with more describes itself better.
const MAX_LANGUAGES: usize = 8;

/// Directories that contain other people's code or what was built.
const NOT_SOURCES: [&str; 7] = ["node_modules", "target", "vendor", "dist", "build", "venv", "third_party"];

/// Files and directories of CI services.
const CI: [(&str, &str); 10] = [
    (".github/workflows", "GitHub Actions"),
    (".gitlab-ci.yml", "GitLab CI"),
    (".forgejo/workflows", "Forgejo Actions"),
    (".gitea/workflows", "Gitea Actions"),
    (".circleci/config.yml", "CircleCI"),
    (".woodpecker.yml", "Woodpecker CI"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    (".travis.yml", "Travis CI"),
    ("Jenkinsfile", "Jenkins"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSurvey {
    pub languages: Vec<FoundLanguage>,
    pub has_repository: bool,
    /// Each as its name and its file.
    pub ci: Vec<(&'static str, &'static str)>,
    /// Whether there are files other than Autonoe's and git's.
    pub has_files: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLanguage {
    pub name: &'static str,
    /// The file that shows it, relative to the project.
    pub file: String,
    /// The package manager or build tool.
    pub tool: &'static str,
    /// Empty if no profile has its commands.
    pub profiles: &'static [Profile],
    /// Commands of the tests that no profile has.
    pub commands: &'static [&'static str],
    /// Where its packages come from, if no profile allows that.
    pub hosts: &'static [&'static str],
    pub tests: Option<TestSuite>,
}

/// How the tests of a language are run on a clean checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSuite {
    /// One shell command in the root of the project, which also installs what the tests need.
    pub command: String,
    /// Whether it installs packages.
    pub needs_network: bool,
}

impl TestSuite {
    /// Tests that need no packages.
    fn offline(command: impl Into<String>) -> Self {
        Self { command: command.into(), needs_network: false }
    }

    /// `install` is `None` if there is nothing to install.
    fn with_install(install: Option<&str>, test: &str) -> Self {
        match install {
            Some(install) => Self { command: format!("{install} && {test}"), needs_network: true },
            None => Self::offline(test),
        }
    }
}

impl ProjectSurvey {
    pub fn of(root: &Path) -> Self {
        let mut languages = find_languages(&SourceDir::root(root));
        let below: Vec<_> = subdirectories(root)
            .into_iter()
            .flat_map(|name| {
                let found = find_languages(&SourceDir::below(root, &name));
                found.into_iter().map(move |language| (name.clone(), language))
            })
            // A part of what the root describes, or a Makefile that says little about the project.
            .filter(|(_, found)| {
                languages.iter().all(|known| !known.includes(found)) && found.name != c::UNKNOWN
            })
            .collect();
        languages.extend(below.into_iter().map(|(name, language)| language.in_directory(&name)));
        languages.truncate(MAX_LANGUAGES);
        let ours = [".git", ".autonoe", "SPEC.md"];
        let is_theirs = |entry: &fs::DirEntry| ours.iter().all(|name| entry.file_name() != *name);
        Self {
            languages,
            has_repository: !Repository::around(root).directories.is_empty(),
            ci: CI
                .into_iter()
                .filter(|(path, _)| root.join(path).exists())
                .map(|(path, name)| (name, path))
                .collect(),
            has_files: fs::read_dir(root).into_iter().flatten().flatten().any(|entry| is_theirs(&entry)),
        }
    }

    /// In the order of [`Profile::ALL`], each once; empty if they are not known for every language.
    pub fn profiles(&self) -> Vec<Profile> {
        if self.languages.iter().any(|language| language.profiles.is_empty() && language.commands.is_empty())
        {
            return Vec::new();
        }
        let found = |profile: &Profile| self.languages.iter().any(|one| one.profiles.contains(profile));
        Profile::ALL.into_iter().filter(found).collect()
    }

    /// Commands that no profile allows.
    pub fn commands(&self) -> Vec<&'static str> {
        each_once(self.languages.iter().flat_map(|language| language.commands))
    }

    /// Hosts of packages that no profile allows.
    pub fn hosts(&self) -> Vec<&'static str> {
        each_once(self.languages.iter().flat_map(|language| language.hosts))
    }
}

impl FoundLanguage {
    /// Of a language in the root: whether the other is the same, such as another package of its workspace.
    fn includes(&self, other: &Self) -> bool {
        self.name == other.name || self.file == other.file
    }

    fn in_directory(self, directory: &str) -> Self {
        let tests = self.tests.map(|tests| TestSuite {
            command: format!("cd {} && {}", quoted(directory), tests.command),
            ..tests
        });
        Self { file: format!("{directory}/{}", self.file), tests, ..self }
    }
}

fn each_once<'a>(words: impl Iterator<Item = &'a &'static str>) -> Vec<&'static str> {
    words.copied().collect::<BTreeSet<_>>().into_iter().collect()
}

fn find_languages(directory: &SourceDir) -> Vec<FoundLanguage> {
    let finders = [
        rust::find,
        node::find,
        deno::find,
        python::find,
        go::find,
        ruby::find,
        php::find,
        java::find,
        c::find,
    ];
    finders.iter().filter_map(|find| find(directory)).collect()
}

fn subdirectories(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
    let is_source = |name: &String| {
        !name.starts_with('.') && !name.contains(char::is_control) && !NOT_SOURCES.contains(&name.as_str())
    };
    let mut names: Vec<String> = names.filter(is_source).collect();
    names.sort();
    names.truncate(MAX_SUBDIRECTORIES);
    names
}

/// As a word of a shell command.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match word.chars().all(is_plain) && !word.starts_with('-') {
        true => word.to_owned(),
        false => format!("'./{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
