//! Which paths a command may read, write, remove and enter, after symbolic links are resolved. The lists of protected
//! names here also apply to redirections and to the file tools.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use autonoe_files::is_credential;

use crate::path_globs::{GlobMatch, glob_matches};
use crate::possible_values::UNKNOWN;
use crate::verdict::{Denial, RuleResult, deny, deny_with_hint};
use crate::words::{Arg, ArgKind};

/// The hand-over note, in the project root.
pub const NOTE: &str = ".autonoe-note.md";

/// The longest path that is resolved, in bytes.
pub const MAX_PATH: usize = 4096;
/// The most slashes in a path that is resolved.
const MAX_SLASHES: usize = 128;

/// Directories that may not be written directly at any depth in the project, with the reason.
const PROTECTED: [(&str, &str); 7] = [
    (".autonoe", "Direct writes to .autonoe/ are not allowed; use the mcp__autonoe__ tools."),
    (".harness", "Writing to .harness/ is not allowed: people steer runs by it."),
    (".git", "Direct writes to .git/ are not allowed; use git."),
    (".claude", "Writing to .claude/ is not allowed: it configures an agent."),
    (".codex", "Writing to .codex/ is not allowed: it configures an agent."),
    (".gemini", "Writing to .gemini/ is not allowed: it configures an agent."),
    (".cursor", "Writing to .cursor/ is not allowed: it configures an agent."),
];

/// Files in the project root that name programs an agent starts, with the reason.
const PROTECTED_FILES: [(&str, &str); 1] =
    [(".mcp.json", "Writing .mcp.json is not allowed: it names programs that agents start.")];

/// The names that the sandbox keeps read-only in the project root: all protected names except `.git`, which git writes.
pub fn read_only_names() -> impl Iterator<Item = &'static str> {
    let names = PROTECTED.iter().chain(&PROTECTED_FILES).map(|(name, _)| *name);
    names.filter(|name| *name != ".git")
}

/// Paths outside the project that contain no user data.
const TOOLCHAIN: [&str; 17] = [
    "/usr",
    "/opt",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/nix",
    "/Library",
    "/System",
    "/Applications",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/proc/loadavg",
    "/etc/os-release",
    "/etc/debian_version",
    "/sys/fs/cgroup",
];

/// Devices that may be read.
const READABLE_DEVICES: [&str; 3] = ["/dev/null", "/dev/stdin", "/dev/zero"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteScope {
    /// Project files; for commands, also the session's temporary directory.
    Project,
    /// The hand-over note only.
    NoteOnly,
}

/// File system lookups made while one command is judged, cached so that no path is looked up twice.
#[derive(Debug, Clone, Default)]
pub struct Lookups(RefCell<HashMap<PathBuf, EntryKind>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Directory,
    Link,
    Other,
    Missing,
    /// The lookup failed.
    Unknown,
}

impl Lookups {
    fn entry_kind(&self, path: &Path) -> EntryKind {
        if let Some(kind) = self.0.borrow().get(path) {
            return *kind;
        }
        let kind = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => EntryKind::Link,
            Ok(metadata) if metadata.is_dir() => EntryKind::Directory,
            Ok(_) => EntryKind::Other,
            Err(error) if error.kind() == io::ErrorKind::NotFound => EntryKind::Missing,
            Err(_) => EntryKind::Unknown,
        };
        self.0.borrow_mut().insert(path.to_owned(), kind);
        kind
    }

    /// Whether the path is a directory, or a link that may lead to one.
    pub fn may_be_directory(&self, path: &Path) -> bool {
        matches!(self.entry_kind(path), EntryKind::Directory | EntryKind::Link)
    }
}

/// The directories of a command policy. All paths are canonical.
#[derive(Debug, Clone)]
pub struct CommandPaths {
    pub root: PathBuf,
    /// The session's temporary directory.
    pub temp: Option<PathBuf>,
    /// Additional paths that may be read.
    pub readable: Vec<PathBuf>,
    pub write_scope: WriteScope,
    /// Files that may not be written because checks or hooks depend on them.
    pub guarded: Vec<PathBuf>,
}

