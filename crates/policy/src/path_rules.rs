//! What the file tools may touch, by where a path really leads: nothing outside the project but what may be
//! read, never what steers agents or git for writing, and in `sync` only the hand-over note.

use std::path::{Path, PathBuf};

use autonoe_core::files::{Access, FileRules};

use crate::paths::{NOTE, guarded, is_toolchain, unwritable};

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Project files.
    Project,
    /// The hand-over note only.
    NoteOnly,
}

/// The rules for one project and one phase.
#[derive(Debug, Clone)]
pub struct PathRules {
    root: PathBuf,
    writes: Writes,
    readable: Vec<PathBuf>,
    guarded: Vec<PathBuf>,
}

impl PathRules {
    /// Rules for the project at `root`, which must be canonical. `readable`, canonical too, are further places that may
    /// be read, with all that is in them.
    pub fn new(root: &Path, writes: Writes, readable: Vec<PathBuf>) -> Self {
        Self { root: root.to_owned(), writes, readable, guarded: Vec::new() }
    }

    /// The same rules, but for files that nobody may write.
    #[must_use]
    pub fn guarding(self, guarded: Vec<PathBuf>) -> Self {
        Self { guarded, ..self }
    }

    /// The project's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn may_read(&self, real: &Path) -> bool {
        is_toolchain(real) || self.readable.iter().any(|place| real.starts_with(place))
    }

    /// Judges a real path, which the reason calls `shown`.
    pub(crate) fn check(&self, real: &Path, access: Access, shown: &str) -> Result<(), String> {
        match (access, self.writes, real.strip_prefix(&self.root)) {
            (Access::Read, _, Ok(_)) => Ok(()),
            (Access::Read, _, Err(_)) if self.may_read(real) => Ok(()),
            (_, _, Err(_)) => Err(outside(shown)),
            (Access::Write, Writes::NoteOnly, Ok(inside)) if inside == Path::new(NOTE) => Ok(()),
            (Access::Write, Writes::NoteOnly, Ok(_)) => {
                Err(format!("This phase may write only {NOTE}, not '{shown}'."))
            }
            (Access::Write, Writes::Project, Ok(inside)) => match guarded(&self.guarded, real, shown) {
                Some(reason) => Err(reason),
                None => unwritable(inside).map_or(Ok(()), |reason| Err(reason.to_owned())),
            },
        }
    }
}

impl FileRules for PathRules {
    fn judge(&self, real: &Path, access: Access) -> Result<(), String> {
        let shown = real.strip_prefix(&self.root).unwrap_or(real);
        self.check(real, access, &shown.display().to_string())
    }
}

pub(crate) fn outside(shown: &str) -> String {
    format!("Path '{shown}' is outside the project directory.")
}
