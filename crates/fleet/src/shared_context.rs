//! What the harnesses of a fleet share, below `.harness/shared/` of the project:
//!
//! ```text
//! context.json               values: global ones at the top, those of a harness below `harnesses.ID`
//! events.jsonl               what happened, a JSON object each; older ones in events.1.jsonl
//! artifacts/NAME             files that a harness has published
//! artifacts/registry.json    who published them and when, with their hashes
//! lock                       held while anything here is read or written
//! ```
//!
//! Many processes use it at the same time. Each operation takes the lock, reads, and replaces a file by renaming, so a process that is
//! killed leaves the state before or after it. Links are not followed, and every file has a limit.

mod artifacts;
mod events;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use autonoe_files::{ReadError, UntrustedDir, Visibility, WriteFailure, show_bytes};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use artifacts::{Artifact, ArtifactFile, MAX_ARTIFACT};
pub use events::CrossHarnessEvent;

const HARNESS: &str = ".harness";
const SHARED: &str = "shared";
const CONTEXT: &str = "context.json";
const LOCK: &str = "lock";

/// Keys at the top of the file that are ours.
const META: &str = "_meta";
const HARNESSES: &str = "harnesses";

/// Version of the file's format.
const VERSION: u32 = 1;

/// Maximum size of one value, in bytes of JSON.
pub const MAX_VALUE: usize = 64 * 1024;

/// Maximum size of the whole file, in bytes.
const MAX_CONTEXT: usize = 4 * 1024 * 1024;

/// Maximum length of a key, in bytes, and of its parts.
const MAX_KEY: usize = 200;
const MAX_PARTS: usize = 16;

/// How long to wait for the lock. Nobody holds it longer than it takes to copy an artifact.
const LOCK_LIMIT: Duration = Duration::from_secs(60);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug, thiserror::Error)]
pub enum SharedContextError {
    #[error("'{0}' is not a key; use names joined by dots, such as `api.version`")]
    Key(String),
    #[error("'{0}' is not the id of a harness")]
    HarnessId(String),
    #[error("The key '{0}' is a group of values; name one of them.")]
    IsGroup(String),
    #[error("The key '{inner}' is a value, so '{key}' cannot be below it.")]
    IsValue { inner: String, key: String },
    #[error("The value of '{key}' is larger than {}.", show_bytes(MAX_VALUE as u64))]
    LargeValue { key: String },
    #[error("The shared context would be larger than {}; remove values first.", show_bytes(MAX_CONTEXT as u64))]
    Full,
    #[error("'{0}' is not the name of an artifact; use at most 100 letters, digits, `-`, `_` and `.`")]
    ArtifactName(String),
    #[error("There is no artifact '{0}'.")]
    NoArtifact(String),
    #[error("The artifact '{0}' is not as it was published.")]
    ChangedArtifact(String),
    #[error("{path} is larger than {}, and so cannot be an artifact.", show_bytes(MAX_ARTIFACT))]
    LargeArtifact { path: String },
    #[error(
        "There is no room for {path}: all artifacts together may have at most {}, in {} files.",
        show_bytes(artifacts::MAX_TOTAL),
        artifacts::MAX_COUNT
    )]
    NoRoom { path: String },
    #[error("The details of an event may have at most {}.", show_bytes(events::MAX_EVENT as u64))]
    LargeEvent,
    #[error("{path} cannot be used: {why}.")]
    File { path: String, why: String },
    #[error("{path} has been locked by another process for {} s.", LOCK_LIMIT.as_secs())]
    Locked { path: String },
}

pub struct SharedContext {
    path: PathBuf,
    directory: UntrustedDir,
    /// The values as this process last read or wrote them.
    known: Mutex<Map<String, Value>>,
    /// Sentences for people about what was found damaged.
    notices: Mutex<Vec<String>>,
}

/// While it exists, no other process reads or writes.
struct Turn {
    _file: File,
}

