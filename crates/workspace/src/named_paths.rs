//! Files of the working tree that the user's own git settings and hooks name: git runs or reads them by itself, whatever they are called.

use std::fs;
use std::path::{Component, Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_start, read_text};
use autonoe_sandbox::Repository;

/// Bytes of a hook that are looked at, and the most hooks.
const HOOK_BYTES: u64 = 64 * 1024;
const MAX_HOOKS: usize = 64;

/// Paths relative to the top of the working tree.
#[derive(Debug, Default)]
pub(crate) struct NamedPaths(Vec<String>);

impl NamedPaths {
    /// Those that the settings and hooks of `repository`, whose working tree is `top`, and the settings in `home` name.
    pub(crate) fn of(repository: &Repository, top: &Path, home: Option<&Path>) -> Self {
        let mut found = Self::default();
        let own = repository.directories.iter();
        let own = own.flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
        let of_user =
            home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
        for file in own.chain(of_user) {
            let text = read_text(&file, SETTINGS_LIMIT).ok().flatten().unwrap_or_default();
            found.add_settings(&text, top);
        }
        for directory in repository.hooks() {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_HOOKS);
            let is_sample = |path: &PathBuf| path.extension().is_some_and(|end| end == "sample");
            for hook in entries.map(|entry| entry.path()).filter(|path| !is_sample(path)) {
                let real = hook.canonicalize().ok();
                found.0.extend(real.and_then(|real| relative(&real.display().to_string(), top)));
                let (text, _) = read_start(&hook, HOOK_BYTES).ok().flatten().unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let words = words(&text).filter(|word| word.contains('/'));
                found.0.extend(words.filter_map(|word| relative(word, top)));
            }
        }
        found
    }

    /// Whether a path is named, or in a directory that is.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.0.iter().any(|named| is_in(path, named))
    }

    fn add_settings(&mut self, text: &str, top: &Path) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let names_a_path = matches!(key.trim().to_ascii_lowercase().as_str(), "hookspath" | "path");
            let words = words(value).filter(|word| names_a_path || word.contains(['/', '.']));
            self.0.extend(words.filter_map(|word| relative(word, top)));
        }
    }
}

/// Whether `path` is `directory`, or in it.
pub(crate) fn is_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;&|()<>=,!${}[]#".contains(c);
    text.split(is_between).filter(|word| !word.is_empty())
}

/// A word as a path of the working tree, if it can be one. What it is relative to depends on the setting, so leading `../` are left out.
fn relative(word: &str, top: &Path) -> Option<String> {
    let path = Path::new(word);
    let path = match path.is_absolute() {
        true => path.strip_prefix(top).ok()?,
        false => path,
    };
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let joined = parts.collect::<Vec<_>>().join("/");
    (!joined.is_empty()).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_hooks_name_paths() {
        let directory = tempfile::tempdir().expect("made");
        let top = directory.path().canonicalize().expect("there");
        let git = top.join(".git");
        fs::create_dir_all(git.join("hooks")).expect("made");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let config = format!(
            "[core]\n\tbare = false\n\thooksPath = hooks-of-ours\n\tfsmonitor = ./tools/fsm.sh --fast\n[include]\n\tpath = ../.gitconfig\n\
             [filter \"x\"]\n\tclean = sh '{}/bin/clean' %f\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n",
            top.display()
        );
        fs::write(git.join("config"), config).expect("written");
        fs::write(git.join("hooks/commit-msg"), "#!/bin/sh\nexec scripts/check.py package.json\n")
            .expect("written");
        fs::write(git.join("hooks/pre-push.sample"), "exec other/check.py\n").expect("written");
        fs::create_dir(top.join("linked")).expect("made");
        fs::write(top.join("linked/pc.sh"), "").expect("written");
        std::os::unix::fs::symlink("../../linked/pc.sh", git.join("hooks/pre-commit")).expect("linked");
        let named = NamedPaths::of(&Repository::around(&top), &top, None);
        for path in [
            "hooks-of-ours/pre-commit",
            "tools/fsm.sh",
            ".gitconfig",
            "bin/clean",
            "scripts/check.py",
            "linked/pc.sh",
        ] {
            assert!(named.contains(path), "{path}: {named:?}");
        }
        for path in ["package.json", "other/check.py", "tools/other.sh", "false", "a", "src/main.rs"] {
            assert!(!named.contains(path), "{path}: {named:?}");
        }
    }
}
