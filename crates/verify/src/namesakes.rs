//! Files with the names of accepted ones in other directories. A program that looks for a module or a header in several places takes the first
//! that it finds, and that may not be the protected one.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use autonoe_store::ProtectedPath;
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use crate::test_files::is_in_tests;

/// The most files that are looked at.
const MAX_FILES: usize = 200_000;

/// Endings of files that are looked for by their names.
const SEARCHED: [&str; 10] = [".h", ".hh", ".hpp", ".java", ".kt", ".php", ".pl", ".pm", ".py", ".rb"];

/// Names that files of many directories have, and that nobody looks for elsewhere.
const CUSTOMARY: [&str; 10] = [
    "Main.java",
    "Main.kt",
    "__init__.py",
    "__main__.py",
    "bootstrap.php",
    "conftest.py",
    "index.php",
    "module-info.java",
    "package-info.java",
    "spec_helper.rb",
];

/// Files that a program takes which is told to load their directory, and the ends of names of what it takes instead if that is beside the
/// directory.
const OF_DIRECTORIES: [(&str, &[&str]); 3] = [
    ("index", &["cjs", "cts", "js", "json", "jsx", "mjs", "mts", "node", "ts", "tsx"]),
    ("init", &["lua"]),
    ("package", &["cjs", "js", "json", "mjs", "node", "ts"]),
];

/// The names of accepted files that are looked for in several places.
#[derive(Debug, Default)]
pub(crate) struct Namesakes {
    names: HashSet<String>,
    paths: HashSet<String>,
    patterns: GlobSet,
}

impl Namesakes {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a ProtectedPath>) -> Self {
        let names: BTreeSet<String> = files.map(|file| name_of(&file.to_string()).to_owned()).collect();
        let is_searched = |name: &String| SEARCHED.iter().any(|ending| name.ends_with(ending));
        let is_own = |name: &String| is_searched(name) && !CUSTOMARY.contains(&name.as_str());
        Self { names: names.into_iter().filter(is_own).collect(), ..Self::default() }
    }

    /// What Node.js and Lua load in place of a directory that has a protected file for that: `lib.js` beside `lib/index.js`.
    pub(crate) fn in_place_of_directories<'a>(files: impl Iterator<Item = &'a ProtectedPath>) -> Self {
        let files = files.map(ToString::to_string);
        let paths = files.flat_map(|file| {
            let (directory, name) = file.rsplit_once('/').unwrap_or_default();
            let (stem, ending) = name.split_once('.').unwrap_or_default();
            let row = OF_DIRECTORIES.iter().filter(|(listed, _)| *listed == stem && !directory.is_empty());
            let row = row.filter(|(_, ends)| ends.contains(&ending)).flat_map(|(_, ends)| *ends);
            row.map(|end| format!("{directory}.{end}")).collect::<Vec<_>>()
        });
        Self { paths: paths.collect(), ..Self::default() }
    }

    /// Directories of protected tests that are not regular packages: Python imports a module or a package of that name instead, wherever it
    /// finds one.
    pub(crate) fn of_directories<'a>(files: impl Iterator<Item = &'a ProtectedPath>) -> Self {
        let files: BTreeSet<String> = files.map(ToString::to_string).collect();
        let tests = files.iter().filter(|file| file.ends_with(".py"));
        // Of a program with tests in it, the program is what its own files are.
        let is_of_tests = |top: &str, rest: &str| !rest.contains('/') || is_in_tests(&format!("{top}/x"));
        let directories = tests.filter_map(|file| file.split_once('/'));
        let directories = directories.filter(|(top, rest)| is_of_tests(top, rest)).map(|(top, _)| top);
        let is_namespace = |directory: &&str| !files.contains(&format!("{directory}/__init__.py"));
        let names = directories.filter(is_namespace).map(|directory| format!("{directory}.py")).collect();
        Self { names, ..Self::default() }
    }

    /// Protected programs that commands find by their names: in the directories of `PATH`, with `find`, or with a wildcard.
    pub(crate) fn of_commands<'a>(
        files: impl Iterator<Item = &'a ProtectedPath>,
        commands: &[String],
    ) -> Self {
        let names: BTreeSet<String> = files.map(|file| name_of(&file.to_string()).to_owned()).collect();
        let is_found = |name: &String| {
            commands.iter().flat_map(|command| command.lines()).any(|line| {
                let mut words = line.split(|c: char| c.is_whitespace() || ends_word(c));
                let searches = ["PATH=", "find ", "ls-files", "ls -R"].iter().any(|word| line.contains(word));
                words.any(|word| match word.strip_suffix(name.as_str()) {
                    Some("") => searches,
                    Some(directory) => directory.ends_with('/') && directory.contains(['*', '?']),
                    None => false,
                })
            })
        };
        Self { names: names.into_iter().filter(is_found).collect(), ..Self::default() }
    }

    /// What commands find by the patterns by which they find protected files, such as `git ls-files '*run.sh'`. Patterns of a mere ending find
    /// all files of a language, and most of these are the program.
    pub(crate) fn of_patterns<'a>(
        files: impl Iterator<Item = &'a ProtectedPath>,
        commands: &[String],
    ) -> Self {
        let files: Vec<String> = files.map(ToString::to_string).collect();
        let words =
            commands.iter().flat_map(|command| command.split(|c: char| c.is_whitespace() || ends_word(c)));
        let is_pattern = |word: &&str| {
            let name = name_of(word);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            word.contains(['*', '?', '[']) && stem.contains(char::is_alphanumeric)
        };
        let found: BTreeSet<&str> =
            words.filter(is_pattern).map(|word| word.trim_start_matches("./")).collect();
        let mut patterns = GlobSetBuilder::new();
        for glob in found.into_iter().filter_map(|word| Glob::new(word).ok()) {
            let matcher = glob.compile_matcher();
            if files.iter().any(|file| matcher.is_match(file) || matcher.is_match(name_of(file))) {
                patterns.add(glob);
            }
        }
        Self { patterns: patterns.build().unwrap_or_default(), ..Self::default() }
    }

    /// Whether a file, or the package of the file, has one of the names.
    pub(crate) fn has(&self, path: &str) -> bool {
        let package = || path.strip_suffix("/__init__.py").map(|package| format!("{}.py", name_of(package)));
        self.names.contains(name_of(path))
            || self.paths.contains(path)
            || self.patterns.is_match(path)
            || self.patterns.is_match(name_of(path))
            || package().is_some_and(|module| self.names.contains(&module))
    }
}

