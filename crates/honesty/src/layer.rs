//! The sandbox layers on which scenarios are played.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Where programs are looked for; the first of a name counts.
const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    Bubblewrap,
    Landlock,
}

/// A layer, with the search path that makes `autonoe` use it.
pub struct Layer {
    pub kind: LayerKind,
    pub(crate) path: OsString,
    /// Links to all programs but bubblewrap.
    _links: Option<TempDir>,
}

impl Layer {
    /// `None` if bubblewrap is not installed.
    pub fn bubblewrap() -> Option<Self> {
        let is_there = PLACES.iter().any(|place| Path::new(place).join("bwrap").exists());
        is_there.then(|| Self { kind: LayerKind::Bubblewrap, path: PLACES.join(":").into(), _links: None })
    }

    pub fn landlock() -> io::Result<Self> {
        let links = tempfile::Builder::new().prefix("autonoe-path-").tempdir()?;
        for program in programs().filter(|program| !program.ends_with("bwrap")) {
            if let Some(name) = program.file_name() {
                // Fails for the second of a name.
                let _ = symlink(&program, links.path().join(name));
            }
        }
        let path = links.path().as_os_str().to_owned();
        Ok(Self { kind: LayerKind::Landlock, path, _links: Some(links) })
    }

    /// The search path.
    pub fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            LayerKind::Bubblewrap => "bubblewrap",
            LayerKind::Landlock => "Landlock",
        }
    }

    pub(crate) fn has_program(&self, name: &str) -> bool {
        PLACES.iter().any(|place| Path::new(place).join(name).exists())
    }
}

fn programs() -> impl Iterator<Item = PathBuf> {
    let entries = PLACES.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    entries.map(|entry| entry.path())
}
