//! Where a command may leave the shell: the possible working directories after it succeeded and after it failed.

use std::path::PathBuf;

/// The possible working directories after a command. Both lists are empty if it never returns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectoryFlow {
    pub succeeded: Vec<PathBuf>,
    pub failed: Vec<PathBuf>,
    /// Whether the command cannot fail, as far as the policy can see.
    pub certain: bool,
}

impl DirectoryFlow {
    pub fn both(directories: Vec<PathBuf>) -> Self {
        Self { succeeded: directories.clone(), failed: directories, certain: false }
    }

    /// Whether the command may end outside `directories`.
    pub fn changes_directory(&self, directories: &[PathBuf]) -> bool {
        self.succeeded.iter().chain(&self.failed).any(|directory| !directories.contains(directory))
    }

    /// The flow of a command that may fail without having run.
    pub fn or_skipped(self, directories: &[PathBuf]) -> Self {
        Self { failed: union(self.failed, directories.to_vec()), certain: false, ..self }
    }

    pub fn joined(self) -> Vec<PathBuf> {
        union(self.succeeded, self.failed)
    }

    pub fn never_returns(&self) -> bool {
        self.succeeded.is_empty() && self.failed.is_empty()
    }
}

/// The directories of both lists, each once.
pub fn union(mut left: Vec<PathBuf>, right: Vec<PathBuf>) -> Vec<PathBuf> {
    for directory in right {
        if !left.contains(&directory) {
            left.push(directory);
        }
    }
    left
}
