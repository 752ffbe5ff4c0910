//! Files of the working tree that the user's own git settings and hooks name: git runs or reads them by itself, whatever they are called.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use autonoe_core::event::HookFile;
use autonoe_files::{SETTINGS_LIMIT, read_start, read_text};
use autonoe_sandbox::Repository;

use crate::tree_links::TreeLinks;

use crate::hook_text::{
    has_script_name, is_runner_file, mentioned, module_files, plain, runner_files, words,
};

/// Bytes of a hook or script that are looked at, and the most hooks of a directory.
const HOOK_BYTES: u64 = 64 * 1024;
const MAX_HOOKS: usize = 64;

/// The most hooks and scripts that are looked at, and the most files that they may mention.
const MAX_TEXTS: usize = 128;
const MAX_MENTIONED: usize = 20_000;

/// The modes of a committed program, and of a link.
const RUNNABLE_MODES: [&str; 2] = ["100755", "120000"];

/// Directories of installed packages, whose scripts are not followed.
const INSTALLED: [&str; 4] = ["node_modules", ".venv", "vendor", "target"];

/// The names of git's hooks.
const GIT_HOOKS: [&str; 23] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Files of the working tree that programs act on by themselves, and that name the scripts to run.
const ACTING_SETTINGS: [&str; 6] = [
    ".claude/settings.json",
    ".pre-commit-config.yaml",
    ".vscode/tasks.json",
    "lefthook.yaml",
    "lefthook.yml",
    "prek.toml",
];

/// A script that direnv runs.
const ENVRC: &str = ".envrc";

/// Paths relative to the top of the working tree.
#[derive(Debug, Default)]
pub(crate) struct NamedPaths {
    /// Files and directories that settings or hooks name, whatever they are.
    named: Vec<String>,
    /// Files that hooks, or scripts that they run, mention; only scripts count.
    mentioned: HashSet<String>,
    /// Hooks, and the files that programs in them read.
    runner_files: Vec<(String, &'static str)>,
}

/// A hook, or a script that one runs.
struct HookText {
    /// The name of the hook.
    hook: String,
    file: PathBuf,
    kind: TextKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Hook,
    Script,
    /// Settings, in which only some lines say what to run.
    Settings,
}

impl NamedPaths {
    /// Those that the settings and hooks of `repository`, whose working tree is `top`, and the settings in `home` name.
    pub(crate) fn of(repository: &Repository, top: &Path, home: Option<&Path>, more: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let is_no_sample = |name: &str| !name.ends_with(".sample");
        let mut texts: VecDeque<_> =
            repository.hooks().flat_map(|directory| hooks_in(&directory, is_no_sample)).collect();
        // It may be a link to a directory of the project.
        let real = repository.hooks().filter_map(|directory| directory.canonicalize().ok());
        found.named.extend(real.filter_map(|directory| inside(&directory, top)));
        for (file, text) in settings_files(repository, home, more) {
            found.add_settings(&text, top);
            found.named.extend(included(&file, &text).iter().filter_map(|path| inside(path, top)));
            for directory in hook_directories(&text, top, home) {
                // The other files there are the project's.
                texts.extend(hooks_in(&directory, |name| GIT_HOOKS.contains(&name)));
                let of_top = GIT_HOOKS.iter().filter(|_| directory == top);
                found.named.extend(of_top.map(|name| (*name).to_owned()));
            }
        }
        let acting = ACTING_SETTINGS.iter().map(|name| (name, TextKind::Settings));
        let acting = acting.chain([(&ENVRC, TextKind::Script)]);
        texts.extend(acting.map(|(name, kind)| HookText {
            hook: (*name).to_owned(),
            file: top.join(name),
            kind,
        }));
        found.add_texts(texts, top);
        found
    }

    /// Adds the links on the way of what is named, and where they lead.
    pub(crate) fn follow(&mut self, links: &TreeLinks) {
        let named: Vec<String> = self.named.iter().flat_map(|path| links.ways_of(path)).collect();
        let mentioned: Vec<String> = self.mentioned.iter().flat_map(|path| links.ways_of(path)).collect();
        self.named.extend(named);
        self.mentioned.extend(mentioned);
    }

