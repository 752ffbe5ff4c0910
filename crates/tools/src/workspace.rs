//! The state that the built-in tools share: the project directory, the session's sandbox, the background commands, and the
//! contents that the model has seen of each file.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_core::files::FileRules;
use autonoe_sandbox::SessionSandbox;

use crate::file_opener::FileOpener;
use crate::jobs::BackgroundJobs;
use crate::outputs::Outputs;

/// One session's view of a project directory.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    session_sandbox: Arc<SessionSandbox>,
    opener: FileOpener,
    known_files: Mutex<KnownFiles>,
    outputs: Outputs,
    cwd: Mutex<PathBuf>,
    jobs: BackgroundJobs,
}

impl Workspace {
    /// A workspace in the existing directory `root`, whose commands run in `session_sandbox`. Every opened file is checked
    /// against `rules`, which should allow reading `outputs`, the directory for outputs that are too long to show.
    pub fn new(
        root: impl AsRef<Path>,
        session_sandbox: Arc<SessionSandbox>,
        rules: Arc<dyn FileRules>,
        outputs: impl Into<PathBuf>,
    ) -> io::Result<Self> {
        let root = root.as_ref().canonicalize()?;
        Ok(Self {
            cwd: Mutex::new(root.clone()),
            root,
            session_sandbox,
            opener: FileOpener::new(rules),
            known_files: Mutex::default(),
            outputs: Outputs::new(outputs),
            jobs: BackgroundJobs::default(),
        })
    }

    /// The project directory, absolute and without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// The directory in which the next command starts, and relative to which it must be checked: a directory of the project,
    /// absolute and without symbolic links. It is the root if the last command's directory no longer qualifies.
    pub fn cwd(&self) -> PathBuf {
        let mut cwd = self.cwd.lock().unwrap_or_else(PoisonError::into_inner);
        if cwd.canonicalize().ok().as_ref() != Some(&*cwd) || !cwd.is_dir() {
            cwd.clone_from(&self.root);
        }
        cwd.clone()
    }

    /// Makes the next command start in `directory`. Returns false and changes nothing if that is not in the project.
    pub fn enter(&self, directory: &Path) -> bool {
        let Ok(real) = self.session_sandbox.bounds().real(directory).canonicalize() else { return false };
        let is_inside = real.starts_with(&self.root) && real.is_dir();
        if is_inside {
            *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = real;
        }
        is_inside
    }

    pub(crate) fn jobs(&self) -> &BackgroundJobs {
        &self.jobs
    }

    pub fn session_sandbox(&self) -> &Arc<SessionSandbox> {
        &self.session_sandbox
    }

    pub(crate) fn opener(&self) -> &FileOpener {
        &self.opener
    }

    /// The absolute form of a path from the model; relative paths start at the root.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.session_sandbox.bounds().real(&self.root.join(path))
    }

    /// The display form of a path: relative to the root if possible.
    pub(crate) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.session_sandbox.bounds().shown(path).display().to_string(),
        }
    }

    /// The contents that this session knows. Locked while a file is changed, so that changes happen one after another.
    pub(crate) fn known_files(&self) -> MutexGuard<'_, KnownFiles> {
        // A panic leaves at worst an outdated entry, which the fingerprint comparison detects.
        self.known_files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of each file when this session last read or wrote it, keyed by canonical path.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles(HashMap<PathBuf, Fingerprint>);

impl KnownFiles {
    pub(crate) fn record(&mut self, path: PathBuf, content: Fingerprint) {
        self.0.insert(path, content);
    }

    /// Whether the file is known and is different now. An unknown file has not changed.
    pub(crate) fn has_changed(&self, path: &Path, content: Fingerprint) -> bool {
        self.0.get(path).is_some_and(|known| *known != content)
    }
}

/// Identifies a file's content. Times are not part of it: a file that was only touched has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    len: u64,
    hash: u64,
}

impl Fingerprint {
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut scan = FingerprintScan::default();
        scan.push(content);
        scan.finish()
    }
}

/// Computes the fingerprint of content that arrives in chunks.
#[derive(Debug, Default)]
pub(crate) struct FingerprintScan {
    len: u64,
    hasher: DefaultHasher,
}

impl FingerprintScan {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hasher.write(bytes);
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint { len: self.len, hash: self.hasher.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, FingerprintScan};

    #[test]
    fn chunking_does_not_change_the_fingerprint() {
        let mut scan = FingerprintScan::default();
        for chunk in ["ab", "", "c"] {
            scan.push(chunk.as_bytes());
        }
        assert_eq!(scan.finish(), Fingerprint::of(b"abc"));
        assert_ne!(Fingerprint::of(b"abd"), Fingerprint::of(b"abc"));
    }
}