/// The reason for denying a write to a guarded file; `None` if the file is not guarded.
pub(crate) fn guarded_reason(guarded: &[PathBuf], real: &Path, shown: &str) -> Option<String> {
    guarded
        .iter()
        .any(|file| file == real)
        .then(|| format!("'{shown}' is used by the checks or hooks of this project and may not be changed."))
}

impl CommandPaths {
    /// Whether an argument names a path that may be written, from each of the directories `from`.
    pub fn write(&self, lookups: &Lookups, from: &[PathBuf], target: &Arg) -> RuleResult {
        let text = known(target)?;
        if target.kind == ArgKind::Glob {
            return self.write_pattern(lookups, from, text);
        }
        if ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&text) {
            return Ok(());
        }
        from.iter().try_for_each(|directory| self.write_from(lookups, directory, text))
    }

    fn write_from(&self, lookups: &Lookups, directory: &Path, text: &str) -> RuleResult {
        let Some(real) = bounded(text).and_then(|text| self.resolve(lookups, directory, text)) else {
            return outside(text);
        };
        self.write_real(&real, text)
    }

    /// Resolves a path. Relative to the root, which is canonical, a path without `.` and `..` needs few lookups.
    pub fn resolve(&self, lookups: &Lookups, directory: &Path, text: &str) -> Option<PathBuf> {
        let path = directory.join(text);
        let direct = Path::new(text).components().all(|component| matches!(component, Component::Normal(_)));
        if !direct || directory != self.root {
            return real_path(&path).ok();
        }
        let mut resolved = directory.to_owned();
        for component in Path::new(text).components() {
            resolved.push(component);
            match lookups.entry_kind(&resolved) {
                EntryKind::Link => return real_path(&path).ok(),
                EntryKind::Directory => {}
                // The rest cannot exist below a file or a missing entry.
                EntryKind::Other | EntryKind::Missing => break,
                EntryKind::Unknown => return None,
            }
        }
        Some(path)
    }

    fn write_real(&self, real: &Path, text: &str) -> RuleResult {
        if real.file_name().is_some_and(|name| name.to_string_lossy().starts_with('-')) {
            return deny_with_hint(
                "path.dash",
                "A file name that starts with '-' could be mistaken for an option.",
                "Choose a name without a leading '-'.",
            );
        }
        let inside = match (real.strip_prefix(&self.root), &self.temp) {
            (Ok(inside), _) => inside,
            (Err(_), Some(temp)) if self.write_scope == WriteScope::Project => {
                match real.strip_prefix(temp) {
                    Ok(inside) => inside,
                    Err(_) => return outside(text),
                }
            }
            (Err(_), _) => return outside(text),
        };
        if self.write_scope == WriteScope::NoteOnly {
            return if inside == Path::new(NOTE) {
                Ok(())
            } else {
                deny_with_hint(
                    "path.sync",
                    format!("Only {NOTE} may be written in this session, not '{text}'."),
                    format!("Write to {NOTE} in the project root, or to /dev/null."),
                )
            };
        }
        if let Some(reason) = guarded_reason(&self.guarded, real, text) {
            return deny_with_hint(
                "path.guarded",
                reason,
                "If the file is wrong, explain that in the hand-over note; the user decides.",
            );
        }
        match unwritable_reason(inside) {
            Some(reason) => deny("path.protected", reason),
            None => Ok(()),
        }
    }

    /// Whether an argument names a path that may be read: in the project, the temporary directory, the toolchain or the
    /// additional readable paths.
    pub fn read(&self, lookups: &Lookups, from: &[PathBuf], target: &Arg) -> RuleResult {
        let text = match target.kind {
            ArgKind::Plain => target.text.as_str(),
            ArgKind::Glob => target.text.split(['*', '?', '[']).next().unwrap_or_default(),
            ArgKind::Unknown | ArgKind::Several if target.text.starts_with(['/', '~', '.']) => &target.text,
            // The directory in which the unknown part is.
            ArgKind::Unknown | ArgKind::Several => match target.text.rfind('/') {
                Some(slash) => &target.text[..slash],
                None => return Ok(()),
            },
        };
        if text.starts_with('~') && target.kind != ArgKind::Plain {
            return not_read(text);
        }
        if text != "-" && !text.is_empty() && !READABLE_DEVICES.contains(&text) {
            from.iter().try_for_each(|directory| self.read_from(lookups, directory, text))?;
        }
        match target.kind {
            ArgKind::Glob => self.read_matches(from, &target.text),
            ArgKind::Plain | ArgKind::Unknown | ArgKind::Several => Ok(()),
        }
    }

    fn read_from(&self, lookups: &Lookups, directory: &Path, text: &str) -> RuleResult {
        let text = bounded(text).unwrap_or("/");
        let real =
            self.resolve(lookups, directory, text).unwrap_or_else(|| as_if_there(&directory.join(text)));
        self.read_real(&real, text)
    }

    fn read_real(&self, real: &Path, text: &str) -> RuleResult {
        match self.is_own(real) || may_read_outside(real, &self.readable) {
            true => Ok(()),
            false => not_read(text),
        }
    }

    /// Whether a resolved path is in the project or in the session's temporary directory.
    pub fn is_own(&self, real: &Path) -> bool {
        self.temp.iter().chain([&self.root]).any(|path| real.starts_with(path))
    }

    /// Judges what a pattern may name, or a path in which [`UNKNOWN`] stands for a part of a name.
    pub fn read_matches(&self, from: &[PathBuf], text: &str) -> RuleResult {
        from.iter().try_for_each(|directory| self.judge_matches(directory, text, |entry| entry))
    }

    /// Judges the directories whose names the shell lists for a pattern.
    pub fn list_matches(&self, from: &[PathBuf], text: &str) -> RuleResult {
        from.iter().try_for_each(|directory| {
            self.judge_matches(directory, text, |entry| entry.parent().unwrap_or(entry))
        })
    }

    /// Agents make no links in the toolchain.
    fn judge_matches(&self, directory: &Path, text: &str, judged: fn(&Path) -> &Path) -> RuleResult {
        if text.starts_with('~') {
            return not_read(text);
        }
        let wild = text.find(['*', '?', '[', UNKNOWN]).unwrap_or(text.len());
        let (parent, _) = text[..wild].rsplit_once('/').unwrap_or((".", ""));
        let climbs = text[wild..].contains("..") || text[..wild].ends_with('.');
        let is_toolchain = real_path(&directory.join(parent)).is_ok_and(|real| may_read_outside(&real, &[]));
        if text.starts_with('/') && is_toolchain && !climbs {
            return Ok(());
        }
        for entry in self.matches(directory, text)?.into_iter().filter(|entry| entry.may_lead_out) {
            let path = judged(&entry.path);
            let real = real_path(path).unwrap_or_else(|_| as_if_there(path));
            let shown = path.strip_prefix(directory).unwrap_or(path);
            self.read_real(&real, &shown.to_string_lossy())?;
        }
        Ok(())
    }

    /// What a pattern matches; denied if it has to look at too many files.
    fn matches(&self, directory: &Path, text: &str) -> Result<Vec<GlobMatch>, Denial> {
        bounded(text).and_then(|text| glob_matches(directory, text)).ok_or_else(|| {
            Denial::new("path.pattern", format!("There are too many files to see what '{text}' matches."))
                .instead("Name the files themselves.")
        })
    }

    /// Allows a pattern only in the last component, in a directory without links.
    fn write_pattern(&self, lookups: &Lookups, from: &[PathBuf], text: &str) -> RuleResult {
        let (parent, last) = text.rsplit_once('/').unwrap_or((".", text));
        if has_pattern(parent) || last.is_empty() {
            return unknown_path(text);
        }
        for directory in from {
            self.write_from(lookups, directory, if parent.is_empty() { "/" } else { parent })?;
            let folder = directory.join(parent);
            if last.starts_with('.') {
                return unknown_path(text);
            }
            if self.matches(&folder, "*")?.iter().any(|entry| entry.is_link) {
                return unknown_path(text);
            }
            for entry in self.matches(directory, text)? {
                self.write_from(lookups, directory, &entry.path.to_string_lossy())?;
            }
        }
        Ok(())
    }

    /// Whether a path may be removed or moved. A link is not followed.
    pub fn remove(&self, from: &[PathBuf], target: &Arg) -> RuleResult {
        let text = known(target)?;
        let trimmed = text.trim_end_matches('/');
        let (parent, last) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
        let parent = if parent.is_empty() { "/" } else { parent };
        let is_open = target.kind == ArgKind::Glob && text.ends_with('/');
        if matches!(last, "" | "." | "..") || has_pattern(parent) || is_open {
            return deny_with_hint(
                "path.remove",
                format!("'{text}' is too broad to remove."),
                "Name the files themselves.",
            );
        }
        for directory in from {
            let Some(folder) = bounded(parent).and_then(|parent| real_path(&directory.join(parent)).ok())
            else {
                return outside(text);
            };
            let follows = text.ends_with('/');
            let real = if follows { real_path(&folder.join(last)).ok() } else { None };
            let real = real.unwrap_or_else(|| folder.join(last));
            if self.root.starts_with(&real) {
                return deny("path.remove", "The project directory may not be removed.");
            }
            if self.guarded.iter().any(|file| file.starts_with(&real)) {
                return deny(
                    "path.guarded",
                    format!("'{text}' contains files used by the checks or hooks of this project."),
                );
            }
            if target.kind == ArgKind::Glob {
                let bare = !has_literal_character(last);
                if last.starts_with('.') || (folder == self.root && bare) {
                    return deny_with_hint(
                        "path.remove",
                        format!("'{text}' could match everything in the project root."),
                        "Name the files themselves.",
                    );
                }
            }
            self.write_real(&real, text)?;
            if target.kind == ArgKind::Glob {
                self.remove_matches(&folder, last)?;
            }
        }
        Ok(())
    }

    /// Judges what a pattern in a directory would remove. A link is removed only by its name.
    fn remove_matches(&self, folder: &Path, pattern: &str) -> RuleResult {
        for entry in self.matches(folder, pattern)? {
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            if entry.is_link {
                return deny_with_hint(
                    "path.remove",
                    format!("'{pattern}' matches the link '{name}'."),
                    "Name the files themselves.",
                );
            }
            if self.guarded.iter().any(|file| file.starts_with(&entry.path)) {
                return deny(
                    "path.guarded",
                    format!("'{name}' contains files used by the checks or hooks of this project."),
                );
            }
            self.write_real(&entry.path, &name)?;
        }
        Ok(())
    }

    /// Like [`CommandPaths::enter`], but resolves links before `..`, as programs do and the shell's `cd` does not.
    pub fn enter_physical(&self, from: &[PathBuf], text: &str) -> Result<Vec<PathBuf>, Denial> {
        let mut real = Vec::new();
        for directory in from {
            let path =
                real_path(&directory.join(bounded(text).unwrap_or("/"))).unwrap_or_else(|_| "/".into());
            real.extend(self.enter(&[path], ".")?);
        }
        Ok(real)
    }

    /// The directories that `cd` leads to from each of `from`. Denied outside the project and in protected directories.
    pub fn enter(&self, from: &[PathBuf], text: &str) -> Result<Vec<PathBuf>, Denial> {
        let mut entered = Vec::new();
        for directory in from {
            let logical = lexical(&directory.join(bounded(text).unwrap_or("/")));
            let real = real_path(&logical).ok();
            let temp = self.temp.as_deref();
            match real.as_deref().map(|real| (real.strip_prefix(&self.root), real)) {
                Some((Ok(inside), _)) => {
                    if let Some(reason) = protection_reason(inside) {
                        return Err(Denial::new("cd.protected", reason));
                    }
                }
                Some((Err(_), real)) if temp.is_some_and(|temp| real.starts_with(temp)) => {}
                _ => {
                    return Err(Denial::new(
                        "cd.outside",
                        format!("'{text}' is outside the project directory."),
                    )
                    .instead("Stay in the project: cd to a literal path inside it."));
                }
            }
            if !entered.contains(&logical) {
                entered.push(logical);
            }
        }
        Ok(entered)
    }
}

