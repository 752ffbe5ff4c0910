use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::git;

/// A temporary directory with a project and, beside it, a home directory.
pub struct TestDirectory(TempDir);

impl Default for TestDirectory {
    fn default() -> Self {
        Self::below(&std::env::temp_dir())
    }
}

impl TestDirectory {
    /// For tests that show its path, whose length must not vary.
    pub fn below(parent: &Path) -> Self {
        let directory = Self(TempDir::new_in(parent).expect("temporary directory"));
        fs::create_dir(directory.root()).expect("project");
        fs::create_dir(directory.home()).expect("home");
        directory
    }

    pub fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    /// The project.
    pub fn root(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// A path in the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    #[track_caller]
    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(path, content).expect("written");
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub fn git_in(&self, directory: &Path, args: &[&str]) -> String {
        git(directory, args)
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root(), args)
    }

    /// Writes files and commits everything but the state of Autonoe. Returns the commit.
    #[track_caller]
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, content) in files {
            self.write(name, content);
        }
        self.git(&["add", "--all", ".", ":!.autonoe"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
        self.git(&["rev-parse", "HEAD"])
    }
}
