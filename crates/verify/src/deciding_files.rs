//! Files of a commit that decide what its checks run or show: settings that tools read by themselves, what package scripts and make run,
//! programs with the names of common commands, and compiled files in which nothing can be read. What is not as it was when the checks were
//! new is named.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use autonoe_core::check::Check;
use autonoe_files::{SETTINGS_LIMIT, open_beneath, read_bytes_beneath};
use autonoe_store::sha256_hex;
use ignore::WalkBuilder;
use serde_json::Value;

use crate::cargo_manifest::manifest_text;
use crate::dependencies::dependency_of;
use crate::discovery::{INIT, Imports, module_run_as, package_of, runs_nothing};
use crate::harmless_settings::{PYTHON_TOOLS, has_harmless_forms, is_harmless};
use crate::make_rules::{is_makefile_name, remade_by_make};
use crate::packages::{listed_in, lists_packages, packages_in};
use crate::runner_files::{is_code, is_runner_file};
use crate::test_files::{is_in_tests, is_test_file};
use crate::tool_files::{is_common_command, is_compiled, is_of_java_lang, is_tool_file, readers_of};

/// Git calls a file binary if one of its first bytes is zero; so many are looked at.
const BINARY_BYTES: u64 = 8_000;

/// The most files that are looked at behind a link.
const MAX_LINKED: usize = 1_000;

/// What a package says about its tests and other commands. Its dependencies change with any work.
const PACKAGE_KEYS: [&str; 9] = ["ava", "bin", "c8", "config", "jest", "main", "mocha", "nyc", "scripts"];

/// Programs that run the scripts of a package, or read the settings of TypeScript.
const PACKAGE_RUNNERS: [&str; 6] = ["bun", "npm", "npx", "pnpm", "yarn", "yarnpkg"];
const TYPESCRIPT_RUNNERS: [&str; 9] =
    ["bun", "deno", "jest", "npm", "npx", "ts-node", "tsc", "tsx", "vitest"];
const MAKE: [&str; 3] = ["bmake", "gmake", "make"];

/// Words of scripts behind which a command begins.
const BEFORE_COMMANDS: [&str; 12] =
    ["command", "do", "elif", "else", "env", "exec", "if", "nice", "then", "time", "until", "while"];

/// A file of a commit.
#[derive(Debug, Clone)]
pub(crate) struct CommittedEntry {
    /// From the top of the repository.
    pub(crate) from_top: String,
    pub(crate) hash: String,
    pub(crate) is_link: bool,
    pub(crate) is_executable: bool,
}

/// Why a file is decisive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecidingKind {
    /// A tool reads it by itself.
    Settings,
    /// Only these tools do.
    SettingsOf(&'static [&'static str]),
    /// It has the name of a common command.
    Command,
    Compiled,
    /// `package.json`.
    Package,
    /// `Cargo.toml`.
    Manifest,
    MakeRules,
    /// `tsconfig.json`.
    TypeScript,
    /// A test, by its name. Runners look for tests and load them, so that one can change how others are run.
    Test,
    /// A program in a place for tests or tools, which checks may run.
    Script,
    /// The `__init__.py` of a package of Python.
    PythonPackage,
    /// What `python3 -m` runs under its name.
    PythonProgram,
    /// A package that tests may load.
    Dependency,
    /// Not a file: what one says about packages, which matters only when it is gone.
    ListedPackage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecidingFile {
    pub(crate) kind: DecidingKind,
    /// The same as long as what matters in it is the same: of a manifest of Cargo, its text. Empty if nothing does.
    pub(crate) fingerprint: String,
    /// A hash of its content, if a tool reads it by itself.
    pub(crate) content: Option<String>,
    /// From the top of the repository, without links.
    pub(crate) from_top: String,
    /// Whether a program outside of the package imports it.
    pub(crate) is_imported: bool,
}

impl DecidingFile {
    /// Whether it is the one that the user had when the checks were new, or accepted since.
    pub(crate) fn is(&self, known: &String) -> bool {
        *known == self.fingerprint || self.content.as_ref() == Some(known)
    }
}

/// What stands for the content of a file of the user's.
pub(crate) fn content_hash(root: &Path, path: &str) -> Option<String> {
    read_bytes_beneath(root, Path::new(path), SETTINGS_LIMIT).ok().map(|content| sha256_hex(&content))
}