/// Whether a resolved path outside the project may be read: in the toolchain, which contains no user data, or in one of the `readable`
/// paths. Credentials in them may not.
pub fn may_read_outside<'a>(real: &Path, readable: impl IntoIterator<Item = &'a PathBuf>) -> bool {
    let toolchain = TOOLCHAIN.iter().map(Path::new);
    let mut roots = toolchain.chain(readable.into_iter().map(PathBuf::as_path));
    roots.any(|root| real.starts_with(root) && !is_credential(root, real))
}

/// Whether at least the first directory of an absolute path is there. One that has none is no path, such as the end of a URL.
pub fn is_on_this_machine(path: &str) -> bool {
    let first =
        path.strip_prefix('/').map(|path| path.trim_start_matches('/').split('/').next().unwrap_or_default());
    first.is_some_and(|first| !first.is_empty() && Path::new("/").join(first).exists())
}

/// Why a path, relative to the project, may not be written; `None` if it may.
pub fn unwritable_reason(inside: &Path) -> Option<&'static str> {
    if inside.file_name().is_some_and(|name| name.eq_ignore_ascii_case("HEAD")) {
        return Some("A file named HEAD makes a directory a git repository.");
    }
    protection_reason(inside)
}

/// Why a path, relative to the project, is protected. Ignores case, because some file systems do.
pub fn protection_reason(inside: &Path) -> Option<&'static str> {
    let matches = |name: &OsStr, protected: &str| name.to_string_lossy().eq_ignore_ascii_case(protected);
    let named = |name: &OsStr| PROTECTED.iter().find(|(protected, _)| matches(name, protected));
    let mut components = inside.components();
    if let (Some(only), None) = (components.next(), components.next())
        && let Some((_, reason)) = PROTECTED_FILES.iter().find(|(file, _)| matches(only.as_os_str(), file))
    {
        return Some(reason);
    }
    inside.components().find_map(|component| named(component.as_os_str())).map(|(_, reason)| *reason)
}

