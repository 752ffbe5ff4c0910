//! C and C++, and projects of which only a Makefile is known.

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

/// The name where only a Makefile is known.
pub const UNKNOWN: &str = "Make";

const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Files of other languages, whose Makefile is only a way to call their own tools.
const OTHERS: [&str; 9] = [
    "Cargo.toml",
    "package.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "Gemfile",
    "composer.json",
    "pom.xml",
];

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let file = directory.first(&["CMakeLists.txt"]).or_else(|| directory.first(&MAKEFILES))?;
    let has_source = |endings: &[&str]| {
        let is_one = |name: &str| endings.iter().any(|ending| name.ends_with(ending));
        ["", "src"].iter().any(|below| directory.has_file_like(below, is_one))
    };
    let name = if has_source(&[".cpp", ".cc", ".cxx"]) {
        "C++"
    } else if has_source(&[".c"]) {
        "C"
    } else if file != "CMakeLists.txt" && directory.first(&OTHERS).is_none() {
        UNKNOWN
    } else {
        return None;
    };
    let (tool, commands, tests): (_, &'static [&'static str], _) = match file {
        "CMakeLists.txt" => {
            let command =
                "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure";
            let has_tests = directory.text(file).contains("enable_testing");
            ("CMake", &["cmake", "ctest"], has_tests.then(|| TestSuite::offline(command)))
        }
        _ => (
            "make",
            &[],
            make_target(&directory.text(file)).map(|target| TestSuite::offline(format!("make {target}"))),
        ),
    };
    Some(FoundLanguage { name, file: file.to_owned(), tool, profiles: &[], commands, hosts: &[], tests })
}

fn make_target(makefile: &str) -> Option<&'static str> {
    let has = |target: &str| {
        makefile.lines().any(|line| {
            let rest = line.strip_prefix(target).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    };
    ["test", "check", "tests"].into_iter().find(|target| has(target))
}