/// Those among the files of a commit, by their paths from the project; `tree` is a clean checkout of it.
pub(crate) fn deciding_files(
    tree: &Path,
    entries: &BTreeMap<String, CommittedEntry>,
) -> BTreeMap<String, DecidingFile> {
    let linked = entries.iter().flat_map(|(path, entry)| linked_entries(tree, path, entry));
    let linked: BTreeMap<String, CommittedEntry> = linked.collect();
    let own = entries.iter().chain(&linked).filter(|(path, _)| dependency_of(path).is_none());
    let imports = OnceCell::new();
    let deciding = own.filter_map(|(path, entry)| {
        let kind = kind_of(tree, path, entry)?;
        let content = kind_by_name(path).and_then(|_| content_hash(tree, &entry.from_top));
        let (fingerprint, from_top) = (fingerprint(tree, path, entry), entry.from_top.clone());
        let is_imported = kind == DecidingKind::PythonPackage
            && package_of(&entry.from_top)
                .is_some_and(|package| imports.get_or_init(|| Imports::of(tree)).have(package));
        Some((path.clone(), DecidingFile { kind, fingerprint, content, from_top, is_imported }))
    });
    // An agent can give a file the name of such an entry.
    deciding.chain(committed_dependencies(entries)).chain(listed_packages(tree, entries)).collect()
}

/// Those that commands have changed in a checkout: each with a hash of what matters in it now.
pub(crate) fn changed_in_checkout(
    tree: &Path,
    committed: &BTreeMap<String, DecidingFile>,
) -> BTreeSet<(String, String)> {
    let changed = committed.iter().filter_map(|(path, file)| {
        let now = content_hash(tree, &file.from_top);
        if file.content.is_none() || now == file.content {
            return None;
        }
        let (from_top, hash) = (file.from_top.clone(), now.unwrap_or_default());
        let entry = CommittedEntry { from_top, hash, is_link: false, is_executable: false };
        let fingerprint = fingerprint(tree, path, &entry);
        (fingerprint != file.fingerprint).then(|| (path.clone(), sha256_hex(fingerprint.as_bytes())))
    });
    changed.collect()
}

/// What manifests of the commit say about packages.
fn listed_packages(
    tree: &Path,
    entries: &BTreeMap<String, CommittedEntry>,
) -> BTreeMap<String, DecidingFile> {
    let files = entries.iter().map(|(path, entry)| (path.as_str(), entry.from_top.as_str()));
    let file = |entry: String| {
        let (fingerprint, from_top) = (String::new(), listed_in(&entry).to_owned());
        let kind = DecidingKind::ListedPackage;
        (entry, DecidingFile { kind, fingerprint, content: None, from_top, is_imported: false })
    };
    packages_in(tree, files).into_iter().map(file).collect()
}

/// The packages among the files of a commit, each with a fingerprint of all of its files.
fn committed_dependencies(entries: &BTreeMap<String, CommittedEntry>) -> BTreeMap<String, DecidingFile> {
    let mut files: BTreeMap<&str, (String, &CommittedEntry)> = BTreeMap::new();
    for (path, entry) in entries {
        if let Some(package) = dependency_of(path) {
            let (listed, _) = files.entry(package).or_insert_with(|| (String::new(), entry));
            listed.push_str(&format!("{path}\0{}\0", entry.hash));
        }
    }
    let package = |(package, (listed, first)): (&str, (String, &CommittedEntry))| {
        let file = DecidingFile {
            kind: DecidingKind::Dependency,
            fingerprint: sha256_hex(listed.as_bytes()),
            content: None,
            from_top: first.from_top.clone(),
            is_imported: false,
        };
        (package.to_owned(), file)
    };
    files.into_iter().map(package).collect()
}

/// What a link leads to within the commit, as if it were in the place of the link, unless it counts as the same where it is.
fn linked_entries(tree: &Path, path: &str, entry: &CommittedEntry) -> Vec<(String, CommittedEntry)> {
    let real = tree.canonicalize().ok().filter(|_| entry.is_link);
    let target = tree.join(&entry.from_top).canonicalize().ok();
    let (Some(real), Some(target)) = (real, target) else { return Vec::new() };
    // A link to a directory above itself would lead to everything again.
    if !target.starts_with(&real) || real.join(&entry.from_top).starts_with(&target) {
        return Vec::new();
    }
    let repository = real.join(".git");
    let walk = WalkBuilder::new(&target)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |found| !found.path().starts_with(&repository))
        .build();
    let files =
        walk.filter_map(Result::ok).filter(|found| found.file_type().is_some_and(|kind| kind.is_file()));
    let entries = files.take(MAX_LINKED).filter_map(|found| {
        let from_top = found.path().strip_prefix(&real).ok()?.to_str()?.to_owned();
        let below = found.path().strip_prefix(&target).ok()?.to_str()?;
        let place = if below.is_empty() { path.to_owned() } else { format!("{path}/{below}") };
        let is_executable = found.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0);
        let mut entry = CommittedEntry { from_top, hash: String::new(), is_link: false, is_executable };
        let kind = kind_of(tree, &place, &entry).filter(|_| may_decide(&place, &entry))?;
        entry.hash = content_hash(tree, &entry.from_top).unwrap_or_default();
        (kind_of(tree, &entry.from_top, &entry) != Some(kind)).then_some((place, entry))
    });
    entries.collect()
}