fn ends_word(c: char) -> bool {
    "\"'`();&|".contains(c)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Those below `root`.
pub(crate) fn namesakes_in(root: &Path, names: &Namesakes, cancel: &CancellationToken) -> BTreeSet<String> {
    if names.names.is_empty() {
        return BTreeSet::new();
    }
    let walk = WalkBuilder::new(root).standard_filters(false).follow_links(false).build();
    let files = walk.filter_map(Result::ok).take(MAX_FILES).take_while(|_| !cancel.is_cancelled());
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| names.has(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_store::ProtectedPath;
    use tokio_util::sync::CancellationToken;

    use super::{Namesakes, namesakes_in};

    #[test]
    fn modules_and_headers_of_the_same_name_are_found() {
        let accepted = ["tests/judge.py", "tests/judge.h", "tests/__init__.py", "tests/run.sh"];
        let accepted: Vec<ProtectedPath> = accepted.iter().map(|path| ProtectedPath::new(*path)).collect();
        let names = Namesakes::of(accepted.iter());
        let directory = tempfile::tempdir().unwrap();
        for path in [
            "judge.py",
            "src/judge.py",
            "lib/judge/__init__.py",
            "include/judge.h",
            "run.sh",
            "src/__init__.py",
        ] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = namesakes_in(directory.path(), &names, &CancellationToken::new());
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["include/judge.h", "judge.py", "lib/judge/__init__.py", "src/judge.py"]);
    }

    #[test]
    fn what_is_loaded_in_place_of_a_directory_is_beside_it() {
        let files = ["lib/index.js", "a/b/package.json", "lua/init.lua", "src/index.html", "index.js"];
        let files: Vec<ProtectedPath> = files.iter().map(|path| ProtectedPath::new(*path)).collect();
        let names = Namesakes::in_place_of_directories(files.iter());
        for path in ["lib.js", "lib.json", "a/b.js", "lua.lua"] {
            assert!(names.has(path), "{path}");
        }
        for path in ["src/lib.js", "lib/index.mjs", "lib.css", "lua.js", "src.js", "package.json", ".js"] {
            assert!(!names.has(path), "{path}");
        }
    }

    #[test]
    fn classes_directories_and_commands_have_namesakes() {
        let of = |paths: &[&str]| paths.iter().map(|path| ProtectedPath::new(*path)).collect::<Vec<_>>();
        let files = of(&["tests/CalcTest.java", "tests/Main.java"]);
        let names = Namesakes::of(files.iter());
        assert!(names.has("src/CalcTest.java") && !names.has("src/Main.java"));
        let names = |paths: &[&str]| Namesakes::of_directories(of(paths).iter());
        let tests = names(&["tests/unit/test_calc.py", "data/a.json"]);
        assert!(tests.has("src/tests.py") && tests.has("src/tests/__init__.py"));
        assert!(!tests.has("src/data.py") && !tests.has("src/unit.py"));
        assert!(!names(&["calc/unit/test_calc.py"]).has("src/calc/__init__.py"));
        assert!(!names(&["tests/__init__.py", "tests/test_calc.py"]).has("src/tests.py"));
        let names = |command: &str| {
            Namesakes::of_commands(of(&["tests/judge.sh", "tests/x"]).iter(), &[command.to_owned()])
        };
        for command in [
            "PATH=\"$PWD/bin:$PWD/tests:$PATH\" judge.sh",
            "sh \"$(find . -name judge.sh)\"",
            "sh */judge.sh",
            "sh $(git ls-files | grep judge.sh)",
        ] {
            assert!(names(command).has("bin/judge.sh") && !names(command).has("bin/x"), "{command}");
        }
        assert!(!names("cd tests && sh judge.sh").has("bin/judge.sh"));
        let names = |command: &str| {
            Namesakes::of_patterns(of(&["tests/unit/judge.sh", "t.py"]).iter(), &[command.to_owned()])
        };
        for command in [
            "sh $(git ls-files '*judge.sh' | head -1)",
            "sh \"$(find . -name 'judg*.sh')\"",
            "for t in ./*/*/judge.sh; do sh $t; done",
        ] {
            let names = names(command);
            assert!(names.has("a/b/judge.sh") && !names.has("a/other.sh"), "{command}");
        }
        for command in
            ["python3 -m py_compile *.py", "cat docs/*.md lib/*_judge.sh", "sh tests/unit/judge.sh"]
        {
            assert!(!names(command).has("a/judge.sh") && !names(command).has("calc.py"), "{command}");
        }
    }
}
