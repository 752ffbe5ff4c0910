//! What of a repository programs may change, and what they must not leave behind: hooks and settings that would run
//! something when the user next calls git, outside every room.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::git_locks::{GitLock, changed};

use autonoe_files::{ReadError, read_bytes, read_text};

/// The most that is read of a repository's own settings; one with ten thousand branches has a megabyte of them.
const CONFIG_LIMIT: u64 = 16 * 1024 * 1024;

/// The directories of the repository that a project belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The top of the working tree, if it is above the project.
    pub above: Option<PathBuf>,
    /// The repository's own directories: for a linked working tree two, else one.
    pub directories: Vec<PathBuf>,
}

impl Repository {
    /// The repository around a directory, which must be absolute and without links.
    pub fn around(root: &Path) -> Self {
        let Some(top) = root.ancestors().find(|directory| is_repository(&directory.join(".git"))) else {
            return Self::default();
        };
        let above = (top != root).then(|| top.to_owned());
        let Some(own) = real_directory(&top.join(".git")) else {
            return Self { above, directories: Vec::new() };
        };
        let shared = read_text(&own.join("commondir"), CONFIG_LIMIT).ok().flatten();
        let shared = shared.and_then(|path| own.join(path.trim_end()).canonicalize().ok());
        Self { above, directories: shared.into_iter().chain([own]).collect() }
    }

    /// Its own files of settings.
    pub fn settings(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("config"))
    }

    /// The file of settings that git would wait for or could not hold, and why; none if all are fine.
    pub fn unreadable_settings(&self) -> Option<(PathBuf, ReadError)> {
        self.settings().find_map(|file| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).err()?)))
    }

    /// The top of the working tree that `root` belongs to.
    pub fn top<'a>(&'a self, root: &'a Path) -> &'a Path {
        self.above.as_deref().unwrap_or(root)
    }

    /// Where its hooks are.
    pub fn hooks(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.join("hooks"))
    }
}

/// Whether git would take it for one: a directory with a HEAD, or a file that names such a directory.
fn is_repository(git: &Path) -> bool {
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// The directory that `.git` is or, as a file, names.
fn real_directory(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let text = read_text(git, CONFIG_LIMIT).ok()??;
    let named = text.strip_prefix("gitdir:")?.trim();
    git.parent()?.join(named).canonicalize().ok()
}

/// What a repository looked like before a session, to be compared afterwards.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) root: PathBuf,
    repository: Repository,
    /// The files of settings that were read; none where there was none.
    settings: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The lock files that were there.
    pub(crate) locks: Vec<GitLock>,
}

impl Before {
    /// The repository around `root`, as far as it may be written: what lies elsewhere is nothing that a session could change.
    pub(crate) fn of(root: &Path, may_write: impl Fn(&Path) -> bool) -> Self {
        let mut repository = Repository::around(root);
        repository.directories.retain(|directory| may_write(directory));
        // What cannot be read before the session cannot be put back after it.
        let read = |file: PathBuf| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).ok()?));
        let settings = repository.settings().filter_map(read).collect();
        let locks = repository.locks(root);
        Self { root: root.to_owned(), repository, settings, locks }
    }

    /// The repository that was there, and what is new of one in the project.
    pub(crate) fn repositories(&self) -> Vec<Repository> {
        let mut new = Repository::around(&self.root);
        // What lies outside was not made in the room, anyone who points to it.
        new.directories.retain(|directory| {
            directory.starts_with(&self.root) && !self.repository.directories.contains(directory)
        });
        vec![self.repository.clone(), new]
    }

    /// Takes back what would run something outside, and says what it was. What was changed after `ended` is not the session's.
    pub(crate) fn repair(&self, ended: SystemTime) -> Vec<String> {
        let mut found = Vec::new();
        let is_of_session = |path: &Path| changed(path).is_some_and(|at| at <= ended);
        for (file, before) in &self.settings {
            let what = match read_bytes(file, CONFIG_LIMIT) {
                Ok(now) if now == *before || !is_of_session(file) => continue,
                Ok(Some(now)) if runs_something(&now, before.as_deref()) => {
                    "was changed so that git would run something".to_owned()
                }
                Ok(_) => continue,
                // Nobody can tell what git would make of it.
                Err(_) if !is_of_session(file) => continue,
                Err(error) => format!("was changed so that it cannot be read ({error})"),
            };
            let put_back = replace(file, before.as_deref());
            found.push(told(file, &format!("{what}; it was put back"), put_back));
        }
        for directory in self.repositories().iter().skip(1).flat_map(|new| &new.directories) {
            let hooks = directory.join("hooks");
            if has_hooks(&hooks) && is_of_session(&hooks) {
                let moved = fs::rename(&hooks, directory.join("hooks.suspect"));
                found.push(told(&hooks, "was given hooks; it was renamed to hooks.suspect", moved));
            }
            let config = directory.join("config");
            let is_suspect = match read_bytes(&config, CONFIG_LIMIT) {
                Ok(text) => text.is_some_and(|text| runs_something(&text, None)),
                Err(_) => true,
            };
            if is_suspect && is_of_session(&config) {
                let moved = fs::rename(&config, directory.join("config.suspect"));
                found.push(told(
                    &config,
                    "would have git run something; it was renamed to config.suspect",
                    moved,
                ));
            }
        }
        // With this file git takes its settings from elsewhere; only linked working trees have one.
        for directory in self.repository.directories.iter().filter(|directory| directory.ends_with(".git")) {
            let file = directory.join("commondir");
            if file.exists() && is_of_session(&file) {
                let removed = fs::remove_file(&file);
                found.push(told(&file, "led git to other settings; it was removed", removed));
            }
        }
        found
    }
}

