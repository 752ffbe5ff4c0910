//! Where commands may write: inside the project, where a path really leads, and not what steers agents or git.
//! One set of rules for redirections, for path arguments and for the file tools.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::verdict::{Denial, Ruling, deny, deny_but};
use crate::words::{Arg, Kind};

/// The hand-over note, in the project's root.
pub const NOTE: &str = ".autonoe-note.md";

/// The longest path that is looked up, in bytes and in components.
pub const MAX_PATH: usize = 4096;
const MAX_COMPONENTS: usize = 128;

/// Directories that nobody writes by hand, wherever in the project they are.
const PROTECTED: [(&str, &str); 6] = [
    (".autonoe", "Direct writes to .autonoe/ are not allowed; use the mcp__autonoe__ tools."),
    (".git", "Direct writes to .git/ are not allowed; use git."),
    (".claude", "Writing to .claude/ is not allowed: it configures an agent."),
    (".codex", "Writing to .codex/ is not allowed: it configures an agent."),
    (".gemini", "Writing to .gemini/ is not allowed: it configures an agent."),
    (".cursor", "Writing to .cursor/ is not allowed: it configures an agent."),
];

/// Files in the project's root that name programs an agent starts.
const PROTECTED_FILES: [(&str, &str); 1] =
    [(".mcp.json", "Writing .mcp.json is not allowed: it names programs that agents start.")];

/// What the sandbox keeps read-only in the project's root: all that is protected, but for git's own, which git writes.
pub fn steering() -> impl Iterator<Item = &'static str> {
    let names = PROTECTED.iter().chain(&PROTECTED_FILES).map(|(name, _)| *name);
    names.filter(|name| *name != ".git")
}

/// Places outside the project that hold nothing of anybody's.
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

/// Devices that a command may read.
const READABLE_DEVICES: [&str; 3] = ["/dev/null", "/dev/stdin", "/dev/zero"];

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Project files and the temporary directory.
    Project,
    /// The hand-over note only.
    Note,
}

/// What was found while one command was judged, so that nothing is looked up twice.
#[derive(Debug, Default)]
pub struct Lookups(RefCell<HashMap<PathBuf, Found>>);

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Directory,
    Link,
    Other,
    Nothing,
    /// It cannot be looked at.
    Unknown,
}

impl Lookups {
    fn at(&self, path: &Path) -> Found {
        if let Some(found) = self.0.borrow().get(path) {
            return *found;
        }
        let found = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => Found::Link,
            Ok(metadata) if metadata.is_dir() => Found::Directory,
            Ok(_) => Found::Other,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(_) => Found::Unknown,
        };
        self.0.borrow_mut().insert(path.to_owned(), found);
        found
    }

    /// Whether there is a directory, or a link that may lead to one.
    pub fn may_be_directory(&self, path: &Path) -> bool {
        matches!(self.at(path), Found::Directory | Found::Link)
    }
}

/// The places of a policy.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The project, canonical.
    pub root: PathBuf,
    /// The session's own temporary directory, canonical.
    pub temp: Option<PathBuf>,
    /// Further places that may be read, canonical.
    pub readable: Vec<PathBuf>,
    /// What may be written.
    pub scope: Scope,
    /// What may not be written, canonical: what checks judge by.
    pub guarded: Vec<PathBuf>,
}

/// Why what checks judge by is not written, if it is that.
pub(crate) fn guarded(guarded: &[PathBuf], real: &Path, shown: &str) -> Option<String> {
    guarded.iter().any(|file| file == real).then(|| {
        format!("'{shown}' belongs to the checks that decide about this work, and may not be changed by it.")
    })
}

