//! A checkout without files that may decide what a check shows.

use std::fs;
use std::io;
use std::path::Path;

use autonoe_files::remove_tree;

use crate::manifest_before::with_settings_before;

/// Names of files without which nothing is built or run at all, so that a check without them shows nothing. Those of a row are read in each
/// other's place.
const NEEDED: &[&[&str]] = &[
    &[".justfile", "Justfile", "justfile"],
    &["GNUmakefile", "Makefile", "makefile"],
    &["Rakefile", "rakefile"],
    &["Taskfile.yaml", "Taskfile.yml"],
    &["build.rs"],
    &["deno.json", "deno.jsonc"],
    &["go.work"],
    &["gradle.properties"],
    &["noxfile.py"],
    &["rust-toolchain", "rust-toolchain.toml"],
];

/// Files with sections for test runners beside others that a build needs.
const WITH_SECTIONS: [&str; 3] = ["pyproject.toml", "setup.cfg", "tox.ini"];

/// Beginnings of these sections.
const SECTIONS: [&str; 4] = ["[tool.pytest", "[tool:pytest", "[pytest", "[tool.coverage"];

/// Whether a check without the file could still show something: nothing needs it, or one that is read in its place stays.
pub(crate) fn is_dispensable(path: &str, stays: impl Fn(&str) -> bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let directory = path.strip_suffix(name).unwrap_or_default();
    let row = NEEDED.iter().find(|row| row.contains(&name));
    row.is_none_or(|row| row.iter().any(|other| *other != name && stays(&format!("{directory}{other}"))))
}

/// Removes the file or directory, or from a file that a build needs too, what it says to test runners.
pub(crate) fn remove_settings(path: &Path) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let metadata = path.symlink_metadata()?;
    if metadata.is_dir() {
        return remove_tree(path);
    }
    match fs::read_to_string(path) {
        // What is left is still a package.
        Ok(_) if name == "__init__.py" => fs::write(path, ""),
        Ok(text) if WITH_SECTIONS.contains(&name) && metadata.is_file() => {
            fs::write(path, without_sections(&text))
        }
        _ => fs::remove_file(path),
    }
}

/// Gives a manifest of Cargo the settings for tests that it had `before`.
pub(crate) fn set_settings(manifest: &Path, before: &str) -> io::Result<()> {
    let is_file = manifest.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    match fs::read_to_string(manifest) {
        Ok(text) if is_file => fs::write(manifest, with_settings_before(&text, before)),
        _ => Ok(()),
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
        let is_dispensable = |path| is_dispensable(path, |other| ["a/Makefile", "justfile"].contains(&other));
        for path in ["tests/conftest.py", "pyproject.toml", "a/makefile", "a/GNUmakefile", "Justfile"] {
            assert!(is_dispensable(path), "{path}");
        }
        for path in ["crate/build.rs", "makefile", "b/GNUmakefile", "justfile", "a/justfile"] {
            assert!(!is_dispensable(path), "{path}");
        }
    }
}