    /// Whether a path is named, or in a directory that is. `mode` is git's.
    pub(crate) fn contains(&self, path: &str, mode: &str) -> bool {
        let is_script = has_script_name(path) || RUNNABLE_MODES.contains(&mode);
        self.named.iter().any(|named| is_in(path, named)) || is_script && self.mentioned.contains(path)
    }

    /// Those of the changed files that programs in hooks read to know what to run.
    pub(crate) fn hook_files<'a>(&self, changed: impl IntoIterator<Item = &'a str>) -> Vec<HookFile> {
        let mut found = Vec::new();
        for path in changed {
            let hooks = self.runner_files.iter().filter(|(_, file)| is_runner_file(path, file));
            found.extend(hooks.map(|(hook, _)| HookFile { hook: hook.clone(), path: path.to_owned() }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn add_settings(&mut self, text: &str, top: &Path) {
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let names_a_path = matches!(key.trim().to_ascii_lowercase().as_str(), "hookspath" | "path");
            let words = words(value).filter(|word| names_a_path || word.contains(['/', '.']));
            self.named.extend(words.filter_map(|word| relative(word, top)));
        }
    }

    /// Adds what hooks name, and what the scripts that they mention mention in turn.
    fn add_texts(&mut self, mut texts: VecDeque<HookText>, top: &Path) {
        let mut seen = HashSet::new();
        while let Some(HookText { hook, file, kind }) = texts.pop_front() {
            let Some(real) = file.canonicalize().ok().filter(|_| seen.len() < MAX_TEXTS) else { continue };
            let inside = real.strip_prefix(top).ok().and_then(Path::to_str).map(str::to_owned);
            if !seen.insert(real.clone()) {
                continue;
            }
            let (text, _) = read_start(&real, HOOK_BYTES).ok().flatten().unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let text = match kind {
                TextKind::Settings => lines_with_commands(&text),
                TextKind::Hook | TextKind::Script => text.into_owned(),
            };
            if kind == TextKind::Hook {
                self.named.extend(inside.clone());
                self.named.extend(named_in_hook(&text, top));
            }
            self.named.extend(module_files(&text));
            self.runner_files.extend(runner_files(&text).map(|file| (hook.clone(), file)));
            let directory =
                inside.as_deref().and_then(|inside| inside.rsplit_once('/')).unwrap_or_default().0;
            for path in mentioned(&text, directory, directories_in(&text, top)) {
                if self.mentioned.len() == MAX_MENTIONED {
                    break;
                }
                let file = top.join(&path);
                let is_followed = is_script(&file) && !path.split('/').any(|part| INSTALLED.contains(&part));
                if self.mentioned.insert(path) && is_followed {
                    texts.push_back(HookText { hook: hook.clone(), file, kind: TextKind::Script });
                }
            }
        }
    }
}

/// The changed files of the repository around `root` that programs in the user's hooks read to know what to run.
pub fn files_run_by_hooks<'a>(
    root: &Path,
    home: Option<&Path>,
    changed: impl IntoIterator<Item = &'a str>,
) -> Vec<HookFile> {
    let repository = Repository::around(root);
    NamedPaths::of(&repository, repository.top(root), home, &[]).hook_files(changed)
}

/// A path of the working tree, relative to its top; `None` for the top itself and what is elsewhere.
fn inside(path: &Path, top: &Path) -> Option<String> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = path.strip_prefix(top).ok()?.to_str()?;
    Some(plain(path)).filter(|path| !path.is_empty())
}

/// The settings of git, and the files that they include, in turn.
fn settings_files(repository: &Repository, home: Option<&Path>, more: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let own = repository.directories.iter();
    let own = own.flat_map(|directory| ["config", "config.worktree"].map(|name| directory.join(name)));
    let of_user =
        home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let mut queue: VecDeque<PathBuf> = own.chain(of_user).chain(more.iter().cloned()).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(file) = queue.pop_front() {
        if found.len() == MAX_TEXTS || !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = read_text(&file, SETTINGS_LIMIT).ok().flatten() else { continue };
        let home = |path: &PathBuf| match (path.strip_prefix("~").ok(), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => path.clone(),
        };
        queue.extend(included(&file, &text).iter().map(home));
        found.push((file, text));
    }
    found
}

/// The files that the settings in `file` include; a path is relative to the file that names it.
fn included(file: &Path, settings: &str) -> Vec<PathBuf> {
    let pairs = settings.lines().filter_map(|line| line.split_once('='));
    let paths = pairs.filter(|(key, _)| key.trim().eq_ignore_ascii_case("path"));
    let paths = paths.map(|(_, value)| PathBuf::from(value.trim().trim_matches('"')));
    let directory = file.parent().unwrap_or(Path::new("/"));
    paths.map(|path| if path.starts_with("~") { path } else { directory.join(path) }).collect()
}

/// Of settings, the lines that say what to run; the others name files for other reasons.
fn lines_with_commands(settings: &str) -> String {
    const KEYS: [&str; 5] = ["entry", "run", "command", "args", "script"];
    let says_what_to_run = |line: &&str| KEYS.iter().any(|key| line.to_ascii_lowercase().contains(key));
    settings.lines().filter(says_what_to_run).collect::<Vec<_>>().join("\n")
}

/// The directories with hooks that settings name. Those of Husky run the ones in the directory above.
fn hook_directories(settings: &str, top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for line in settings.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        if !key.trim().eq_ignore_ascii_case("hookspath") {
            continue;
        }
        let value = value.trim().trim_matches('"');
        let directory = match (value.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => top.join(value),
        };
        let Ok(directory) = directory.canonicalize() else { continue };
        let is_of_husky = directory.file_name().is_some_and(|name| name == "_");
        directories.extend(directory.parent().filter(|_| is_of_husky).map(Path::to_owned));
        directories.push(directory);
    }
    directories
}

