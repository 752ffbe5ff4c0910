//! Which languages judge: the commands of a check and the user's scripts that it protects name interpreters and test runners. What only a
//! runner of another language would read belongs to what is judged.

use crate::language_files::{SCRIPTS, is_environment};

/// Programs that run others, of any language.
#[rustfmt::skip]
const INDIRECT: [&str; 38] = [
    "act", "ant", "bazel", "bmake", "bun", "cmake", "ctest", "docker", "doit", "earthly", "gmake",
    "gradle", "gradlew", "invoke", "just", "lerna", "make", "meson", "mise", "mvn", "mvnw", "ninja",
    "nix", "npm", "npx", "nx", "pnpm", "podman", "pre-commit", "rake", "sbt", "task", "turbo", "uvx",
    "vite", "vitest", "yarn", "yarnpkg",
];

#[rustfmt::skip]
const PYTHON: [&str; 19] = [
    "behave", "coverage", "green", "hatch", "mypy", "nose2", "nox", "pdm", "pipenv", "poetry", "py.test", "pylint",
    "pyright", "pytest", "robot", "tox", "trial", "unittest", "uv",
];
#[rustfmt::skip]
const JAVASCRIPT: [&str; 11] =
    ["ava", "c8", "deno", "jasmine", "jest", "mocha", "node", "nodejs", "tap", "ts-node", "tsx"];
const SETTINGS_OF_PYTHON: [&str; 8] = [
    ".pytest.ini",
    ".pytest.toml",
    "nose2.cfg",
    "pytest.ini",
    "pytest.toml",
    "setup.cfg",
    "tox.ini",
    "unittest.cfg",
];
/// Words of what reads files of variables.
const READS_ENVIRONMENTS: [&str; 3] = ["BASH_ENV", "dotenv", "env"];

/// The languages of what judges.
pub(crate) struct JudgeLanguages {
    python: bool,
    javascript: bool,
    environments: bool,
    /// Whether some program may run others.
    pub(crate) are_unknown: bool,
    /// Whether Python may look for modules in the directory in which a check begins.
    pub(crate) search_the_top: bool,
    /// Whether something says where Python looks for modules.
    pub(crate) set_paths: bool,
}

impl JudgeLanguages {
    /// `texts` are the commands and scripts, `paths` those of the scripts.
    pub(crate) fn of(texts: &[String], paths: &[String]) -> Self {
        let words = || texts.iter().flat_map(|text| text.split(|c: char| !is_part(c)));
        let any = |names: &[&str]| words().any(|word| names.contains(&word));
        let indirect = any(&INDIRECT);
        let begins = |start: &str| words().any(|word| word.starts_with(start));
        let written = |endings: &[&str]| {
            paths
                .iter()
                .any(|path| path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending)))
        };
        let set_paths =
            indirect || texts.iter().any(|text| text.contains("PYTHONPATH") || text.contains("sys.path"));
        Self {
            are_unknown: indirect,
            search_the_top: set_paths || texts.iter().any(|text| text.lines().any(searches_the_top)),
            set_paths,
            python: indirect || any(&PYTHON) || begins("python") || begins("pypy") || written(&["py"]),
            javascript: indirect || any(&JAVASCRIPT) || written(&SCRIPTS),
            environments: indirect
                || any(&READS_ENVIRONMENTS)
                || begins("env-file")
                || texts.iter().any(|text| text.contains(".env")),
        }
    }

    /// Whether something that judges may read a file by itself.
    pub(crate) fn may_read(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            _ if is_environment(name) => self.environments,
            "py" | "pyc" | "pyd" | "pth" => self.python,
            _ if SETTINGS_OF_PYTHON.contains(&name) => self.python,
            _ if SCRIPTS.contains(&ending) => self.javascript,
            _ => true,
        }
    }
}

/// Whether a line runs Python so that it looks for modules where it is: as a module, with code, or with a program that is there.
fn searches_the_top(line: &str) -> bool {
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || ";&|()\"'".contains(c)).collect();
    words.iter().any(|word| {
        let is_here = word.ends_with(".py") && !word.trim_start_matches("./").contains('/');
        is_here
            || ["-", "-c", "-m"].contains(word)
            || PYTHON.contains(&word.rsplit('/').next().unwrap_or_default())
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::JudgeLanguages;

    #[test]
    fn only_what_judges_reads_settings_and_tests() {
        for (text, path, may_read) in [
            ("sh tests/run.sh", "lib/calendar.py", false),
            ("sh tests/run.sh", "src/api.spec.js", false),
            ("sh tests/run.sh", "templates/pytest.ini", false),
            ("sh tests/run.sh", ".env", false),
            ("sh tests/run.sh", "stdio.h", true),
            ("node --env-file=.env a.js", ".env", true),
            (". ./.env; ./calc", ".env", true),
            ("/usr/bin/python3.11 -m unittest", "calendar.py", true),
            ("python3 -m unittest", "src/api.spec.js", false),
            ("make test", "calendar.py", true),
            ("npm test", "calendar.py", true),
            ("node --test", "a.test.js", true),
        ] {
            let judges = JudgeLanguages::of(&[text.to_owned()], &[]);
            assert_eq!(judges.may_read(path), may_read, "{text}: {path}");
        }
        assert!(JudgeLanguages::of(&[], &["tests/a.py".to_owned()]).may_read("conftest.py"));
    }
}
