//! Artifacts: files that one harness publishes and others use.
//!
//! The registry is written before the file is at its place, and names the copy that is to be moved there. So a process that is killed in
//! between leaves enough for the next one to finish.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use autonoe_files::{ReadError, TEMPORARY, UntrustedDir, Visibility, open_beneath, temporary_name};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{SharedContext, SharedContextError};

/// Maximum size of an artifact, in bytes.
pub const MAX_ARTIFACT: u64 = 256 * 1024 * 1024;

/// Maximum size of all artifacts, in bytes, and their number.
pub(super) const MAX_TOTAL: u64 = 2 * 1024 * 1024 * 1024;
pub(super) const MAX_COUNT: usize = 1000;

/// Maximum size of what a publisher says about an artifact, in bytes of JSON.
const MAX_METADATA: usize = 16 * 1024;

const ARTIFACTS: &str = "artifacts";
const REGISTRY: &str = "registry.json";

/// Maximum size of the registry, in bytes.
const MAX_REGISTRY: u64 = 32 * 1024 * 1024;

/// Bytes that are copied at once.
const CHUNK: usize = 64 * 1024;

/// A published file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    pub name: String,
    pub source_harness: String,
    /// Where it is.
    pub path: PathBuf,
    pub created_at: Timestamp,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Of its content, in hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    /// The file that it was published from.
    pub origin: PathBuf,
    /// A complete copy that a killed process has not moved to its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    staged: Option<String>,
}

/// A file to be published: `path` below `root`. No link in `path` is followed.
#[derive(Debug, Clone, Copy)]
pub struct ArtifactFile<'a> {
    pub root: &'a Path,
    pub path: &'a Path,
}

type Registry = BTreeMap<String, Artifact>;

impl SharedContext {
    /// Copies a file to `artifacts/NAME`. What was published under that name is replaced.
    pub fn publish_artifact(
        &self,
        name: &str,
        file: ArtifactFile<'_>,
        harness: &str,
        metadata: Map<String, Value>,
    ) -> Result<Artifact, SharedContextError> {
        if !is_name(name) {
            return Err(SharedContextError::ArtifactName(name.chars().take(80).collect()));
        }
        if serde_json::to_string(&metadata).map_or(0, |text| text.len()) > MAX_METADATA {
            return Err(SharedContextError::LargeEvent);
        }
        let shown = file.root.join(file.path).display().to_string();
        let not_read =
            |error: &ReadError| SharedContextError::File { path: shown.clone(), why: error.to_string() };
        let source = open_beneath(file.root, file.path).map_err(|error| not_read(&error))?;
        let bytes = source.metadata().map_err(|error| not_read(&error.into()))?.len();
        if bytes > MAX_ARTIFACT {
            return Err(SharedContextError::LargeArtifact { path: shown });
        }
        let _turn = self.turn()?;
        let directory = self.artifacts_directory()?;
        let mut registry = self.registry(&directory)?;
        let others: u64 = registry.values().filter(|other| other.name != name).map(|other| other.bytes).sum();
        let is_new = !registry.contains_key(name);
        if others + bytes > MAX_TOTAL || (is_new && registry.len() >= MAX_COUNT) {
            return Err(SharedContextError::NoRoom { path: shown });
        }
        let staged = temporary_name();
        let copied = copy(source, &directory, &staged);
        let (sha256, bytes) = match copied {
            Ok((_, bytes)) if bytes > MAX_ARTIFACT => {
                remove(&directory, &staged);
                return Err(SharedContextError::LargeArtifact { path: shown });
            }
            Ok(copied) => copied,
            Err(error) => {
                remove(&directory, &staged);
                return Err(self.not_written(ARTIFACTS, &error));
            }
        };
        let artifact = Artifact {
            name: name.to_owned(),
            source_harness: harness.to_owned(),
            path: self.path.join(ARTIFACTS).join(name),
            created_at: Timestamp::now(),
            metadata,
            sha256,
            bytes,
            origin: file.root.join(file.path),
            staged: Some(staged.to_string_lossy().into_owned()),
        };
        registry.insert(name.to_owned(), artifact);
        self.write_registry(&directory, &registry)?;
        let mut registry = self.place_staged(&directory, registry)?;
        registry.remove(name).ok_or_else(|| SharedContextError::NoArtifact(name.to_owned()))
    }

    /// The path of an artifact, whose content is as it was published.
    pub fn consume_artifact(&self, name: &str) -> Result<PathBuf, SharedContextError> {
        self.open_artifact(name).map(|(artifact, _)| artifact.path)
    }

    /// The content of an artifact of at most `limit` bytes; `None` if it is larger.
    pub fn read_artifact(
        &self,
        name: &str,
        limit: u64,
    ) -> Result<(Artifact, Option<Vec<u8>>), SharedContextError> {
        let (artifact, mut file) = self.open_artifact(name)?;
        if artifact.bytes > limit {
            return Ok((artifact, None));
        }
        let mut content = Vec::new();
        let read = file.take_from_start(limit, &mut content);
        read.map_err(|error| self.not_written(ARTIFACTS, &error))?;
        Ok((artifact, Some(content)))
    }

