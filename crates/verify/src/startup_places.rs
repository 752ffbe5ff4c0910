//! Files of a home directory that interpreters and test tools read when they start. A program under test could write them and so act on
//! whatever judges it, so they are empty and, where the layer can do that, read-only in the rooms of checks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DIRECTORIES: [&str; 1] = [".bundle"];

/// Each costs time in every room, so these are the ones that change what a common test command does. The settings of git are not among them:
/// honest tests write them.
const FILES: [&str; 10] = [
    ".bash_profile",
    ".bashrc",
    ".cargo/config.toml",
    ".gradle/init.gradle",
    ".npmrc",
    ".profile",
    ".proverc",
    ".rspec",
    ".yarnrc.yml",
    ".zshenv",
];

/// Maven refuses an empty one.
const MAVEN_SETTINGS: (&str, &str) = (".m2/settings.xml", "<settings/>\n");

pub(crate) fn startup_places(home: &Path) -> impl Iterator<Item = PathBuf> {
    DIRECTORIES.into_iter().chain(FILES).chain([MAVEN_SETTINGS.0]).map(move |name| home.join(name))
}

/// Only what exists can be made read-only.
pub(crate) fn make_startup_places(home: &Path) -> io::Result<()> {
    DIRECTORIES.iter().try_for_each(|name| fs::create_dir_all(home.join(name)))?;
    FILES.into_iter().map(|name| (name, "")).chain([MAVEN_SETTINGS]).try_for_each(|(name, text)| {
        let file = home.join(name);
        fs::create_dir_all(file.parent().unwrap_or(home))?;
        fs::write(file, text)
    })
}