/// The hooks in a directory, which have these names.
fn hooks_in(directory: &Path, is_hook_name: impl Fn(&str) -> bool) -> Vec<HookText> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let hooks = names.filter(|name| is_hook_name(name)).take(MAX_HOOKS);
    hooks.map(|hook| HookText { file: directory.join(&hook), hook, kind: TextKind::Hook }).collect()
}

/// The paths that a hook names. A directory counts only where its files are run one by one; elsewhere it is what a linter looks at.
fn named_in_hook(text: &str, top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let runs_all = line.contains("for ") || line.contains("run-parts");
        let words = words(line).filter(|word| word.contains('/'));
        let words =
            words.map(|word| if runs_all { word.split('*').next().unwrap_or_default() } else { word });
        let paths = words.filter_map(|word| relative(word, top));
        found.extend(paths.filter(|path| runs_all || !top.join(path).is_dir()));
    }
    found
}

/// The directories of the working tree that a text names, to which it may change.
fn directories_in(text: &str, top: &Path) -> Vec<String> {
    const MAX_DIRECTORIES: usize = 16;
    let named = words(text).map(plain).filter(|path| !path.is_empty() && top.join(path).is_dir());
    named.take(MAX_DIRECTORIES).collect()
}

/// Whether a path is a file that can be run.
fn is_script(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| {
        metadata.is_file()
            && (metadata.permissions().mode() & 0o111 != 0 || path.to_str().is_some_and(has_script_name))
    })
}

/// Whether `path` is `directory`, or in it.
pub(crate) fn is_in(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A word as a path of the working tree, if it can be one. What it is relative to depends on the setting, so leading `../` are left out.
fn relative(word: &str, top: &Path) -> Option<String> {
    let path = Path::new(word);
    let inside = if path.is_absolute() { path.strip_prefix(top).ok()?.to_str()? } else { word };
    Some(plain(inside)).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests;