impl SharedContext {
    /// Creates what is missing.
    pub fn open(project: &Path) -> Result<Self, SharedContextError> {
        let path = project.join(HARNESS).join(SHARED);
        let opened = UntrustedDir::open(project).and_then(|root| {
            let all = root.create_missing(Path::new(HARNESS), Visibility::OwnerOnly)?;
            // So that no repository takes these files for its own.
            all.write_missing(OsStr::new(".gitignore"), b"*\n")?;
            all.create_missing(Path::new(SHARED), Visibility::OwnerOnly)
        });
        let directory = opened.map_err(|error| unusable(&path, &error))?;
        Ok(Self { path, directory, known: Mutex::default(), notices: Mutex::default() })
    }

    /// `None` if nothing was ever shared in this project.
    pub fn find(project: &Path) -> Result<Option<Self>, SharedContextError> {
        match project.join(HARNESS).join(SHARED).symlink_metadata() {
            Ok(_) => Self::open(project).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Sets a value: a global one, or one of a harness. A key may be a path, such as `api.version`.
    pub fn set(&self, key: &str, value: Value, harness: Option<&str>) -> Result<(), SharedContextError> {
        let path = full_path(key, harness)?;
        if value.to_string().len() > MAX_VALUE {
            return Err(SharedContextError::LargeValue { key: key.to_owned() });
        }
        let _turn = self.turn()?;
        let mut values = self.read()?;
        insert(&mut values, &path, value, key)?;
        self.write(values)
    }

    /// The value; `None` if there is none. Of a group, all values in it.
    pub fn get(&self, key: &str, harness: Option<&str>) -> Result<Option<Value>, SharedContextError> {
        let path = full_path(key, harness)?;
        self.load_from_file()?;
        let known = self.known();
        let (first, rest) = path.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut found = known.get(first);
        for part in rest {
            found = found.and_then(|value| value.get(part));
        }
        Ok(found.cloned())
    }

    /// Everything, as the file has it.
    pub fn all(&self) -> Result<Value, SharedContextError> {
        self.load_from_file()?;
        Ok(Value::Object(self.known().clone()))
    }

    /// Writes what this process knows, if the file is gone. Otherwise the file is newer: each [`Self::set`] has written it.
    pub fn sync_to_file(&self) -> Result<(), SharedContextError> {
        let _turn = self.turn()?;
        if self.directory.has(OsStr::new(CONTEXT)) {
            return Ok(());
        }
        let known = self.known().clone();
        self.write(known)
    }

    /// Takes over what other processes have written.
    pub fn load_from_file(&self) -> Result<(), SharedContextError> {
        let _turn = self.turn()?;
        let values = self.read()?;
        *self.known() = values;
        Ok(())
    }

    /// Sentences about what was found damaged and kept aside; each once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Map<String, Value>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) -> Result<Turn, SharedContextError> {
        let opened = self.directory.open_to_append(OsStr::new(LOCK), Visibility::OwnerOnly);
        let file = opened.map_err(|error| self.not_read(LOCK, &error))?;
        let deadline = Instant::now() + LOCK_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { _file: file }),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(SharedContextError::Locked { path: self.name(LOCK) });
                }
                Err(std::fs::TryLockError::Error(error)) => return Err(self.not_written(LOCK, &error)),
            }
        }
    }

    /// The values. A damaged file is kept aside, and there are none then. Requires a turn.
    fn read(&self) -> Result<Map<String, Value>, SharedContextError> {
        let why = match self.directory.read(OsStr::new(CONTEXT), MAX_CONTEXT as u64) {
            Ok(None) => return Ok(Map::new()),
            Ok(Some(bytes)) => match serde_json::from_slice(&bytes) {
                Ok(Value::Object(values)) => return Ok(values),
                Ok(_) => "it is not a JSON object".to_owned(),
                Err(error) => format!("it is not JSON: {error}"),
            },
            Err(ReadError::Io(error)) => return Err(self.not_written(CONTEXT, &error)),
            Err(error) => error.to_string(),
        };
        self.keep_aside(CONTEXT, &why)?;
        Ok(Map::new())
    }

    /// Requires a turn.
    fn write(&self, mut values: Map<String, Value>) -> Result<(), SharedContextError> {
        let now = Timestamp::now().to_string();
        let created = values.get(META).and_then(|meta| meta.get("created_at")).cloned();
        let created = created.filter(Value::is_string).unwrap_or_else(|| json!(now));
        values.shift_remove(META);
        let meta = json!({ "created_at": created, "version": VERSION, "updated_at": now });
        values.shift_insert(0, META.to_owned(), meta);
        let text = serde_json::to_vec_pretty(&values).unwrap_or_default();
        if text.len() > MAX_CONTEXT {
            return Err(SharedContextError::Full);
        }
        self.replace(CONTEXT, &text)?;
        *self.known() = values;
        Ok(())
    }

    /// Renames a file that cannot be used, and says so: in a sentence, and as an event. Requires a turn.
    fn keep_aside(&self, name: &str, why: &str) -> Result<(), SharedContextError> {
        let kept = (1..).map(|number| format!("{name}.damaged-{number}"));
        let kept = kept.take(1000).find(|kept| !self.directory.has(OsStr::new(kept)));
        let kept = kept.unwrap_or_else(|| format!("{name}.damaged"));
        let moved = self.directory.move_to(OsStr::new(name), &self.directory, OsStr::new(&kept));
        moved.map_err(|error| self.not_written(name, &error))?;
        let notice = format!("{} cannot be used: {why}. It was kept as {kept}.", self.name(name));
        let details = json!({ "file": name, "why": why, "kept_as": kept });
        self.append_event("context_damaged", None, &details)?;
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
        Ok(())
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), SharedContextError> {
        let replaced = self.directory.replace(OsStr::new(name), content, Visibility::OwnerOnly);
        replaced.map_err(|error| self.not_written(name, &error))
    }

    /// For messages.
    fn name(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn not_read(&self, name: &str, error: &ReadError) -> SharedContextError {
        SharedContextError::File { path: self.name(name), why: error.to_string() }
    }

    fn not_written(&self, name: &str, error: &io::Error) -> SharedContextError {
        unusable(&self.path.join(name), error)
    }
}

