//! What the built-in tools share: the directory they work in, where commands are run and which of them still are, and
//! what the model has seen of each file.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_core::files::FileRules;
use autonoe_sandbox::SessionSandbox;

use crate::jobs::Jobs;
use crate::outputs::Outputs;
use crate::reach::Reach;

/// One session's view of a project directory.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    session_sandbox: Arc<SessionSandbox>,
    reach: Reach,
    seen: Mutex<Seen>,
    outputs: Outputs,
    cwd: Mutex<PathBuf>,
    jobs: Jobs,
}

impl Workspace {
    /// A workspace in the existing directory `root`, whose commands run in `session_sandbox`. Every file is put to `rules` when
    /// it is opened; they should let `outputs` be read, where outputs are saved that are too long to be shown.
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
            reach: Reach::new(rules),
            seen: Mutex::default(),
            outputs: Outputs::new(outputs),
            jobs: Jobs::default(),
        })
    }

    /// The directory, absolute and without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where outputs are saved.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Where the next command starts, and so where it must be judged from: a directory of the project, absolute and
    /// without symbolic links. If the last command's directory is no longer that, it is the root.
    pub fn cwd(&self) -> PathBuf {
        let mut cwd = self.cwd.lock().unwrap_or_else(PoisonError::into_inner);
        if cwd.canonicalize().ok().as_ref() != Some(&*cwd) || !cwd.is_dir() {
            cwd.clone_from(&self.root);
        }
        cwd.clone()
    }

    /// Has the next command start in `directory`. False, and nothing changes, if that is not in the project.
    pub(crate) fn enter(&self, directory: &Path) -> bool {
        let Ok(real) = directory.canonicalize() else { return false };
        let is_inside = real.starts_with(&self.root) && real.is_dir();
        if is_inside {
            *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = real;
        }
        is_inside
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn session_sandbox(&self) -> &SessionSandbox {
        &self.session_sandbox
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The path a model means: relative ones start at the root.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The path as the model is told: relative to the root where possible.
    pub(crate) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// What was seen of each file. Held while a file is changed, so that changes happen one after
    /// another.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        // A panic elsewhere leaves at worst an outdated entry, which is noticed by its content.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of each file when this session last read or wrote it, by canonical path.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashMap<PathBuf, Fingerprint>);

impl Seen {
    pub(crate) fn record(&mut self, path: PathBuf, content: Fingerprint) {
        self.0.insert(path, content);
    }

    /// Whether the file was seen and is different now. A file never seen has not changed.
    pub(crate) fn has_changed(&self, path: &Path, content: Fingerprint) -> bool {
        self.0.get(path).is_some_and(|seen| *seen != content)
    }
}

/// Tells one content from another. Times are left out: a file that was only touched is the same.
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

/// A fingerprint of content that comes in pieces.
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
    fn pieces_do_not_matter() {
        let mut scan = FingerprintScan::default();
        for piece in ["ab", "", "c"] {
            scan.push(piece.as_bytes());
        }
        assert_eq!(scan.finish(), Fingerprint::of(b"abc"));
        assert_ne!(Fingerprint::of(b"abd"), Fingerprint::of(b"abc"));
    }
}
