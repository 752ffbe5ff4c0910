//! Names by which test runners find tests.

use autonoe_core::check::Check;
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::judge_languages::JudgeLanguages;
use crate::language_files::SCRIPTS;

/// Whether a test runner that looks for tests would load it.
pub(crate) fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let begins = |starts: &[&str]| starts.iter().any(|start| stem.starts_with(start));
    let ends = |ends: &[&str]| ends.iter().any(|end| stem.ends_with(end));
    match ending {
        "py" => begins(&["test"]) || ends(&["_test"]),
        "rb" => begins(&["test_"]) || ends(&["_spec", "_test"]),
        "go" => ends(&["_test"]),
        "lua" | "dart" | "exs" => ends(&["_spec", "_test"]),
        "groovy" | "java" | "kt" | "php" | "scala" => {
            ends(&["Test", "TestCase", "Tests"]) || is_java_test(stem)
        }
        "bats" | "t" => true,
        _ if SCRIPTS.contains(&ending) => {
            let is_word = |word: &str| ["spec", "test"].contains(&word);
            let words = || stem.split(['.', '-', '_']);
            words().next_back().is_some_and(is_word)
                || words().next() == Some("test")
                || ["/__tests__/", "/test/"].iter().any(|part| format!("/{path}").contains(part))
        }
        _ => false,
    }
}

/// Words in the names of directories and programs that judge.
const OF_TESTS: [&str; 8] = ["__tests__", "check", "checks", "spec", "specs", "t", "test", "tests"];

/// Whether it is in a directory for tests, or its own name says that it is one.
pub(crate) fn is_in_tests(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let mut words = stem.split(['-', '_']);
    directories.split('/').any(|directory| OF_TESTS.contains(&directory))
        || words.any(|word| word.len() > 1 && OF_TESTS.contains(&word))
}

/// `TestCalc`, not `Testimony`.
fn is_java_test(class: &str) -> bool {
    class.strip_prefix("Test").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Words of commands that load all files of a pattern as tests.
const RUNNERS: [&str; 16] = [
    "--test", "ava", "bats", "busted", "go", "jasmine", "jest", "mocha", "nose2", "phpunit", "prove",
    "pytest", "rspec", "tap", "unittest", "vitest",
];

/// Patterns by which the commands of checks have runners look for tests, such as those of `unittest discover -p 'check_*.py'`.
pub(crate) struct TestPatterns(GlobSet);

impl TestPatterns {
    pub(crate) fn of<'c>(checks: impl IntoIterator<Item = &'c Check>) -> Self {
        let commands = checks.into_iter().flat_map(|check| check.setup.iter().chain([&check.command]));
        let statements = commands.flat_map(|command| command.split(['\n', ';', '&', '|']));
        let mut patterns = GlobSetBuilder::new();
        for statement in statements {
            let words = || statement.split(|c: char| c.is_whitespace() || "\"'=".contains(c));
            let is_runner = |word: &str| RUNNERS.contains(&word.rsplit('/').next().unwrap_or_default());
            let names = words().filter_map(|word| word.rsplit('/').next()).filter(|_| words().any(is_runner));
            let globs = names.filter(|name| name.contains(['*', '?', '['])).map(Glob::new);
            for glob in globs.flatten() {
                patterns.add(glob);
            }
        }
        Self(patterns.build().unwrap_or_default())
    }

    pub(crate) fn is_match(&self, path: &str) -> bool {
        path.rsplit('/').next().is_some_and(|name| self.0.is_match(name))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where the test runners of a check look for tests.
pub(crate) enum TestPlaces {
    Everywhere,
    /// In these files and directories only.
    In(Vec<String>),
}

impl TestPlaces {
    /// `texts` are the commands and scripts, `exists` says whether the project has a file or directory.
    pub(crate) fn of(texts: &[String], judges: &JudgeLanguages, exists: impl Fn(&str) -> bool) -> Self {
        if judges.are_unknown {
            return Self::Everywhere;
        }
        let mut places = Vec::new();
        for statement in texts.iter().flat_map(|text| text.split(['\n', ';', '&', '|'])) {
            let words = || statement.split(|c: char| c.is_whitespace() || "\"'=".contains(c));
            if !words().any(|word| RUNNERS.contains(&word.rsplit('/').next().unwrap_or_default())) {
                continue;
            }
            let named = words().map(|word| word.trim_start_matches("./").trim_end_matches('/'));
            // Of a pattern, the directories before it.
            let named = named.map(|word| match word.find(['*', '?', '[']) {
                Some(at) => word[..at].rsplit_once('/').map_or("", |(directory, _)| directory),
                None => word,
            });
            let found: Vec<String> =
                named.filter(|word| !word.is_empty() && exists(word)).map(str::to_owned).collect();
            if found.is_empty() {
                return Self::Everywhere;
            }
            places.extend(found);
        }
        Self::In(places)
    }

    pub(crate) fn contain(&self, path: &str) -> bool {
        let is_below = |place: &String| {
            path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self {
            Self::Everywhere => true,
            Self::In(places) => places.iter().any(is_below),
        }
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::check::{Check, CheckOrigin};

    use super::{TestPatterns, TestPlaces, is_test_file};
    use crate::judge_languages::JudgeLanguages;

    #[test]
    fn runners_look_where_they_are_told_to() {
        for (text, path, is_found) in [
            ("node --test test/", "src/quiz.test.js", false),
            ("node --test test/", "test/more.test.js", true),
            ("node --test", "src/quiz.test.js", true),
            ("node spec/a.js", "src/quiz.test.js", false),
            ("sh test/run.sh", "app/test_math.py", false),
            ("python3 -m unittest discover -s test -t .", "test/test_more.py", true),
            ("python3 -m unittest discover -s test -t .", "app/test_math.py", false),
            ("import unittest\nunittest.main()", "app/test_math.py", true),
            ("make test", "app/test_math.py", true),
        ] {
            let texts = [text.to_owned()];
            let judges = JudgeLanguages::of(&texts, &[]);
            let places = TestPlaces::of(&texts, &judges, |path| path == "test");
            assert_eq!(places.contain(path), is_found, "{text}: {path}");
        }
    }

    #[test]
    fn patterns_of_commands_are_those_of_test_runners() {
        for (command, path, is_match) in [
            ("cd a && python3 -m unittest discover -p 'check_*.py'", "a/check_a.py", true),
            ("python3 -m unittest discover --pattern=check_*.py", "check_a.py", true),
            ("node --test 'checks/*.js'", "checks/a.js", true),
            ("npx mocha \"checks/**/*.mjs\"", "checks/b/a.mjs", true),
            ("npx mocha \"checks/**/*.mjs\"", "a.js", false),
            ("cc src/*.c -o calc; python3 -m unittest", "src/calc.c", false),
            ("python3 -m unittest", "calc.py", false),
        ] {
            let check = Check::of_command(command, CheckOrigin::User);
            assert_eq!(TestPatterns::of([&check]).is_match(path), is_match, "{command}");
        }
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "test_a.py",
            "x/testa.py",
            "a_test.py",
            "a_spec.rb",
            "test_a.rb",
            "a_test.go",
            "a.test.js",
            "src/a.spec.tsx",
            "test.js",
            "test-a.mjs",
            "a_test.cjs",
            "__tests__/a.js",
            "pkg/test/a.js",
            "src/test/java/ATest.java",
            "ATest.php",
            "TestA.java",
            "t/a.t",
            "a.bats",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "calc.py",
            "contest.py",
            "latest.js",
            "testing.js",
            "test.md",
            "a.go",
            "Contest.java",
            "Testimony.java",
            "t",
            "test/a.py",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
