//! Reaching a file: where a path really leads, what the rules say of that place, and opening exactly that,
//! without following a link once it has been judged.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use autonoe_core::files::{Access, FileRules};
use rustix::io::Errno;

use crate::ToolErrorCode;
use crate::failure::{Failure, code_of};
use crate::folder::{Folder, For};
use crate::spot::Spot;

/// What goes wrong with a path, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("{0} does not exist. Relative paths start at the workspace root; look with Glob.")]
    Missing(String),
    #[error("{0} is a directory, not a file. List its files with Glob, or with `ls` in Bash.")]
    Directory(String),
    #[error("{0} is not a regular file (a device, socket or pipe); it cannot be used this way.")]
    Special(String),
    #[error("{0} is a link to something that does not exist. Name the place itself.")]
    Dangling(String),
    #[error("{0} changed while it was being opened; try again.")]
    Changed(String),
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {source}.")]
    Io { path: String, source: io::Error },
}

impl ReachError {
    fn io(shown: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(shown.to_owned()),
            _ => Self::Io { path: shown.to_owned(), source },
        }
    }

    /// What an error means on the way to a place that was there, without links, a moment ago.
    fn opening(shown: &str) -> impl FnOnce(Errno) -> Self {
        move |error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Changed(shown.to_owned()),
            Errno::ISDIR => Self::Directory(shown.to_owned()),
            // A socket, or a pipe that nobody reads.
            Errno::NXIO => Self::Special(shown.to_owned()),
            _ => Self::Io { path: shown.to_owned(), source: error.into() },
        }
    }
}

impl From<ReachError> for Failure {
    fn from(error: ReachError) -> Self {
        let code = match &error {
            ReachError::Missing(_) | ReachError::Dangling(_) => ToolErrorCode::NotFound,
            ReachError::Directory(_) | ReachError::Special(_) => ToolErrorCode::ValidationError,
            ReachError::Changed(_) => ToolErrorCode::IoError,
            ReachError::Refused(_) => ToolErrorCode::PermissionDenied,
            ReachError::Io { source, .. } => code_of(source),
        };
        Self::new(code, error.to_string())
    }
}

/// A regular file, opened, and its real path.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
    pub(crate) real: PathBuf,
}

/// What a path led to.
#[derive(Debug)]
pub(crate) enum Found {
    File(Opened),
    Folder(Folder),
}

/// The only way from a path to what is there.
#[derive(Debug)]
pub(crate) struct Reach {
    rules: Arc<dyn FileRules>,
}

impl Reach {
    pub(crate) fn new(rules: Arc<dyn FileRules>) -> Self {
        Self { rules }
    }

    /// Whether the name and content at a real path may be shown.
    pub(crate) fn may_read(&self, real: &Path) -> bool {
        self.rules.judge(real, Access::Read).is_ok()
    }

    /// Opens a file to read it.
    pub(crate) fn file(&self, path: &Path, shown: &str) -> Result<Opened, ReachError> {
        match self.find(path, shown)? {
            Found::File(opened) => Ok(opened),
            Found::Folder(_) => Err(ReachError::Directory(shown.to_owned())),
        }
    }

    /// Opens a file or directory to read it.
    pub(crate) fn find(&self, path: &Path, shown: &str) -> Result<Found, ReachError> {
        let real = path.canonicalize().map_err(ReachError::io(shown))?;
        self.judge(&real, Access::Read)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Folder::at(&real).map(Found::Folder).map_err(ReachError::opening(shown));
        };
        let opened = Folder::at(parent).and_then(|folder| folder.open(name, For::Reading));
        let file = opened.map_err(ReachError::opening(shown))?;
        let metadata = file.metadata().map_err(ReachError::io(shown))?;
        if metadata.is_dir() {
            return Ok(Found::Folder(Folder::from_file(file, real)));
        }
        regular(file, metadata, real, shown).map(Found::File)
    }

    /// Opens an existing file to change it.
    pub(crate) fn existing(&self, path: &Path, shown: &str) -> Result<(Spot, Opened), ReachError> {
        let place = Place::of(path, shown)?;
        if !place.missing.is_empty() {
            return Err(ReachError::Missing(shown.to_owned()));
        }
        let spot = self.spot(place, shown)?;
        let file = spot.open(For::Changing).map_err(ReachError::opening(shown))?;
        let metadata = file.metadata().map_err(ReachError::io(shown))?;
        let opened = regular(file, metadata, spot.real(), shown)?;
        Ok((spot, opened))
    }

    /// Opens the place of a file that may be there or not, and makes the directories it needs.
    pub(crate) fn place(&self, path: &Path, shown: &str) -> Result<(Spot, Option<Opened>), ReachError> {
        let spot = self.spot(Place::of(path, shown)?, shown)?;
        let file = match spot.open(For::Changing) {
            Err(Errno::NOENT) => return Ok((spot, None)),
            opened => opened.map_err(ReachError::opening(shown))?,
        };
        let metadata = file.metadata().map_err(ReachError::io(shown))?;
        let opened = regular(file, metadata, spot.real(), shown)?;
        Ok((spot, Some(opened)))
    }

    fn spot(&self, place: Place, shown: &str) -> Result<Spot, ReachError> {
        let real = place.real();
        self.judge(&real, Access::Write)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(ReachError::Directory(shown.to_owned()));
        };
        let folder = match place.missing.split_last() {
            None => Folder::at(parent),
            Some((_, directories)) => Folder::at(&place.existing).and_then(|folder| {
                directories.iter().try_fold(folder, |folder, name| folder.enter_or_make(name))
            }),
        };
        Ok(Spot::new(folder.map_err(ReachError::opening(shown))?, name.to_owned()))
    }

    fn judge(&self, real: &Path, access: Access) -> Result<(), ReachError> {
        self.rules.judge(real, access).map_err(ReachError::Refused)
    }
}

fn regular(file: File, metadata: Metadata, real: PathBuf, shown: &str) -> Result<Opened, ReachError> {
    if metadata.is_dir() {
        Err(ReachError::Directory(shown.to_owned()))
    } else if metadata.is_file() {
        Ok(Opened { file, metadata, real })
    } else {
        Err(ReachError::Special(shown.to_owned()))
    }
}

/// Where a path leads that need not exist to its end.
#[derive(Debug)]
struct Place {
    /// What exists of it, without links.
    existing: PathBuf,
    /// The names below it that do not.
    missing: Vec<OsString>,
}

impl Place {
    fn of(path: &Path, shown: &str) -> Result<Self, ReachError> {
        let mut missing = Vec::new();
        let mut existing = path;
        loop {
            match existing.canonicalize() {
                Ok(existing) => {
                    missing.reverse();
                    return Ok(Self { existing, missing });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ReachError::io(shown)(error));
                }
                Err(_) if existing.is_symlink() => return Err(ReachError::Dangling(shown.to_owned())),
                Err(error) => match (existing.components().next_back(), existing.parent()) {
                    (Some(Component::Normal(name)), Some(parent)) => {
                        missing.push(name.to_owned());
                        existing = parent;
                    }
                    _ => return Err(ReachError::io(shown)(error)),
                },
            }
        }
    }

    fn real(&self) -> PathBuf {
        let mut real = self.existing.clone();
        real.extend(&self.missing);
        real
    }
}
