//! Undoes changes of a git repository that must not outlive a session, such as hooks and settings that would run a command
//! when the user next calls git, outside every room.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use autonoe_files::read_bytes;
use serde::{Deserialize, Serialize};

use crate::git_locks::{GitLock, changed};
use crate::nested_repositories::{MAX_ENTRIES, NestedRepositories};
use crate::repository::{CONFIG_LIMIT, Repository};

/// The state of a repository before a session, to compare with afterwards.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RepositorySnapshot {
    pub(crate) root: PathBuf,
    repository: Repository,
    /// The config files and their contents; `None` for a file that did not exist.
    settings: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The lock files that existed.
    pub(crate) locks: Vec<GitLock>,
    /// `None` if the repositories within the project do not matter.
    nested: Option<NestedSnapshot>,
    /// `None` if nothing in the room can write them.
    #[serde(default)]
    hooks: Option<HookFiles>,
}

/// The state of the repositories within the project.
#[derive(Debug, Serialize, Deserialize)]
struct NestedSnapshot {
    directories: Vec<PathBuf>,
    leading_out: Vec<PathBuf>,
    hooks: HookFiles,
}

/// The hooks of some repositories.
#[derive(Debug, Serialize, Deserialize)]
struct HookFiles {
    /// Directories of hooks, and hooks elsewhere.
    places: Vec<PathBuf>,
    /// The hooks and their contents.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// When each of them was last changed, also those that have no content.
    #[serde(default)]
    changed: Vec<(PathBuf, SystemTime)>,
}

