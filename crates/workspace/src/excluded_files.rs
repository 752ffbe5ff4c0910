//! Files of a workspace that git ignores in addition to what the project's `.gitignore` files say, so that they are not committed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::Fault;
use autonoe_files::{ReadError, SETTINGS_LIMIT, read_bytes, read_text};

use crate::hub::Hub;
use crate::ignore_settings::ignore_files;
use crate::workspace::Workspace;

impl Hub {
    /// Excludes our own files, what the user's own git ignores, and what was included in the workspace before.
    pub(crate) fn write_excludes(&self, workspace: &Workspace) -> io::Result<()> {
        self.exclude_with(workspace, &included_patterns(workspace))
    }

    /// Excludes these paths in addition, which the user wants in the workspace and not in commits.
    pub(crate) fn exclude_included(&self, workspace: &Workspace, paths: &[String]) -> io::Result<()> {
        // What an earlier run has included may still be there until the workspace is filled again.
        let earlier = included_patterns(workspace);
        let now: String = paths.iter().map(|path| pattern(path)).collect();
        fs::write(workspace.included_file(), &now)?;
        let is_new = |line: &&str| !earlier.lines().any(|other| other == *line);
        let new: String = now.lines().filter(is_new).map(|line| format!("{line}\n")).collect();
        self.exclude_with(workspace, &format!("{earlier}{new}"))
    }

    /// Writes the patterns where git looks for them, and where agents cannot change them.
    fn exclude_with(&self, workspace: &Workspace, included: &str) -> io::Result<()> {
        let own: String = workspace.own_files().iter().map(|path| pattern(path)).collect();
        let users = self.users_ignore_patterns().map_err(|fault| io::Error::other(fault.message))?;
        let all = [own.as_str(), &users, included].concat();
        fs::write(workspace.exclude_file(), &all)?;
        fs::write(workspace.git_dir().join("info/exclude"), all)
    }

    /// What the user's own git ignores beside what `.gitignore` files say: in every repository, and in this one.
    pub(crate) fn users_ignore_patterns(&self) -> Result<String, Fault> {
        let repository = self.repository();
        let everywhere = ignore_files(&repository, repository.top(self.root()), &self.users);
        let own = repository.directories.first().map(|shared| shared.join("info/exclude"));
        // The repository's own patterns decide over the others.
        everywhere.into_iter().chain(own).map(|file| self.patterns_in(&file)).collect()
    }

    /// Writes them to a file for a room, whose git reads none of the user's settings. It must not read `info/exclude` either, which may be a
    /// link to a place that the room does not have.
    pub(crate) fn write_users_ignore_patterns(&self, directory: &Path) -> Result<PathBuf, Fault> {
        let file = directory.join("ignored");
        fs::write(&file, self.users_ignore_patterns()?).map_err(|error| self.unwritable(&error))?;
        Ok(file)
    }

    /// The patterns in a file; none if there is no such file, or one that git would not read either.
    fn patterns_in(&self, file: &Path) -> Result<String, Fault> {
        match read_bytes(file, SETTINGS_LIMIT) {
            Ok(None) => Ok(String::new()),
            Ok(Some(bytes)) => {
                Ok(format!("{}\n", String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}')))
            }
            // Git would ignore what it names, so nothing may be taken for work of the user's.
            Err(error @ ReadError::TooLarge { .. }) => {
                let why =
                    format!("what git ignores is not known: {} cannot be read: {error}", file.display());
                Err(self.refused(&why, error.advice()))
            }
            Err(_) => Ok(String::new()),
        }
    }
}

/// Patterns of the files that `.worktreeinclude` brought into a workspace.
fn included_patterns(workspace: &Workspace) -> String {
    read_text(&workspace.included_file(), SETTINGS_LIMIT).ok().flatten().unwrap_or_default()
}

/// A line that excludes exactly one path.
fn pattern(path: &str) -> String {
    let mut line = "/".to_owned();
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | ' ') {
            line.push('\\');
        }
        line.push(c);
    }
    line.push('\n');
    line
}
