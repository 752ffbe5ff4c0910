//! A checkout without files that may decide what a check shows.

use std::fs;
use std::io;
use std::path::Path;

use autonoe_files::remove_tree;

/// Ends of paths of files without which nothing is built or run at all, so that a check without them shows nothing.
const NEEDED: &[&str] = &[
    ".justfile",
    "Justfile",
    "Rakefile",
    "Taskfile.yaml",
    "Taskfile.yml",
    "build.rs",
    "deno.json",
    "deno.jsonc",
    "go.work",
    "gradle.properties",
    "justfile",
    "makefile",
    "noxfile.py",
    "rakefile",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Files with sections for test runners beside others that a build needs.
const WITH_SECTIONS: [&str; 3] = ["pyproject.toml", "setup.cfg", "tox.ini"];

/// Beginnings of these sections.
const SECTIONS: [&str; 4] = ["[tool.pytest", "[tool:pytest", "[pytest", "[tool.coverage"];

/// Whether a check without the file could still show something.
pub(crate) fn is_dispensable(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    !NEEDED.contains(&name)
}

/// Removes the file or directory, or from a file that a build needs too, what it says to test runners.
pub(crate) fn remove_settings(path: &Path) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let metadata = path.symlink_metadata()?;
    if metadata.is_dir() {
        return remove_tree(path);
    }
    match fs::read_to_string(path) {
        Ok(text) if WITH_SECTIONS.contains(&name) && metadata.is_file() => {
            fs::write(path, without_sections(&text))
        }
        _ => fs::remove_file(path),
    }
}

fn without_sections(text: &str) -> String {
    let mut is_for_runners = false;
    let is_kept = |line: &&str| {
        let line = line.trim_start();
        if line.starts_with('[') {
            let header: String = line.split_whitespace().collect();
            is_for_runners =
                SECTIONS.iter().any(|section| header.trim_start_matches('[').starts_with(&section[1..]));
        }
        !is_for_runners
    };
    text.split_inclusive('\n').filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_dispensable, without_sections};

    #[test]
    fn a_build_keeps_what_it_needs() {
        let project = "[project]\nname = 'calc'\n[tool.pytest.ini_options]\naddopts = '-p evil'\n\n[ tool . coverage . run ]\nx = 1\n\
            [build-system]\nrequires = ['setuptools']\n";
        assert_eq!(
            without_sections(project),
            "[project]\nname = 'calc'\n[build-system]\nrequires = ['setuptools']\n"
        );
        assert_eq!(without_sections("[tox]\nenv = a\n[pytest]\naddopts = x\n"), "[tox]\nenv = a\n");
        assert!(is_dispensable("tests/conftest.py") && is_dispensable("pyproject.toml"));
        assert!(!is_dispensable("crate/build.rs"));
    }
}