impl RepositorySnapshot {
    /// The repository around `root`, limited to the directories that are writable: a session cannot change the others.
    pub(crate) fn of(root: &Path, may_write: impl Fn(&Path) -> bool) -> Self {
        let mut repository = Repository::around(root);
        repository.directories.retain(|directory| may_write(directory));
        // A file that cannot be read before the session cannot be restored after it.
        let read = |file: PathBuf| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).ok()?));
        let lists = repository.directories.iter().map(|directory| directory.join(REBASE_LIST));
        let settings = repository.settings().chain(lists).filter_map(read).collect();
        let locks = repository.locks(root);
        Self { root: root.to_owned(), repository, settings, locks, nested: None, hooks: None }
    }

    /// With the repositories within the project.
    pub(crate) fn with_nested(mut self) -> Self {
        let found = NestedRepositories::of(&self.root);
        let directories: Vec<_> = found.directories.into_iter().collect();
        let leading_out = found.leading_out.into_iter().collect();
        let read = |file: PathBuf| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).ok()?));
        self.settings.extend(directories.iter().map(|git| git.join("config")).filter_map(read));
        let hooks = HookFiles::of(directories.iter().map(|git| git.join("hooks")).collect());
        self.nested = Some(NestedSnapshot { hooks, directories, leading_out });
        self
    }

    /// With the project's own hooks, for a layer that does not make them read-only.
    pub(crate) fn with_own_hooks(mut self, places: Vec<PathBuf>) -> Self {
        self.hooks = Some(HookFiles::of(places));
        self
    }

    /// The repository from before the session, followed by what is new of a repository in the project.
    pub(crate) fn repositories(&self) -> Vec<Repository> {
        let mut new = Repository::around(&self.root);
        // A directory outside the project was not created in the room, even if a file inside points to it.
        new.directories.retain(|directory| {
            directory.starts_with(&self.root) && !self.repository.directories.contains(directory)
        });
        vec![self.unmoved(), new]
    }

    /// The repository from before the session, without directories that a link leads away from now: what is there is another one's.
    fn unmoved(&self) -> Repository {
        let mut repository = self.repository.clone();
        repository.directories.retain(|directory| is_where_it_was(directory));
        repository
    }

    /// Reverts changes that would run a command outside the room. Returns one sentence per change. A file that was changed
    /// after `ended` was not changed by the session.
    pub(crate) fn repair(&self, ended: SystemTime) -> Vec<String> {
        let mut repairs = Vec::new();
        let is_of_session = |path: &Path| changed(path).is_some_and(|at| at <= ended);
        let settings = self.settings.iter().filter(|(file, _)| file.parent().is_some_and(is_where_it_was));
        for (file, before) in settings {
            let problem = match read_bytes(file, CONFIG_LIMIT) {
                Ok(now) if now == *before || !is_of_session(file) => continue,
                Ok(Some(now)) if acts(file, &now, before.as_deref()) => {
                    "was changed so that git would run a command or push elsewhere".to_owned()
                }
                Ok(_) => continue,
                // We cannot know how git would interpret it.
                Err(_) if !is_of_session(file) => continue,
                Err(error) => format!("was changed so that it cannot be read ({error})"),
            };
            let restored = replace(file, before.as_deref());
            repairs.push(describe(file, &problem, "the change was reverted", restored));
        }
        let nested = self.nested.as_ref().map(|before| (before, NestedRepositories::of(&self.root)));
        let new_nested = nested.iter().flat_map(|(before, now)| {
            now.directories.iter().filter(|directory| !before.directories.contains(directory))
        });
        let new = self.repositories().into_iter().skip(1).flat_map(|new| new.directories);
        for directory in new.chain(new_nested.cloned()) {
            let hooks = directory.join("hooks");
            if has_hooks(&hooks) && is_of_session(&hooks) {
                let moved = fs::rename(&hooks, directory.join("hooks.suspect"));
                repairs.push(describe(
                    &hooks,
                    "contains new hooks",
                    "it was renamed to hooks.suspect",
                    moved,
                ));
            }
            let config = directory.join("config");
            let is_suspect = match read_bytes(&config, CONFIG_LIMIT) {
                Ok(text) => text.is_some_and(|text| runs_command(&text, None)),
                Err(_) => true,
            };
            if is_suspect && is_of_session(&config) {
                let moved = fs::rename(&config, directory.join("config.suspect"));
                let remedy = "it was renamed to config.suspect";
                repairs.push(describe(&config, "would make git run a command", remedy, moved));
            }
        }
        repairs.extend(self.hooks.iter().flat_map(|hooks| hooks.repair(is_of_session)));
        if let Some((before, now)) = &nested {
            repairs.extend(before.hooks.repair(is_of_session));
            // An agent's own home is such a place, and has the same path outside.
            for git in now.leading_out.iter().filter(|git| !before.leading_out.contains(git)) {
                let moved = fs::rename(git, git.with_file_name(".git.suspect"));
                let remedy = "it was renamed to .git.suspect";
                repairs.push(describe(git, "leads to a repository outside the project", remedy, moved));
            }
            if !now.is_complete {
                repairs.push(format!(
                    "The project has more than {MAX_ENTRIES} files: repositories within it were not all inspected. Look at their hooks and settings before you use git there."
                ));
            }
        }
        // This file makes git read its settings from another directory; only linked working trees have one.
        let mut directories = self.unmoved().directories;
        directories.extend(nested.iter().flat_map(|(before, _)| before.directories.clone()));
        for directory in directories.iter().filter(|directory| directory.ends_with(".git")) {
            let file = directory.join("commondir");
            if file.exists() && is_of_session(&file) {
                let removed = fs::remove_file(&file);
                repairs.push(describe(&file, "pointed git to other settings", "it was removed", removed));
            }
        }
        repairs
    }
}

impl HookFiles {
    fn of(places: Vec<PathBuf>) -> Self {
        let entries = || places.iter().flat_map(|place| hook_files(place));
        let files = entries().filter_map(|file| Some((file.clone(), read_bytes(&file, CONFIG_LIMIT).ok()??)));
        let changed = entries().filter_map(|file| Some((file.clone(), changed(&file)?)));
        let (files, changed) = (files.collect(), changed.collect());
        Self { files, changed, places }
    }