impl Paths {
    /// Whether an argument names a place that may be written, from each of the directories `from`.
    pub fn write(&self, lookups: &Lookups, from: &[PathBuf], target: &Arg) -> Ruling {
        let text = known(target)?;
        if target.kind == Kind::Glob {
            return self.write_pattern(lookups, from, text);
        }
        if ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&text) {
            return Ok(());
        }
        from.iter().try_for_each(|directory| self.write_from(lookups, directory, text))
    }

    fn write_from(&self, lookups: &Lookups, directory: &Path, text: &str) -> Ruling {
        let Some(real) = bounded(text).and_then(|text| self.resolve(lookups, directory, text)) else {
            return outside(text);
        };
        self.write_real(&real, text)
    }

    /// Where a path really leads. From the root, which is canonical, a path without detours needs few lookups.
    pub fn resolve(&self, lookups: &Lookups, directory: &Path, text: &str) -> Option<PathBuf> {
        let path = directory.join(text);
        let direct = Path::new(text).components().all(|component| matches!(component, Component::Normal(_)));
        if !direct || directory != self.root {
            return real_path(&path).ok();
        }
        let mut so_far = directory.to_owned();
        for component in Path::new(text).components() {
            so_far.push(component);
            match lookups.at(&so_far) {
                Found::Link => return real_path(&path).ok(),
                Found::Directory => {}
                // Below a file there is nothing either.
                Found::Other | Found::Nothing => break,
                Found::Unknown => return None,
            }
        }
        Some(path)
    }

    fn write_real(&self, real: &Path, text: &str) -> Ruling {
        if real.file_name().is_some_and(|name| name.to_string_lossy().starts_with('-')) {
            return deny_but(
                "path.dash",
                "A file named like an option is a trap.",
                "Choose a name without a leading '-'.",
            );
        }
        let inside = match (real.strip_prefix(&self.root), &self.temp) {
            (Ok(inside), _) => inside,
            (Err(_), Some(temp)) if self.scope == Scope::Project => match real.strip_prefix(temp) {
                Ok(inside) => inside,
                Err(_) => return outside(text),
            },
            (Err(_), _) => return outside(text),
        };
        if self.scope == Scope::Note {
            return if inside == Path::new(NOTE) {
                Ok(())
            } else {
                deny_but(
                    "path.sync",
                    format!("Sync may write only {NOTE}, not '{text}'."),
                    format!("Write to {NOTE} in the project's root, or to /dev/null."),
                )
            };
        }
        if let Some(reason) = guarded(&self.guarded, real, text) {
            return deny_but(
                "path.guarded",
                reason,
                "If it is wrong, say so in the hand-over note; the user decides.",
            );
        }
        match unwritable(inside) {
            Some(reason) => deny("path.protected", reason),
            None => Ok(()),
        }
    }

    /// Whether something may be read: in the project, the temporary directory or the toolchain.
    pub fn read(&self, lookups: &Lookups, from: &[PathBuf], target: &Arg) -> Ruling {
        let text = match target.kind {
            Kind::Plain => target.text.as_str(),
            Kind::Glob => target.text.split(['*', '?', '[']).next().unwrap_or_default(),
            Kind::Unknown | Kind::Several if target.text.starts_with(['/', '~', '.']) => &target.text,
            Kind::Unknown | Kind::Several => return Ok(()),
        };
        if text == "-" || text.is_empty() || READABLE_DEVICES.contains(&text) {
            return Ok(());
        }
        if text.starts_with('~') && target.kind != Kind::Plain {
            return not_read(text);
        }
        for directory in from {
            let text = bounded(text).unwrap_or("/");
            let real =
                self.resolve(lookups, directory, text).unwrap_or_else(|| lexical(&directory.join(text)));
            let mut readable = self.temp.iter().chain(&self.readable).chain([&self.root]);
            if !readable.any(|place| real.starts_with(place)) && !is_toolchain(&real) {
                return not_read(text);
            }
        }
        Ok(())
    }

    /// A pattern in the last component, in a directory without links.
    fn write_pattern(&self, lookups: &Lookups, from: &[PathBuf], text: &str) -> Ruling {
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
            let links = folder.read_dir().into_iter().flatten().take(MAX_PATH).flatten();
            if links.filter_map(|entry| entry.file_type().ok()).any(|kind| kind.is_symlink()) {
                return unknown_path(text);
            }
        }
        Ok(())
    }

    /// Whether something may be removed or moved away: itself, not what it links to.
    pub fn remove(&self, from: &[PathBuf], target: &Arg) -> Ruling {
        let text = known(target)?;
        let trimmed = text.trim_end_matches('/');
        let (parent, last) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
        let parent = if parent.is_empty() { "/" } else { parent };
        if matches!(last, "" | "." | "..") || has_pattern(parent) {
            return deny_but(
                "path.remove",
                format!("'{text}' is too wide to remove."),
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
                return deny("path.remove", "The project itself may not be removed.");
            }
            if self.guarded.iter().any(|file| file.starts_with(&real)) {
                return deny(
                    "path.guarded",
                    format!("'{text}' holds files of the checks that decide about this work."),
                );
            }
            if target.kind == Kind::Glob {
                let bare = !names_something(last);
                if last.starts_with('.') || (folder == self.root && bare) {
                    return deny_but(
                        "path.remove",
                        format!("'{text}' would take everything in the project's root."),
                        "Name the files themselves.",
                    );
                }
            }
            self.write_real(&real, text)?;
        }
        Ok(())
    }

    /// Like [`Paths::enter`], for a program that changes its directory without the shell's view of it.
    pub fn enter_really(&self, from: &[PathBuf], text: &str) -> Result<Vec<PathBuf>, Denial> {
        let mut real = Vec::new();
        for directory in from {
            let path =
                real_path(&directory.join(bounded(text).unwrap_or("/"))).unwrap_or_else(|_| "/".into());
            real.extend(self.enter(&[path], ".")?);
        }
        Ok(real)
    }

    /// The directories that `cd` leads to from each of `from`: in the project, and nothing protected.
    pub fn enter(&self, from: &[PathBuf], text: &str) -> Result<Vec<PathBuf>, Denial> {
        let mut entered = Vec::new();
        for directory in from {
            let logical = lexical(&directory.join(bounded(text).unwrap_or("/")));
            let real = real_path(&logical).ok();
            let temp = self.temp.as_deref();
            match real.as_deref().map(|real| (real.strip_prefix(&self.root), real)) {
                Some((Ok(inside), _)) => {
                    if let Some(reason) = protection(inside) {
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

/// Whether a real path belongs to the toolchain, which holds nothing of anybody's.
pub fn is_toolchain(real: &Path) -> bool {
    TOOLCHAIN.iter().any(|place| real.starts_with(place))
}

/// Why a path inside the project may not be written.
pub fn unwritable(inside: &Path) -> Option<&'static str> {
    if inside.file_name().is_some_and(|name| name.eq_ignore_ascii_case("HEAD")) {
        return Some("A file named HEAD makes a directory a git repository.");
    }
    protection(inside)
}

/// Why a path inside the project is protected, compared without case for file systems that ignore it.
pub fn protection(inside: &Path) -> Option<&'static str> {
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

/// Where a path really leads: symbolic links followed as far as it exists, the rest appended. A rest that
/// climbs up, or a link that leads nowhere, is refused.
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

/// A path without `.` and `..`, as the shell's own `cd` understands it.
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
        Kind::Plain | Kind::Glob if !target.text.is_empty() => Ok(&target.text),
        Kind::Plain | Kind::Glob => Err(Denial::new("path.unknown", "The path is empty.")),
        Kind::Unknown | Kind::Several => Err(unknown_path_denial(&target.text)),
    }
}

fn unknown_path(text: &str) -> Ruling {
    Err(unknown_path_denial(text))
}

fn unknown_path_denial(text: &str) -> Denial {
    Denial::new("path.unknown", format!("Where the path '{text}…' leads is not known before it runs."))
        .instead("Write the path out, without variables, substitutions, '~' or patterns.")
}

fn outside(text: &str) -> Ruling {
    deny_but(
        "path.outside",
        format!("'{text}' is outside the project directory."),
        "Write to a path inside the project, or to /dev/null.",
    )
}

fn not_read(text: &str) -> Ruling {
    deny_but(
        "path.read",
        format!("'{text}' is outside the project directory."),
        "Read files of the project, of its toolchain (/usr, /opt) or of the session's temporary directory.",
    )
}

fn has_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a pattern has a letter or digit of its own, outside brackets.
fn names_something(pattern: &str) -> bool {
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
    (text.len() <= MAX_PATH && text.bytes().filter(|b| *b == b'/').count() <= MAX_COMPONENTS).then_some(text)
}
