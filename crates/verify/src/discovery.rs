//! Packages of Python that a test runner imports when it looks for tests: what their `__init__.py` says runs before any test.

use std::collections::HashMap;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_bytes_beneath};
use ignore::WalkBuilder;

/// The file that makes a directory a package.
pub(crate) const INIT: &str = "__init__.py";

/// Runners that import all packages below the directory in which they look for tests.
const RUNNERS: [&str; 4] = ["green", "nose2", "unittest", "xmlrunner"];

/// Their options behind which a value stands.
const WITH_VALUE: [&str; 10] = [
    "--pattern",
    "--start-directory",
    "--top-level-directory",
    "--durations",
    "-c",
    "-k",
    "-o",
    "-p",
    "-s",
    "-t",
];

/// The most programs that are looked at for what they import.
const MAX_PROGRAMS: usize = 5_000;

/// The directory of the package that a file makes one; `None` if it is another file. The top is none.
pub(crate) fn package_of(path: &str) -> Option<&str> {
    path.strip_suffix(INIT)?.strip_suffix('/')
}

/// The name under which `python3 -m` runs a file: a module at the top, or a package.
pub(crate) fn module_run_as(path: &str) -> Option<&str> {
    match path.strip_suffix("/__main__.py") {
        Some(package) => package.rsplit('/').next(),
        None => path.strip_suffix(".py").filter(|module| !module.contains('/')),
    }
}

/// Whether a command runs a module, and gives it something that `is_protected` to judge by.
pub(crate) fn is_run_with<'a>(
    mut commands: impl Iterator<Item = &'a String>,
    module: &str,
    is_protected: impl Fn(&str) -> bool,
) -> bool {
    commands.any(|command| {
        command.split(['\n', ';', '&', '|']).any(|statement| {
            let words = statement.split(|c: char| c.is_whitespace() || "\"'=".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let at = words
                .windows(2)
                .position(|pair| pair[0] == "-m" && pair[1].split('.').next() == Some(module));
            let is_judge = |word: &&str| is_protected(word.trim_start_matches("./").trim_end_matches('/'));
            at.is_some_and(|at| words[at + 2..].iter().any(is_judge))
        })
    })
}

/// Whether an `__init__.py` runs nothing.
pub(crate) fn runs_nothing(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Where the commands have a runner look for tests, from the top.
pub(crate) fn searched_for_tests<'a>(commands: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands {
        let mut directory = String::new();
        for statement in command.split(['\n', ';', '&', '|', '(', ')']) {
            let words = statement.split(|c: char| c.is_whitespace() || "\"'=,[]".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            if let ["cd", to, ..] = words[..] {
                directory = within(&directory, to);
            }
            // Tests themselves import it.
            let is_run = |at: &usize| match at.checked_sub(1) {
                Some(before) => words[before] == "-m",
                None => words[0] != "unittest",
            };
            let runner = words.iter().position(|word| RUNNERS.contains(word)).filter(is_run);
            if let Some(start) = runner.and_then(|at| start_of_search(&words[at + 1..])) {
                found.push(within(&directory, start));
            }
        }
    }
    found
}

/// `None` if tests are named.
fn start_of_search<'a>(options: &[&'a str]) -> Option<&'a str> {
    let is_asked = options.contains(&"discover");
    let mut start = None;
    let mut before = "";
    for word in options.iter().filter(|word| **word != "discover") {
        match before {
            "-s" | "--start-directory" => start = Some(*word),
            before if WITH_VALUE.contains(&before) => {}
            _ if word.starts_with('-') || word.contains(['<', '>']) => {}
            _ if !is_asked => return None,
            _ => start = start.or(Some(*word)),
        }
        before = word;
    }
    Some(start.unwrap_or("."))
}

fn within(directory: &str, path: &str) -> String {
    let parts = directory.split('/').chain(path.split('/'));
    parts.filter(|part| !["", ".", "$PWD"].contains(part)).collect::<Vec<_>>().join("/")
}

/// Whether a search for tests that begins in `start` imports a package: each directory on the way to it is one.
pub(crate) fn is_imported_from(start: &str, package: &str, is_package: impl Fn(&str) -> bool) -> bool {
    let below = match start {
        "" => Some(package),
        start => package.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/')),
    };
    let Some(below) = below else { return false };
    let below = below.trim_start_matches('/');
    let ends = below.match_indices('/').map(|(end, _)| &below[..end]);
    ends.into_iter().all(|directory| is_package(&within(start, directory)))
}

/// Whether one of the texts imports a package, or a part of it.
pub(crate) fn imports<'a>(mut texts: impl Iterator<Item = &'a String>, package: &str) -> bool {
    let name = package.rsplit('/').next().unwrap_or(package);
    texts.any(|text| text.lines().any(|line| imported(line).any(|imported| imported == name)))
}