/// Whether a file may be decisive, by its name and kind alone.
pub(crate) fn may_decide(path: &str, entry: &CommittedEntry) -> bool {
    let name = name_of(path);
    entry.is_executable
        || entry.is_link
        || is_read(path)
        || is_compiled(name)
        || is_of_java_lang(name)
        || name == "tsconfig.json"
        || lists_packages(path)
        || package_of(path).is_some()
        || module_run_as(path).is_some()
        || is_make_file(name)
        || is_test_file(path)
        || is_script(path, entry)
        || readers_of(path).is_some()
        || dependency_of(path).is_some()
}

/// Why a file is decisive if its name alone says so.
pub(crate) fn kind_by_name(path: &str) -> Option<DecidingKind> {
    Some(match name_of(path) {
        _ if is_read(path) => DecidingKind::Settings,
        _ if let Some(tools) = readers_of(path) => DecidingKind::SettingsOf(tools),
        "package.json" => DecidingKind::Package,
        "tsconfig.json" => DecidingKind::TypeScript,
        "Cargo.toml" => DecidingKind::Manifest,
        name if is_make_file(name) => DecidingKind::MakeRules,
        _ => return None,
    })
}

fn kind_of(tree: &Path, path: &str, entry: &CommittedEntry) -> Option<DecidingKind> {
    let name = name_of(path);
    let read = || read_bytes_beneath(tree, Path::new(&entry.from_top), SETTINGS_LIMIT).unwrap_or_default();
    Some(match name {
        _ if has_harmless_forms(path) && is_harmless(path, &String::from_utf8_lossy(&read())) => return None,
        _ if let Some(kind) = kind_by_name(path) => kind,
        _ if is_of_java_lang(name) && is_in_default_package(tree, &entry.from_top) => DecidingKind::Settings,
        _ if is_common_command(name) && (entry.is_executable || entry.is_link) => DecidingKind::Command,
        _ if is_compiled(name) || (entry.is_executable && is_binary(tree, &entry.from_top)) => {
            DecidingKind::Compiled
        }
        _ if package_of(path).is_some() => DecidingKind::PythonPackage,
        _ if is_test_file(path) => DecidingKind::Test,
        _ if is_script(path, entry) => DecidingKind::Script,
        _ if module_run_as(path).is_some() => DecidingKind::PythonProgram,
        _ => return None,
    })
}

/// Directories of programs that others run.
const TOOLS: [&str; 7] = ["ci", "hack", "lib", "script", "scripts", "tool", "tools"];

/// A program in a place for tests or tools, or a shell script.
fn is_script(path: &str, entry: &CommittedEntry) -> bool {
    let is_tool = || path.rsplit('/').skip(1).any(|directory| TOOLS.contains(&directory));
    let is_shell = || [".bash", ".sh"].iter().any(|ending| path.ends_with(ending));
    (is_code(path) || entry.is_executable) && (is_in_tests(path) || is_shell() || is_tool())
}

