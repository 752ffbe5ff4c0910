//! The sandbox layers of this machine, each with what makes `autonoe` use it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::result::Result;

/// Where programs are looked for.
const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// A layer.
pub struct Layer {
    /// What it is called.
    pub name: &'static str,
    /// Where programs are found.
    path: PathBuf,
    is_off: bool,
    /// Keeps what the path leads to.
    _directory: TempDir,
}

impl Layer {
    /// Has a run of `autonoe` use it, with one more place for programs.
    pub fn apply(&self, command: &mut Command, programs: &Path) {
        command.env("PATH", format!("{}:{}", programs.display(), self.path.display()));
        if self.is_off {
            command.env("AUTONOE_NO_SANDBOX", "1");
        }
    }
}

/// Those that there are: the full one, the one without bubblewrap, and none.
pub fn layers() -> Result<Vec<Layer>> {
    let mut layers = Vec::new();
    if programs().iter().any(|program| program.ends_with("bwrap")) {
        layers.push(layer("bubblewrap", true, false)?);
    }
    layers.push(layer("Landlock", false, false)?);
    layers.push(layer("no sandbox", false, true)?);
    Ok(layers)
}

fn layer(name: &'static str, has_bubblewrap: bool, is_off: bool) -> Result<Layer> {
    let directory = tempfile::Builder::new().prefix("autonoe-bench-path-").tempdir()?;
    let path = directory.path().join("bin");
    fs::create_dir(&path)?;
    for program in programs().into_iter().filter(|program| has_bubblewrap || !program.ends_with("bwrap")) {
        if let Some(name) = program.file_name() {
            // The first of a name is the one that counts.
            let _ = symlink(&program, path.join(name));
        }
    }
    Ok(Layer { name, path, is_off, _directory: directory })
}

fn programs() -> Vec<PathBuf> {
    let entries = PLACES.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