/// Resolves symbolic links in the part of a path that exists and appends the rest. Fails if the rest contains `..` or
/// a link is dangling.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(error) => {
                let dangling = existing.symlink_metadata().is_ok();
                match (existing.components().next_back(), existing.parent()) {
                    (Some(Component::Normal(name)), Some(parent)) if !dangling => {
                        missing.push(name);
                        existing = parent;
                    }
                    _ => return Err(error),
                }
            }
        }
    }
}

/// Where a path leads if what is missing on its way is a directory by then, and links that lead nowhere lead where they say.
fn as_if_there(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut links = 0;
    let mut real = PathBuf::new();
    let mut left: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(next) = left.pop() {
        let mut components = next.components();
        let Some(component) = components.next() else { continue };
        left.push(components.as_path().to_owned());
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Prefix(_) | Component::RootDir => real = PathBuf::from("/"),
            Component::Normal(name) => match real.join(name).read_link() {
                Ok(target) if links < MAX_LINKS => {
                    links += 1;
                    left.push(target);
                }
                _ => real.push(name),
            },
        }
    }
    real
}

/// Removes `.` and `..` from a path as text, as the shell's `cd` does.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

fn known(target: &Arg) -> Result<&str, Denial> {
    match target.kind {
        ArgKind::Plain | ArgKind::Glob if !target.text.is_empty() => Ok(&target.text),
        ArgKind::Plain | ArgKind::Glob => Err(Denial::new("path.unknown", "The path is empty.")),
        ArgKind::Unknown | ArgKind::Several => Err(unknown_path_denial(&target.text)),
    }
}