    /// All artifacts, by their names.
    pub fn artifacts(&self) -> Result<Vec<Artifact>, SharedContextError> {
        let _turn = self.turn()?;
        let directory = self.artifacts_directory()?;
        Ok(self.registry(&directory)?.into_values().collect())
    }

    fn open_artifact(&self, name: &str) -> Result<(Artifact, CheckedFile), SharedContextError> {
        if !is_name(name) {
            return Err(SharedContextError::ArtifactName(name.chars().take(80).collect()));
        }
        let _turn = self.turn()?;
        let directory = self.artifacts_directory()?;
        let mut registry = self.registry(&directory)?;
        let missing = || SharedContextError::NoArtifact(name.to_owned());
        let artifact = registry.remove(name).ok_or_else(missing)?;
        let opened =
            directory.open_file(OsStr::new(name)).map_err(|error| self.not_read(ARTIFACTS, &error))?;
        let mut file = opened.ok_or_else(missing)?;
        let hash = hash(&mut file).map_err(|error| self.not_written(ARTIFACTS, &error))?;
        match hash == artifact.sha256 {
            true => Ok((artifact, CheckedFile(file))),
            false => Err(SharedContextError::ChangedArtifact(name.to_owned())),
        }
    }

    fn artifacts_directory(&self) -> Result<UntrustedDir, SharedContextError> {
        let made = self.directory.create_missing(Path::new(ARTIFACTS), Visibility::OwnerOnly);
        made.map_err(|error| self.not_written(ARTIFACTS, &error))
    }

    /// Requires a turn. A damaged registry is kept aside; the files stay.
    fn registry(&self, directory: &UntrustedDir) -> Result<Registry, SharedContextError> {
        let why = match directory.read(OsStr::new(REGISTRY), MAX_REGISTRY) {
            Ok(None) => return Ok(Registry::new()),
            Ok(Some(bytes)) => match serde_json::from_slice::<Registry>(&bytes) {
                Ok(registry) => return self.place_staged(directory, registry),
                Err(error) => format!("it is not a list of artifacts: {error}"),
            },
            Err(ReadError::Io(error)) => return Err(self.not_written(ARTIFACTS, &error)),
            Err(error) => error.to_string(),
        };
        let (from, to) = (OsStr::new(REGISTRY), OsStr::new("registry.json.damaged"));
        let moved = directory.move_to(from, &self.directory, to);
        moved.map_err(|error| self.not_written(ARTIFACTS, &error))?;
        let notice = format!(
            "{} cannot be used: {why}. It was kept as registry.json.damaged.",
            self.name("artifacts/registry.json")
        );
        self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(notice);
        Ok(Registry::new())
    }

    fn write_registry(
        &self,
        directory: &UntrustedDir,
        registry: &Registry,
    ) -> Result<(), SharedContextError> {
        let text = serde_json::to_vec_pretty(registry).unwrap_or_default();
        let written = directory.replace(OsStr::new(REGISTRY), &text, Visibility::OwnerOnly);
        written.map_err(|error| self.not_written(ARTIFACTS, &error))
    }

    /// Moves complete copies to their places, and removes what killed processes have left. Requires a turn.
    fn place_staged(
        &self,
        directory: &UntrustedDir,
        mut registry: Registry,
    ) -> Result<Registry, SharedContextError> {
        let mut has_changed = false;
        for artifact in registry.values_mut() {
            let Some(staged) = artifact.staged.take() else { continue };
            has_changed = true;
            if directory.has(OsStr::new(&staged)) {
                let moved = directory.move_to(OsStr::new(&staged), directory, OsStr::new(&artifact.name));
                moved.map_err(|error| self.not_written(ARTIFACTS, &error))?;
            }
        }
        if has_changed {
            self.write_registry(directory, &registry)?;
        }
        let names = directory.names(2 * MAX_COUNT).unwrap_or_default();
        for name in names.iter().filter(|name| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())) {
            remove(directory, name);
        }
        Ok(registry)
    }
}

/// Content that is as it was published.
struct CheckedFile(File);

impl CheckedFile {
    fn take_from_start(&mut self, limit: u64, content: &mut Vec<u8>) -> io::Result<()> {
        io::Seek::rewind(&mut self.0)?;
        (&self.0).take(limit).read_to_end(content).map(drop)
    }
}

/// Letters, digits and a few signs; not a file of ours.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= 100
        && name.chars().all(is_plain)
        && !name.starts_with('.')
        && name != REGISTRY
}

/// Copies at most one byte more than is allowed. Returns the hash and the size of what was copied.
fn copy(source: File, directory: &UntrustedDir, name: &OsString) -> io::Result<(String, u64)> {
    let mut target = directory.create_new(name, Visibility::OwnerOnly)?;
    let (mut hasher, mut total) = (Sha256::new(), 0);
    let mut source = source.take(MAX_ARTIFACT + 1);
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = source.read(&mut buffer)?;
        if count == 0 {
            target.sync_all()?;
            return Ok((hex(hasher), total));
        }
        hasher.update(&buffer[..count]);
        target.write_all(&buffer[..count])?;
        total += count as u64;
    }
}

fn hash(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hasher)),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn remove(directory: &UntrustedDir, name: &OsStr) {
    // Ignored: the next process that publishes removes it.
    let _ = directory.remove(name);
}