fn unusable(path: &Path, error: &io::Error) -> SharedContextError {
    let why = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            "a part of its path is a symbolic link or a file, not a directory".to_owned()
        }
        Some(_) | None => WriteFailure::of(path, error).why,
    };
    SharedContextError::File { path: path.display().to_string(), why }
}

/// The names from the top of the file down to the value.
fn full_path(key: &str, harness: Option<&str>) -> Result<Vec<String>, SharedContextError> {
    let wrong = || SharedContextError::Key(key.chars().take(80).collect());
    let parts: Vec<&str> = key.split('.').collect();
    let is_name = |part: &&str| !part.is_empty() && !part.chars().any(|letter| letter.is_control());
    if key.len() > MAX_KEY || parts.len() > MAX_PARTS || !parts.iter().all(is_name) {
        return Err(wrong());
    }
    let own = match harness {
        // The names of the file's own structure are not keys.
        None if [META, HARNESSES].contains(&parts[0]) => return Err(wrong()),
        None => Vec::new(),
        // An id may contain dots, so it is one part.
        Some(id) if !id.is_empty() && id.len() <= 64 => vec![HARNESSES.to_owned(), id.to_owned()],
        Some(id) => return Err(SharedContextError::HarnessId(id.chars().take(80).collect())),
    };
    Ok(own.into_iter().chain(parts.into_iter().map(str::to_owned)).collect())
}

fn insert(
    values: &mut Map<String, Value>,
    path: &[String],
    value: Value,
    key: &str,
) -> Result<(), SharedContextError> {
    let Some((last, groups)) = path.split_last() else { return Ok(()) };
    let mut group = values;
    for name in groups {
        let below = group.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(below) = below else {
            return Err(SharedContextError::IsValue { inner: name.clone(), key: key.to_owned() });
        };
        group = below;
    }
    if group.get(last).is_some_and(Value::is_object) && !value.is_object() {
        return Err(SharedContextError::IsGroup(key.to_owned()));
    }
    group.insert(last.clone(), value);
    Ok(())
}

#[cfg(test)]
mod tests;