fn unknown_path(text: &str) -> RuleResult {
    Err(unknown_path_denial(text))
}

fn unknown_path_denial(text: &str) -> Denial {
    Denial::new("path.unknown", format!("The path '{text}…' is not known before the command runs."))
        .instead("Write a literal path, without variables, substitutions, '~' or patterns.")
}

fn outside(text: &str) -> RuleResult {
    deny_with_hint(
        "path.outside",
        format!("'{text}' is outside the project directory."),
        "Write to a path inside the project, or to /dev/null.",
    )
}

fn not_read(text: &str) -> RuleResult {
    deny_with_hint(
        "path.read",
        format!("'{text}' is outside the project directory."),
        "Read files in the project, the toolchain (/usr, /opt) or the session's temporary directory.",
    )
}

pub fn has_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a pattern contains a literal letter or digit, outside brackets.
fn has_literal_character(pattern: &str) -> bool {
    let mut bracket = false;
    pattern.bytes().any(|byte| {
        bracket = match byte {
            b'[' => true,
            b']' => false,
            _ => bracket,
        };
        !bracket && byte.is_ascii_alphanumeric()
    })
}

fn bounded(text: &str) -> Option<&str> {
    (text.len() <= MAX_PATH && text.bytes().filter(|b| *b == b'/').count() <= MAX_SLASHES).then_some(text)
}