/// Puts a text where a file was, and not where a link in its place leads.
fn replace(file: &Path, text: Option<&[u8]>) -> io::Result<()> {
    fs::remove_file(file)?;
    match text {
        Some(text) => File::create_new(file)?.write_all(text),
        None => Ok(()),
    }
}

fn told(file: &Path, what: &str, done: io::Result<()>) -> String {
    match done {
        Ok(()) => format!("{} {what}.", file.display()),
        Err(error) => format!(
            "{} {what}, or should have been: {error}. Look at it before you use git here.",
            file.display()
        ),
    }
}

fn has_hooks(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| path.extension().is_none_or(|extension| extension != "sample"))
}

/// Settings that name no program and no other file. All others, and all in sections not listed, are suspect.
const HARMLESS: [(&str, &[&str]); 6] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
        ],
    ),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("remote", &["url", "fetch", "pushurl"]),
    ("extensions", &["objectformat", "refstorage"]),
];

/// Whether settings hold a line, not there before, that may have git run or read something else.
fn runs_something(text: &[u8], before: Option<&[u8]>) -> bool {
    let suspects = |text: &[u8]| suspects(&String::from_utf8_lossy(text));
    let known: HashSet<_> = before.map(suspects).unwrap_or_default().into_iter().collect();
    suspects(text).into_iter().any(|suspect| !known.contains(&suspect))
}

