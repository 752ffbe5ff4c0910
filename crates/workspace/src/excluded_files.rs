//! Files of a workspace that git ignores in addition to what the project's `.gitignore` files say, so that they are not committed.

use std::fs;
use std::io;

use autonoe_files::{SETTINGS_LIMIT, read_text};

use crate::git_settings::ignore_files;
use crate::hub::Hub;
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
        let all = [own.as_str(), &self.users_excludes(), included].concat();
        fs::write(workspace.exclude_file(), &all)?;
        fs::write(workspace.git_dir().join("info/exclude"), all)
    }

    /// What the user ignores in every repository.
    pub(crate) fn users_ignore_patterns(&self) -> String {
        let files = ignore_files(&self.repository(), &self.users);
        let texts = files.iter().filter_map(|file| read_text(file, SETTINGS_LIMIT).ok().flatten());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// What the user's own git ignores.
    fn users_excludes(&self) -> String {
        let shared = self.repository().directories.into_iter().next();
        let own = shared.map(|directory| directory.join("info/exclude"));
        let global = self.home().map(|home| home.join(".config/git/ignore"));
        let older = self.home().map(|home| home.join(".gitignore"));
        let files = own.into_iter().chain(global).chain(older);
        let texts = files.filter_map(|file| read_text(&file, SETTINGS_LIMIT).ok().flatten());
        texts.map(|text| format!("{text}\n")).collect()
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
