//! Patterns of `protect`: relative to the project, and also to files beside it in the same repository (`../shared/**`).

use std::path::Path;

use autonoe_core::check::Check;
use autonoe_sandbox::Repository;
use autonoe_store::ProtectedPath;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtectPattern {
    /// The number of directories above the project's where it begins.
    pub(crate) up: usize,
    /// Without `.` and `..`.
    pub(crate) glob: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternProblem {
    #[error("`protect` has an empty pattern")]
    Empty,
    #[error("`protect` has the absolute path '{0}'; write it relative to the project")]
    Absolute(String),
    #[error("`protect` has `..` after a wildcard or in braces, in '{0}'; write a pattern for each directory")]
    ParentOfWildcard(String),
    #[error("`protect` has an invalid pattern: {0}")]
    Glob(#[from] globset::Error),
    #[error("'{0}' in `protect` is outside the repository; copy these files into it and protect the copy")]
    Outside(String),
}

impl ProtectPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternProblem> {
        if text.is_empty() {
            return Err(PatternProblem::Empty);
        }
        if text.starts_with('/') {
            return Err(PatternProblem::Absolute(text.to_owned()));
        }
        globset::Glob::new(text)?;
        let (mut up, mut parts) = (0, Vec::<&str>::new());
        for part in text.split('/') {
            match (part, parts.last()) {
                ("" | ".", _) => {}
                ("..", None) => up += 1,
                ("..", Some(last)) if !is_wild(last) => drop(parts.pop()),
                _ if part.split(['{', '}', ',']).any(|name| name == "..") => {
                    return Err(PatternProblem::ParentOfWildcard(text.to_owned()));
                }
                _ => parts.push(part),
            }
        }
        let glob = if parts.is_empty() { "**".to_owned() } else { parts.join("/") };
        Ok(Self { up, glob })
    }

    /// The names before the first wildcard.
    pub(crate) fn literal_prefix(&self) -> impl Iterator<Item = &str> {
        self.glob.split('/').take_while(|part| !is_wild(part))
    }

    /// The directory to which nothing may be added, or the one file. Where a pattern selects files by name in a whole tree, as
    /// `packages/**/*.test.js` does, builds write beside them; but not in a directory of tests.
    pub(crate) fn closed_path(&self) -> Option<ProtectedPath> {
        let names: Vec<&str> = self.literal_prefix().collect();
        let wild = self.glob.split('/').count() - names.len();
        let is_closed = wild <= 1 || names.iter().any(|name| TEST_DIRECTORIES.contains(name));
        let path = names.join("/");
        let is_there = is_closed && !path.is_empty();
        is_there.then(|| ProtectedPath::new(format!("{}{path}", "../".repeat(self.up))))
    }

    /// Globs of what programs load in place of the directory or the file: Python takes `tests.py` for the package `tests` and the package
    /// `test_a` for `test_a.py`, Node.js `tests.json` for `tests/`. Of directories, only those of tests count: `data.py` beside `data/` is an
    /// ordinary program.
    pub(crate) fn shadows(&self) -> Vec<String> {
        let names: Vec<&str> = self.literal_prefix().collect();
        let is_of_tests = names.last().is_some_and(|name| TEST_DIRECTORIES.contains(name));
        let directory = names.join("/");
        let modules = MODULES.iter().filter(|_| is_of_tests).map(|end| format!("{directory}{end}"));
        let header = self.glob.ends_with(".h") || self.glob.ends_with(".hpp");
        let compiled = [".gch", ".gch/**", ".pch"].iter().filter(|_| header);
        let compiled = compiled.map(|end| format!("{}{end}", self.glob));
        let file = self.name_and_ending().into_iter().flat_map(|(name, ending)| {
            loaded_in_place_of(ending).iter().map(move |end| format!("{name}{end}"))
        });
        modules.chain(compiled).chain(file).collect()
    }

    /// A pattern of files without their ending, and the ending; `None` if it has none, or if almost everything would have that name.
    fn name_and_ending(&self) -> Option<(&str, &str)> {
        let (before, ending) = self.glob.rsplit_once('.').filter(|(_, ending)| !ending.contains('/'))?;
        let name = before.rsplit('/').next().unwrap_or(before);
        let letters = name.chars().filter(|c| c.is_alphanumeric()).count();
        let is_named = letters > 1 || !is_wild(name);
        (is_named && !name.contains(['[', '{', '\\']) && !is_wild(ending)).then_some((before, ending))
    }
}

/// Ends of the names of modules in place of a directory.
const MODULES: [&str; 16] = [
    ".py", ".pyc", ".pyd", ".so", ".*.so", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx",
    ".json", ".node", ".rb",
];

/// Ends of the names of what is loaded in place of a file with this ending, if its program is named without the ending, or is built.
pub(crate) fn loaded_in_place_of(ending: &str) -> &'static [&'static str] {
    match ending {
        "py" => &["", "/**", ".pyc", ".pyd", ".so", ".*.so"],
        "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx" => {
            &["", "/**", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".json", ".node"]
        }
        "lua" | "rb" => &["", "/**", ".so"],
        "pm" => &[".pmc"],
        "erl" | "ex" | "exs" => &[".beam"],
        "c" | "cc" | "cpp" | "cxx" | "go" | "hs" | "java" | "kt" | "m" | "ml" | "swift" | "zig" => {
            &["", ".a", ".class", ".exe", ".o", ".obj", ".so"]
        }
        "rs" => &["", "/**"],
        "bash" | "sh" => &[""],
        _ => &[],
    }
}

/// The usual names of directories that contain nothing but tests.
const TEST_DIRECTORIES: [&str; 9] =
    ["__tests__", "e2e", "integration-tests", "spec", "specs", "t", "test", "testing", "tests"];

/// Whether a file is one that nothing loads as code or data, whatever its name is.
pub(crate) fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["adoc", "html", "md", "pdf", "rst", "svg"].contains(&ending))
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

/// What is wrong with the patterns of a check in the project at `root`.
pub(crate) fn find_pattern_problem(check: &Check, root: &Path) -> Result<(), PatternProblem> {
    let repository = Repository::around(root);
    let depth = root.strip_prefix(repository.top(root)).map_or(0, |part| part.components().count());
    for text in &check.protect {
        if ProtectPattern::parse(text)?.up > depth {
            return Err(PatternProblem::Outside(text.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ProtectPattern;

    #[test]
    fn a_pattern_may_begin_above_the_project() {
        for (text, up, glob) in [
            ("tests/**", 0, "tests/**"),
            ("./tests/", 0, "tests"),
            ("../shared/**", 1, "shared/**"),
            ("tests/../../shared/*.sh", 1, "shared/*.sh"),
            ("./../../a", 2, "a"),
            ("..", 1, "**"),
        ] {
            let expected = ProtectPattern { up, glob: glob.to_owned() };
            assert_eq!(ProtectPattern::parse(text), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("", "empty"),
            ("/etc/passwd", "absolute"),
            ("*/../x", "after a wildcard"),
            ("{../a,b}/**", "in braces"),
            ("a[", "invalid pattern"),
        ] {
            let problem = ProtectPattern::parse(text).expect_err(text).to_string();
            assert!(problem.contains(words), "{problem}");
        }
    }
}
