//! The paths that file tools may touch, after symbolic links are resolved. Outside the project, only readable paths
//! may be read. Inside it, files that configure agents or git may not be written, and `sync` writes the hand-over
//! note only.

use std::path::{Path, PathBuf};

use autonoe_core::files::{FileAccess, FileDenial, FileRules};
use autonoe_files::is_credential;

use crate::path_denial::PathDenial;
use crate::paths::{NOTE, WriteScope, guarded_reason, may_read_outside, unwritable_reason};

/// The path rules of one project and phase.
#[derive(Debug, Clone)]
pub struct PathRules {
    root: PathBuf,
    write_scope: WriteScope,
    readable: Vec<PathBuf>,
    guarded: Vec<PathBuf>,
    /// The user's home directory, if it is in the project.
    home: Option<PathBuf>,
}

impl PathRules {
    /// `root` and `readable` must be canonical. `readable` are paths outside the project that may be read, with
    /// everything below them.
    pub fn new(root: &Path, write_scope: WriteScope, readable: Vec<PathBuf>) -> Self {
        Self { root: root.to_owned(), write_scope, readable, guarded: Vec::new(), home: None }
    }

    /// Also denies writes to these files.
    #[must_use]
    pub fn with_guarded(self, guarded: Vec<PathBuf>) -> Self {
        Self { guarded, ..self }
    }

    /// Also denies reading credentials in the user's home directory, if that is in the project.
    #[must_use]
    pub fn with_home(self, home: Option<&Path>) -> Self {
        let home = home.and_then(|home| home.canonicalize().ok()).filter(|home| home.starts_with(&self.root));
        Self { home, ..self }
    }

    /// The project directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn is_users_credential(&self, real: &Path) -> bool {
        self.home.as_ref().is_some_and(|home| real.starts_with(home) && is_credential(home, real))
    }

    /// Judges a resolved path. A denial refers to it as `shown`.
    pub(crate) fn check(&self, real: &Path, access: FileAccess, shown: &str) -> Result<(), PathDenial> {
        match (access, self.write_scope, real.strip_prefix(&self.root)) {
            (_, _, Ok(_)) if self.is_users_credential(real) => Err(PathDenial::Credential(shown.to_owned())),
            (FileAccess::Read, _, Ok(_)) => Ok(()),
            (FileAccess::Read, _, Err(_)) if may_read_outside(real, &self.readable) => Ok(()),
            (_, _, Err(_)) => Err(PathDenial::Outside(shown.to_owned())),
            (FileAccess::Write, WriteScope::NoteOnly, Ok(inside)) if inside == Path::new(NOTE) => Ok(()),
            (FileAccess::Write, WriteScope::NoteOnly, Ok(_)) => Err(PathDenial::NotTheNote(shown.to_owned())),
            (FileAccess::Write, WriteScope::Project, Ok(inside)) => {
                match guarded_reason(&self.guarded, real, shown) {
                    Some(reason) => Err(PathDenial::Guarded(reason)),
                    None => {
                        unwritable_reason(inside).map_or(Ok(()), |reason| Err(PathDenial::Protected(reason)))
                    }
                }
            }
        }
    }
}

impl FileRules for PathRules {
    fn judge(&self, real: &Path, access: FileAccess) -> Result<(), FileDenial> {
        let shown = real.strip_prefix(&self.root).unwrap_or(real);
        Ok(self.check(real, access, &shown.display().to_string())?)
    }
}
