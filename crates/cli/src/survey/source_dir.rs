//! A directory whose files are looked at. They are a repository's, so they may be anything: what cannot be read is as good as missing.

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_files::{DOCUMENT_LIMIT, find_regular, read_text};
use serde_json::Value;

/// Entries of a directory that are looked at.
const MAX_ENTRIES: usize = 4096;

pub struct SourceDir(PathBuf);

impl SourceDir {
    pub fn root(root: &Path) -> Self {
        Self(root.to_owned())
    }

    pub fn below(root: &Path, name: &str) -> Self {
        Self(root.join(name))
    }

    pub fn has(&self, file: &str) -> bool {
        find_regular(&self.0.join(file)).is_ok_and(|found| found.is_some())
    }

    pub fn has_directory(&self, name: &str) -> bool {
        self.0.join(name).is_dir()
    }

    /// The first of these files that exists.
    pub fn first(&self, files: &[&'static str]) -> Option<&'static str> {
        files.iter().find(|file| self.has(file)).copied()
    }

    /// Empty if there is no such text file.
    pub fn text(&self, file: &str) -> String {
        read_text(&self.0.join(file), DOCUMENT_LIMIT).ok().flatten().unwrap_or_default()
    }

    /// Null if there is no such file, or it is not JSON.
    pub fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.text(file)).unwrap_or_default()
    }

    /// Empty if there is no such file, or it is not TOML.
    pub fn toml(&self, file: &str) -> toml::Table {
        self.text(file).parse().unwrap_or_default()
    }

    /// Whether the directory, or this one below it, has a file whose name is accepted.
    pub fn has_file_like(&self, below: &str, accept: impl Fn(&str) -> bool) -> bool {
        let entries = fs::read_dir(self.0.join(below)).into_iter().flatten().flatten().take(MAX_ENTRIES);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| accept(&name))
    }
}

/// Whether an object has any member; of nothing else.
pub fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}