    /// Moves away new hooks, and restores changed ones.
    fn repair(&self, is_of_session: impl Fn(&Path) -> bool) -> Vec<String> {
        let mut repairs = Vec::new();
        let places = self.places.iter().filter(|place| place.parent().is_some_and(is_where_it_was));
        for file in places.flat_map(|place| hook_files(place)) {
            let before = self.files.iter().find(|(known, _)| *known == file).map(|(_, text)| text);
            let is_same = before.is_some_and(|before| {
                read_bytes(&file, CONFIG_LIMIT).is_ok_and(|now| now.as_ref() == Some(before))
            });
            // Links and what cannot be read have no text to compare.
            let is_untouched = changed(&file).is_some_and(|at| self.changed.contains(&(file.clone(), at)));
            if is_same || is_untouched || !is_of_session(&file) {
                continue;
            }
            repairs.push(match before {
                Some(before) => {
                    let restored = replace(&file, Some(before)).and_then(|()| make_executable(&file));
                    describe(&file, "was changed", "the change was reverted", restored)
                }
                None => {
                    let mut aside = file.clone().into_os_string();
                    aside.push(".suspect");
                    let moved = fs::rename(&file, &aside);
                    describe(&file, "is a new hook", "it was renamed to end with .suspect", moved)
                }
            });
        }
        repairs
    }
}

/// Git runs hooks only if they are executable.
fn make_executable(file: &Path) -> io::Result<()> {
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}

/// Whether a path that was canonical still is.
fn is_where_it_was(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// Replaces a file, without following a link in its place.
fn replace(file: &Path, text: Option<&[u8]>) -> io::Result<()> {
    fs::remove_file(file)?;
    match text {
        Some(text) => File::create_new(file)?.write_all(text),
        None => Ok(()),
    }
}

fn describe(file: &Path, problem: &str, remedy: &str, result: io::Result<()>) -> String {
    let file = file.display();
    match result {
        Ok(()) => format!("{file} {problem}; {remedy}."),
        Err(error) => {
            format!("{file} {problem}, and fixing that failed: {error}. Check it before you use git here.")
        }
    }
}

fn has_hooks(directory: &Path) -> bool {
    !hook_files(directory).is_empty()
}

/// The hooks in a directory. A file is one itself, and a link may lead to some.
fn hook_files(place: &Path) -> Vec<PathBuf> {
    if place.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_inert = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| ["sample", "suspect"].iter().any(|known| extension == *known))
    };
    entries.map(|entry| entry.path()).filter(|path| !is_inert(path)).collect()
}

/// Settings that name neither a program nor another file. All others, and all sections not listed, are suspect.
const HARMLESS: [(&str, &[&str]); 12] = [
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
            "worktree",
            "sparsecheckout",
            "sparsecheckoutcone",
            "untrackedcache",
        ],
    ),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("remote", &["url", "fetch", "pushurl"]),
    // The file that the last one makes git read is inspected like this one.
    ("extensions", &["objectformat", "refstorage", "worktreeconfig"]),
    ("index", &["sparse", "version"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("rerere", &["enabled"]),
    ("submodule", &["active", "branch", "path", "url"]),
];

/// The steps of a rebase that is in progress, which the user may continue.
const REBASE_LIST: &str = "rebase-merge/git-rebase-todo";

/// Whether a file of the repository makes git run a command that it did not before.
fn acts(file: &Path, text: &[u8], before: Option<&[u8]>) -> bool {
    if !file.ends_with(REBASE_LIST) {
        return runs_command(text, before);
    }
    let commands = |text: &[u8]| -> HashSet<String> {
        let text = String::from_utf8_lossy(text);
        let runs = |line: &&str| ["exec", "x"].contains(&line.split_whitespace().next().unwrap_or_default());
        text.lines().filter(runs).map(str::to_owned).collect()
    };
    let known = before.map(commands).unwrap_or_default();
    commands(text).iter().any(|command| !known.contains(command))
}

/// Whether the settings contain a new line that may make git run a command or read another file.
fn runs_command(text: &[u8], before: Option<&[u8]>) -> bool {
    let suspects = |text: &[u8]| suspects(&String::from_utf8_lossy(text));
    let known: HashSet<_> = before.map(suspects).unwrap_or_default().into_iter().collect();
    let remotes = |text: &[u8]| remotes(&String::from_utf8_lossy(text));
    let before = before.map(remotes).unwrap_or_default();
    // What the user pushes to a remote must not go elsewhere.
    let is_moved = |(section, line): &(String, String)| {
        before.iter().any(|(known, _)| known == section) && !before.contains(&(section.clone(), line.clone()))
    };
    suspects(text).into_iter().any(|suspect| !known.contains(&suspect)) || remotes(text).iter().any(is_moved)
}

/// The lines with the addresses of remotes, with their sections.
fn remotes(text: &str) -> Vec<(String, String)> {
    let is_address = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim().to_lowercase();
        ["url", "pushurl"].contains(&key.as_str())
    };
    let lines = lines_of_sections(text).into_iter();
    lines.filter(|(section, line)| section.starts_with("remote") && is_address(line)).collect()
}