/// Whether a word of the texts is its name.
pub(crate) fn mentions<'a>(mut texts: impl Iterator<Item = &'a String>, package: &str) -> bool {
    let name = package.rsplit('/').next().unwrap_or(package);
    texts.any(|text| text.split(|c| !is_part(c)).any(|word| word == name))
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names in an import.
fn imported(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start();
    let is_import = ["import ", "from "].iter().any(|start| line.starts_with(start));
    line.split(|c| !is_part(c)).filter(move |_| is_import).skip(1).filter(|word| !word.is_empty())
}

/// What programs below `root` import, by the last part of its name, with their directories.
pub(crate) struct Imports(HashMap<String, Vec<String>>);

impl Imports {
    pub(crate) fn of(root: &Path) -> Self {
        let walk = WalkBuilder::new(root).standard_filters(false).follow_links(false).build();
        let files = walk.filter_map(Result::ok);
        let paths =
            files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
        let mut found: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths.filter(|path| path.ends_with(".py")).take(MAX_PROGRAMS) {
            let text = read_bytes_beneath(root, Path::new(&path), SETTINGS_LIMIT).unwrap_or_default();
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            for name in String::from_utf8_lossy(&text).lines().flat_map(imported) {
                let places = found.entry(name.to_owned()).or_default();
                if places.last().is_none_or(|last| last != directory) {
                    places.push(directory.to_owned());
                }
            }
        }
        Self(found)
    }

    /// Whether something outside of a package imports it.
    pub(crate) fn have(&self, package: &str) -> bool {
        let name = package.rsplit('/').next().unwrap_or(package);
        let is_outside = |place: &String| {
            !place.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.get(name).is_some_and(|places| places.iter().any(is_outside))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        Imports, imports, is_imported_from, is_run_with, mentions, module_run_as, runs_nothing,
        searched_for_tests,
    };

    #[test]
    fn where_runners_look_for_tests() {
        for (command, found) in [
            ("python3 -m unittest", &[""][..]),
            ("python3 -m unittest -v -k add 2>&1 | tail", &[""]),
            ("python3 -m unittest discover -s tests -t .", &["tests"]),
            ("python3 -m unittest discover ./tests 'test_*.py'", &["tests"]),
            ("cd a && python3 -m unittest discover --start-directory=b", &["a/b"]),
            ("python3 -m unittest tests.test_calc", &[]),
            ("python3 -m coverage run -m unittest discover", &[""]),
            ("python3 -m pytest", &[]),
            ("nose2", &[""]),
            ("import sys, unittest\nimport unittest\nunittest.main()\n", &[]),
        ] {
            assert_eq!(searched_for_tests([&command.to_owned()]), found, "{command}");
        }
    }

    #[test]
    fn packages_are_imported_through_packages() {
        let is_package = |directory: &str| ["a", "tests"].contains(&directory);
        for (start, package, is_imported) in [
            ("", "a", true),
            ("", "a/b", true),
            ("", "src/app", false),
            ("tests", "tests/unit", true),
            ("tests", "aaa", false),
            ("tests", "tests2", false),
        ] {
            assert_eq!(is_imported_from(start, package, is_package), is_imported, "{start} {package}");
        }
    }

    #[test]
    fn modules_that_are_run_with_tests_are_told_from_programs() {
        for (command, module, is_run) in [
            ("python3 -m runner discover -s tests", "runner", true),
            ("python3 -m runner.cli ./tests/", "runner", true),
            ("python3 -m calc add 2 3", "calc", false),
            ("python3 -m calc; ls tests", "calc", false),
            ("python3 -m other tests", "runner", false),
        ] {
            let found = is_run_with([command.to_owned()].iter(), module, |path| path == "tests");
            assert_eq!(found, is_run, "{command}");
        }
        assert_eq!(module_run_as("src/runner/__main__.py"), Some("runner"));
        assert_eq!(module_run_as("runner.py"), Some("runner"));
        assert_eq!(module_run_as("src/runner.py"), None);
    }

    #[test]
    fn imports_are_told_from_other_words() {
        let text = ["# calc\nfrom calc.core import add as plus\nrun(['-m', 'tool'])\n".to_owned()];
        assert!(imports(text.iter(), "calc") && imports(text.iter(), "calc/core"));
        assert!(
            !imports(text.iter(), "tool") && mentions(text.iter(), "tool") && !mentions(text.iter(), "to")
        );
        assert!(runs_nothing("\n # x\n") && !runs_nothing("import os\n"));
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in
            [("aaa/x.py", "import aaa\n"), ("calc.py", "import app.core\n"), ("a.txt", "import b")]
        {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let imports = Imports::of(directory.path());
        assert!(imports.have("app") && imports.have("app/core"));
        assert!(!imports.have("aaa") && !imports.have("b"));
    }
}