fn is_read(path: &str) -> bool {
    is_runner_file(path) || is_tool_file(path) || path.contains("node_modules/.bin/")
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_make_file(name: &str) -> bool {
    let made = remade_by_make(name).unwrap_or(name);
    made == "Makefile" || name.ends_with(".mk") || (made != name && is_makefile_name(made))
}

/// One that cannot be read counts as binary.
fn is_binary(tree: &Path, path: &str) -> bool {
    let mut start = Vec::new();
    let opened = open_beneath(tree, Path::new(path)).ok();
    let read = opened.and_then(|file| file.take(BINARY_BYTES).read_to_end(&mut start).ok());
    read.is_none() || start.contains(&0)
}

fn is_in_default_package(tree: &Path, path: &str) -> bool {
    let text = read_bytes_beneath(tree, Path::new(path), SETTINGS_LIMIT).unwrap_or_default();
    !String::from_utf8_lossy(&text).lines().any(|line| line.trim_start().starts_with("package "))
}

/// The hash of the file, or of what matters in it.
fn fingerprint(tree: &Path, path: &str, entry: &CommittedEntry) -> String {
    let read = || read_bytes_beneath(tree, Path::new(&entry.from_top), SETTINGS_LIMIT).ok();
    let part = match name_of(path) {
        "package.json" => match read().and_then(|text| package_settings(&text)) {
            Some(settings) if settings.is_empty() => return settings,
            settings => settings,
        },
        INIT if read().is_some_and(|text| runs_nothing(&String::from_utf8_lossy(&text))) => {
            return String::new();
        }
        "pyproject.toml" => read().and_then(|text| python_settings(&text)),
        "Cargo.toml" => return manifest_text(tree, &entry.from_top),
        _ => None,
    };
    part.map_or_else(|| entry.hash.clone(), |part| sha256_hex(part.as_bytes()))
}

/// `None` if it is not JSON; empty if it says nothing about commands.
fn package_settings(text: &[u8]) -> Option<String> {
    let package: Value = serde_json::from_slice(text).ok()?;
    let settings = PACKAGE_KEYS.map(|key| package.get(key).cloned().unwrap_or_default());
    let says_nothing = settings.iter().all(Value::is_null);
    Some(if says_nothing { String::new() } else { Value::from(settings.to_vec()).to_string() })
}

fn python_settings(text: &[u8]) -> Option<String> {
    let project: toml::Table = std::str::from_utf8(text).ok()?.parse().ok()?;
    let tools = PYTHON_TOOLS.map(|tool| project.get("tool").and_then(|tools| tools.get(tool)).cloned());
    Some(format!("{:?} {tools:?}", project.get("build-system")))
}

/// Whether a kind of file matters to some of the checks. `scripts` are the texts of programs that they run.
pub(crate) fn concerns(kind: DecidingKind, checks: &[&Check], scripts: &[String]) -> bool {
    let runs = |programs: &[&str]| {
        names(checks, programs) || scripts.iter().any(|script| script_starts(script, programs))
    };
    match kind {
        DecidingKind::Settings
        | DecidingKind::Compiled
        | DecidingKind::Manifest
        | DecidingKind::Test
        | DecidingKind::Script
        | DecidingKind::PythonPackage
        | DecidingKind::PythonProgram
        | DecidingKind::Dependency
        | DecidingKind::ListedPackage => true,
        // What no check protects may say where commands are looked for.
        DecidingKind::Command => {
            let says_where = |text: &String| text.contains("PATH");
            checks.iter().any(|check| check.protect.is_empty() || commands_of(check).any(says_where))
                || scripts.iter().any(says_where)
        }
        DecidingKind::SettingsOf(tools) => {
            let mut words = scripts.iter().flat_map(|script| script.split(|c| !is_part(c)));
            names(checks, tools) || words.any(|word| tools.contains(&word))
        }
        DecidingKind::Package => runs(&PACKAGE_RUNNERS) || names(checks, &["--run"]),
        DecidingKind::MakeRules => runs(&MAKE),
        DecidingKind::TypeScript => runs(&TYPESCRIPT_RUNNERS),
    }
}

fn commands_of(check: &Check) -> impl Iterator<Item = &String> {
    check.setup.iter().chain([&check.command])
}

/// Whether a command of the checks names one of the programs.
fn names(checks: &[&Check], programs: &[&str]) -> bool {
    let commands = checks.iter().flat_map(|check| commands_of(check));
    let mut words = commands.flat_map(|command| command.split(|c| !is_part(c)));
    words.any(|word| programs.contains(&word))
}

/// Whether a script may start one of the programs: its name is where a command begins, or begins a text in quotes. Elsewhere it may be an
/// everyday word.
fn script_starts(script: &str, programs: &[&str]) -> bool {
    let is_started = |line: &str, program: &str| {
        line.match_indices(program)
            .any(|(at, _)| !line[at + program.len()..].starts_with(is_part) && begins_command(&line[..at]))
    };
    script.lines().any(|line| programs.iter().any(|program| is_started(line, program)))
}

/// Whether a command begins behind this part of a line, which may end with the directory of the program.
fn begins_command(before: &str) -> bool {
    let last = before.rsplit(|c: char| !is_part(c) && c != '/').next().unwrap_or_default();
    let is_whole = last.is_empty() || last.ends_with('/');
    let before = before.strip_suffix(last).unwrap_or(before).trim_end();
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let is_value = word.split_once('=').is_some_and(|(name, _)| name.chars().all(is_part));
    let is_start = before.is_empty() || before.ends_with(|c| "\"'`;&|({!@".contains(c));
    is_whole && (is_start || is_value || BEFORE_COMMANDS.contains(&word))
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests;