/// The lines of settings, with their sections.
fn lines_of_sections(text: &str) -> Vec<(String, String)> {
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
        found.push((section.clone(), line.to_owned()));
    }
    found
}

/// The lines that may make git run a command or read another file, with their sections.
fn suspects(text: &str) -> Vec<(String, String)> {
    let is_suspect = |(section, line): &(String, String)| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('"'));
        let name = section.split([' ', '\t', '"', '.']).next().unwrap_or_default();
        let is_harmless =
            HARMLESS.iter().any(|(section, keys)| *section == name && keys.contains(&key.as_str()));
        // A remote helper is a program too, and a repository on this machine has hooks.
        let is_local = name == "remote" && key.ends_with("url") && is_local_path(value);
        !is_harmless || is_local || value.contains("::") || value.ends_with('\\')
    };
    lines_of_sections(text).into_iter().filter(is_suspect).collect()
}

fn is_local_path(url: &str) -> bool {
    url.starts_with(['/', '.', '~']) || url.starts_with("file:")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use super::{Repository, RepositorySnapshot, runs_command};

    fn now() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    fn init(dir: &Path) {
        fs::create_dir_all(dir.join(".git/hooks")).unwrap();
        fs::write(dir.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_repository_is_found_in_the_project_above_it_and_through_a_link() {
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
    fn another_repository_that_a_link_leads_to_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (project, other) = (base.join("project"), base.join("other"));
        init(&project);
        init(&other);
        let settings = "[core]\n\tfsmonitor = the-users-own\n";
        fs::write(other.join(".git/config"), settings).unwrap();
        fs::write(other.join(".git/commondir"), "x").unwrap();
        let before = RepositorySnapshot::of(&project, |_| true);
        fs::remove_dir_all(project.join(".git")).unwrap();
        std::os::unix::fs::symlink(other.join(".git"), project.join(".git")).unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new());
        assert_eq!(fs::read_to_string(other.join(".git/config")).unwrap(), settings);
        assert!(other.join(".git/commondir").exists());
    }

    #[test]
    fn settings_that_run_commands_are_detected() {
        for harmless in [
            "",
            "# x\n[core]\n\trepositoryformatversion = 0\n\tfileMode = true\n\tbare = false\n",
            "[user]\n name = A\n email = a@b\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[remote \"origin\"]\n url = https://example.com/x.git\n fetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n[extensions]\n\tworktreeConfig = true\n",
            "[index]\n\tsparse = false\n[pull]\n\trebase = true\n[push]\n\tautoSetupRemote = true\n",
        ] {
            assert!(!runs_command(harmless.as_bytes(), None), "{harmless}");
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
            assert!(runs_command(suspect.as_bytes(), None), "{suspect}");
        }
        let remote = b"[remote \"origin\"]\n url = https://example.com/x.git\n".as_slice();
        assert!(runs_command(b"[remote \"origin\"]\n url = https://example.org/x.git\n", Some(remote)));
        assert!(runs_command(b"[remote \"origin\"]\n url = /tmp/x.git\n", None));
        let more = [remote, b"[remote \"other\"]\n url = https://example.org/x.git\n"].concat();
        assert!(!runs_command(&more, Some(remote)), "another remote does no harm");
        assert!(!runs_command(
            b"[submodule \"lib\"]\n active = true\n url = https://example.org/l.git\n",
            None
        ));
        let users = b"[alias]\n st = !mine\n".as_slice();
        assert!(!runs_command(users, Some(users)), "existing settings are the user's");
        assert!(runs_command(b"[alias]\n st = !other\n", Some(users)));
    }

    #[test]
    fn changes_that_would_run_commands_outside_are_reverted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        // A repository created during the session.
        let before = RepositorySnapshot::of(&root, |_| true);
        init(&root);
        fs::write(root.join(".git/hooks/pre-commit.sample"), "").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new());
        fs::write(root.join(".git/hooks/pre-commit"), "x").unwrap();
        fs::write(root.join(".git/config"), "[core]\nfsmonitor = x\n").unwrap();
        assert_eq!(before.repair(now()).len(), 2);
        assert!(!root.join(".git/hooks").exists() && !root.join(".git/config").exists());
        // A repository that existed before.
        init(&root);
        let before = RepositorySnapshot::of(&root, |_| true);
        fs::write(root.join(".git/config"), "[core]\n\tbare = false\n[user]\n\tname = A\n").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new(), "ordinary changes stay");
        fs::write(root.join(".git/config"), "[core]\n\tbare = false\n[core]\n\tfsmonitor = x\n").unwrap();
        fs::write(root.join(".git/commondir"), "../evil\n").unwrap();
        assert_eq!(before.repair(now()).len(), 2);
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n\tbare = false\n");
        assert!(!root.join(".git/commondir").exists());
    }

    #[test]
    fn repositories_within_the_project_are_inspected_too() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        init(&root.join("known"));
        fs::write(root.join("known/.git/hooks/post-commit"), "the user's").unwrap();
        let before = RepositorySnapshot::of(&root, |_| true).with_nested();
        init(&root.join("deep/new"));
        fs::create_dir_all(root.join("bare/objects")).unwrap();
        fs::create_dir_all(root.join("bare/refs")).unwrap();
        fs::write(root.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(root.join("linked")).unwrap();
        fs::write(root.join("linked/.git"), "gitdir: ../bare\n").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new());
        let acting = "[core]\nfsmonitor = x\n";
        for config in ["deep/new/.git/config", "bare/config", "known/.git/config"] {
            fs::write(root.join(config), acting).unwrap();
        }
        for hook in
            ["deep/new/.git/hooks/pre-commit", "known/.git/hooks/pre-commit", "known/.git/hooks/post-commit"]
        {
            fs::write(root.join(hook), "the agent's").unwrap();
        }
        let elsewhere = tempfile::tempdir().unwrap();
        init(elsewhere.path());
        fs::create_dir(root.join("out")).unwrap();
        fs::write(root.join("out/.git"), format!("gitdir: {}/.git\n", elsewhere.path().display())).unwrap();
        fs::create_dir(root.join(".git/rebase-merge")).unwrap();
        fs::write(root.join(".git/rebase-merge/git-rebase-todo"), "pick 1 a\nexec touch ran\n").unwrap();
        let repairs = before.repair(now());
        assert_eq!(repairs.len(), 8, "{repairs:#?}");
        assert!(!root.join(".git/rebase-merge/git-rebase-todo").exists() && !root.join("out/.git").exists());
        for gone in
            ["deep/new/.git/config", "bare/config", "deep/new/.git/hooks", "known/.git/hooks/pre-commit"]
        {
            assert!(!root.join(gone).exists(), "{gone}");
        }
        let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
        assert_eq!(read("known/.git/config"), "[core]\n\tbare = false\n");
        assert_eq!(read("known/.git/hooks/post-commit"), "the user's");
        assert_eq!(before.repair(now()), Vec::<String>::new());
    }

    #[test]
    fn hooks_of_the_project_are_restored_where_a_room_can_write_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        let hook = |name: &str| root.join(".git/hooks").join(name);
        fs::write(hook("pre-push"), "the user's").unwrap();
        for name in ["post-merge", "post-commit"] {
            std::os::unix::fs::symlink("../../nowhere", hook(name)).unwrap();
        }
        let known = RepositorySnapshot::of(&root, |_| true);
        let elsewhere = ["scripts/check.sh", ".githooks"].map(|path| root.join(path));
        fs::create_dir(root.join("scripts")).unwrap();
        fs::write(&elsewhere[0], "the user's").unwrap();
        let places = [root.join(".git/hooks")].into_iter().chain(elsewhere).collect();
        let writable = RepositorySnapshot::of(&root, |_| true).with_own_hooks(places);
        fs::write(root.join("scripts/check.sh"), "the agent's").unwrap();
        fs::create_dir(root.join(".githooks")).unwrap();
        fs::write(root.join(".githooks/pre-commit"), "the agent's").unwrap();
        fs::write(hook("pre-push"), "the agent's").unwrap();
        fs::write(hook("pre-commit"), "the agent's").unwrap();
        fs::remove_file(hook("post-commit")).unwrap();
        std::os::unix::fs::symlink("../../agents", hook("post-commit")).unwrap();
        assert_eq!(known.repair(now()), Vec::<String>::new(), "nobody in the room can have done that");
        let repairs = writable.repair(now());
        assert_eq!(repairs.len(), 5, "{repairs:#?}");
        assert_eq!(fs::read_to_string(root.join("scripts/check.sh")).unwrap(), "the user's");
        assert!(root.join(".githooks/pre-commit.suspect").exists());
        assert!(hook("post-merge").is_symlink(), "a link of the user's stays, wherever it leads");
        assert!(!hook("post-commit").is_symlink());
        assert_eq!(fs::read_to_string(hook("pre-push")).unwrap(), "the user's");
        assert!(!hook("pre-commit").exists() && hook("pre-commit.suspect").exists());
        assert_eq!(writable.repair(now()), Vec::<String>::new());
        fs::rename(root.join(".git/hooks"), root.join("aside")).unwrap();
        std::os::unix::fs::symlink("../aside", root.join(".git/hooks")).unwrap();
        assert_eq!(writable.repair(now()).len(), 1);
        assert!(!root.join(".git/hooks").exists() && root.join(".git/hooks.suspect").exists());
    }

    #[test]
    fn unreadable_settings_are_restored() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        let (before, config) = (RepositorySnapshot::of(&root, |_| true), root.join(".git/config"));
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
        // A byte that is not UTF-8 does not hide the rest.
        fs::write(&config, [text.as_bytes(), b"# \xff\n[core]\n\tfsmonitor = x\n"].concat()).unwrap();
        assert_eq!(before.repair(now()).len(), 1);
        assert_eq!(fs::read_to_string(&config).unwrap(), text);
        // A pipe that exists before the session does not block either.
        fs::remove_file(&config).unwrap();
        pipe(&config);
        pipe(&root.join(".git/commondir"));
        let _ = RepositorySnapshot::of(&root, |_| true).repair(now());
    }

    #[test]
    fn changes_to_a_repository_outside_the_writable_paths_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        init(&home);
        fs::create_dir(home.join("project")).unwrap();
        let before =
            RepositorySnapshot::of(&home.join("project"), |path| path.starts_with(home.join("project")));
        fs::write(home.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
        assert_eq!(before.repair(now()), Vec::<String>::new(), "the user made that change");
    }

    #[test]
    fn changes_by_the_user_after_the_session_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        init(&root);
        let before = RepositorySnapshot::of(&root, |_| true);
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
        let before = RepositorySnapshot::of(&root, |_| true);
        let victim = dir.path().join("victim");
        fs::write(&victim, "alias x = y\n").unwrap();
        fs::remove_file(root.join(".git/config")).unwrap();
        std::os::unix::fs::symlink(&victim, root.join(".git/config")).unwrap();
        assert_eq!(before.repair(now()).len(), 1);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "alias x = y\n");
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n\tbare = false\n");
    }
}