/// The lines that may have git run or read something else, with their sections.
fn suspects(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let (header, rest) = header.split_once(']').unwrap_or((header, "x"));
            section = header.trim().to_lowercase();
            if rest.trim().is_empty() {
                continue;
            }
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let name = section.split([' ', '\t', '"', '.']).next().unwrap_or_default();
        let harmless = HARMLESS
            .iter()
            .any(|(section, keys)| *section == name && keys.contains(&key.trim().to_lowercase().as_str()));
        // A remote helper is a program too.
        if !harmless || value.contains("::") || value.ends_with('\\') {
            found.push((section.clone(), line.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::{Before, Repository, runs_something};

    fn now() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    fn init(dir: &Path) {
        fs::create_dir_all(dir.join(".git/hooks")).unwrap();
        fs::write(dir.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_repository_is_found_here_above_and_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        init(&base.join("main"));
        let git = base.join("main/.git");
        fs::create_dir_all(base.join("main/sub")).unwrap();
        assert_eq!(
            Repository::around(&base.join("main")),
            Repository { above: None, directories: vec![git.clone()] }
        );
        let below = Repository::around(&base.join("main/sub"));
        assert_eq!(below, Repository { above: Some(base.join("main")), directories: vec![git.clone()] });
        // A linked working tree.
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
        fs::create_dir(base.join("w")).unwrap();
        fs::write(base.join("w/.git"), format!("gitdir: {}\n", git.join("worktrees/w").display())).unwrap();
        let linked = Repository::around(&base.join("w"));
        assert_eq!(linked.directories, [git.clone(), git.join("worktrees/w")]);
    }

    #[test]
    fn settings_that_run_something_are_told_from_others() {
        for harmless in [
            "",
            "# x\n[core]\n\trepositoryformatversion = 0\n\tfileMode = true\n\tbare = false\n",
            "[user]\n name = A\n email = a@b\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[remote \"origin\"]\n url = https://example.com/x.git\n fetch = +refs/heads/*:refs/remotes/origin/*\n",
        ] {
            assert!(!runs_something(harmless.as_bytes(), None), "{harmless}");
        }
        for suspect in [
            "[core]\n fsmonitor = ./x\n",
            "[core]\n\thooksPath = /tmp/x\n",
            "[Core]\nSSHCommand=x",
            "[core] pager = x",
            "[alias]\n st = !x\n",
            "[filter \"x\"]\n clean = x\n",
            "[include]\n path = ../x\n",
            "[includeIf \"gitdir:/\"]\n path = x\n",
            "[credential]\n helper = x\n",
            "[diff \"x\"]\n textconv = x\n",
            "[remote \"origin\"]\n url = ext::sh -c x\n",
            "[core]\n filemode = true \\\n",
            "fsmonitor = x",
        ] {
            assert!(runs_something(suspect.as_bytes(), None), "{suspect}");
        }
        let users = b"[alias]\n st = !mine\n".as_slice();
        assert!(!runs_something(users, Some(users)), "what was there before is the user's");
        assert!(runs_something(b"[alias]\n st = !other\n", Some(users)));
    }

    #[test]
    fn what_would_run_outside_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        // A repository that comes to be during the session.
        let before = Before::of(&root, |_| true);
        init(&root);
        fs::write(root.join(".git/hooks/pre-commit.sample"), "").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new());
        fs::write(root.join(".git/hooks/pre-commit"), "x").unwrap();
        fs::write(root.join(".git/config"), "[core]\nfsmonitor = x\n").unwrap();
        assert_eq!(before.repair(now()).len(), 2);
        assert!(!root.join(".git/hooks").exists() && !root.join(".git/config").exists());
        // One that was there.
        init(&root);
        let before = Before::of(&root, |_| true);
        fs::write(root.join(".git/config"), "[core]\n\tbare = false\n[user]\n\tname = A\n").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new(), "ordinary changes stay");
        fs::write(root.join(".git/config"), "[core]\n\tbare = false\n[core]\n\tfsmonitor = x\n").unwrap();
        fs::write(root.join(".git/commondir"), "../evil\n").unwrap();
        assert_eq!(before.repair(now()).len(), 2);
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n\tbare = false\n");
        assert!(!root.join(".git/commondir").exists());
    }

    #[test]
    fn settings_that_cannot_be_read_are_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        let (before, config) = (Before::of(&root, |_| true), root.join(".git/config"));
        let text = fs::read_to_string(&config).unwrap();
        let pipe = |path: &Path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        fs::remove_file(&config).unwrap();
        pipe(&config);
        assert_eq!(Repository::around(&root).unreadable_settings().unwrap().0, config);
        let found = before.repair(now());
        assert!(found[0].contains("it is a named pipe"), "{found:?}");
        assert_eq!(fs::read_to_string(&config).unwrap(), text);
        // A byte that is not text does not hide the rest.
        fs::write(&config, [text.as_bytes(), b"# \xff\n[core]\n\tfsmonitor = x\n"].concat()).unwrap();
        assert_eq!(before.repair(now()).len(), 1);
        assert_eq!(fs::read_to_string(&config).unwrap(), text);
        // Whatever is there in its place before a session, nothing waits for it.
        fs::remove_file(&config).unwrap();
        pipe(&config);
        pipe(&root.join(".git/commondir"));
        let _ = Before::of(&root, |_| true).repair(now());
    }

    #[test]
    fn a_repository_that_cannot_be_written_is_not_the_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        init(&home);
        fs::create_dir(home.join("project")).unwrap();
        let before = Before::of(&home.join("project"), |place| place.starts_with(home.join("project")));
        fs::write(home.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new(), "the user did that");
    }

    #[test]
    fn what_the_user_did_after_the_session_stays() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        let before = Before::of(&root, |_| true);
        fs::write(root.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        assert_eq!(before.repair(long_ago), Vec::<String>::new());
        assert_eq!(before.repair(now()).len(), 1);
    }

    #[test]
    fn a_link_in_place_of_the_settings_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project").canonicalize().unwrap_or(dir.path().join("project"));
        init(&root);
        let before = Before::of(&root, |_| true);
        let victim = dir.path().join("victim");
        fs::write(&victim, "alias x = y\n").unwrap();
        fs::remove_file(root.join(".git/config")).unwrap();
        std::os::unix::fs::symlink(&victim, root.join(".git/config")).unwrap();
        assert_eq!(before.repair(now()).len(), 1);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "alias x = y\n");
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n\tbare = false\n");
    }
}
