//! Opens files: resolves a path, checks the real path against the file rules, and then opens exactly that path without
//! following any link.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use autonoe_core::files::{FileAccess, FileDenial, FileRules};
use rustix::io::Errno;

use crate::dir_entry::DirEntry;
use crate::directory::{Directory, OpenMode};
use crate::failure::{ToolFailure, code_of};
use crate::output::ToolErrorCode;

/// Why a path cannot be opened, with messages for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenFileError {
    #[error("{0} does not exist. Relative paths start at the workspace root; use Glob to find files.")]
    Missing(String),
    #[error("{0} is a directory, not a file. List its files with Glob, or with `ls` in Bash.")]
    Directory(String),
    #[error("{0} is not a regular file (a device, socket or pipe); this tool cannot open it.")]
    Special(String),
    #[error("{0} is a link to something that does not exist. Use the path of the target itself.")]
    Dangling(String),
    #[error("{0} changed while it was being opened; try again.")]
    Changed(String),
    #[error(transparent)]
    Refused(FileDenial),
    #[error("{path}: {source}.")]
    Io { path: String, source: io::Error },
}

impl OpenFileError {
    fn io(shown: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(shown.to_owned()),
            _ => Self::Io { path: shown.to_owned(), source },
        }
    }

    /// Interprets an error on a path that existed, without links, a moment ago.
    fn opening(shown: &str) -> impl FnOnce(Errno) -> Self {
        move |error| match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Changed(shown.to_owned()),
            Errno::ISDIR => Self::Directory(shown.to_owned()),
            // A socket, or a pipe without a reader.
            Errno::NXIO => Self::Special(shown.to_owned()),
            _ => Self::Io { path: shown.to_owned(), source: error.into() },
        }
    }
}

impl From<OpenFileError> for ToolFailure {
    fn from(error: OpenFileError) -> Self {
        let code = match &error {
            OpenFileError::Missing(_) | OpenFileError::Dangling(_) => ToolErrorCode::NotFound,
            OpenFileError::Directory(_) | OpenFileError::Special(_) => ToolErrorCode::ValidationError,
            OpenFileError::Changed(_) => ToolErrorCode::IoError,
            OpenFileError::Refused(_) => ToolErrorCode::PermissionDenied,
            OpenFileError::Io { source, .. } => code_of(source),
        };
        Self::new(code, error.to_string())
    }
}

/// An opened regular file and its real path.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
    pub(crate) real: PathBuf,
}

/// An opened file or directory.
#[derive(Debug)]
pub(crate) enum OpenedPath {
    File(OpenedFile),
    Directory(Directory),
}

/// Opens all files of the built-in tools, subject to the file rules.
#[derive(Debug)]
pub(crate) struct FileOpener {
    rules: Arc<dyn FileRules>,
}

impl FileOpener {
    pub(crate) fn new(rules: Arc<dyn FileRules>) -> Self {
        Self { rules }
    }

    /// Whether the rules allow reading a real path.
    pub(crate) fn may_read(&self, real: &Path) -> bool {
        self.rules.judge(real, FileAccess::Read).is_ok()
    }

    /// Opens a file for reading.
    pub(crate) fn open_file(&self, path: &Path, shown: &str) -> Result<OpenedFile, OpenFileError> {
        match self.open(path, shown)? {
            OpenedPath::File(opened) => Ok(opened),
            OpenedPath::Directory(_) => Err(OpenFileError::Directory(shown.to_owned())),
        }
    }

    /// Opens a file or directory for reading.
    pub(crate) fn open(&self, path: &Path, shown: &str) -> Result<OpenedPath, OpenFileError> {
        let real = path.canonicalize().map_err(OpenFileError::io(shown))?;
        self.judge(&real, FileAccess::Read)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Directory::at(&real).map(OpenedPath::Directory).map_err(OpenFileError::opening(shown));
        };
        let opened = Directory::at(parent).and_then(|directory| directory.open(name, OpenMode::Read));
        let file = opened.map_err(OpenFileError::opening(shown))?;
        let metadata = file.metadata().map_err(OpenFileError::io(shown))?;
        if metadata.is_dir() {
            return Ok(OpenedPath::Directory(Directory::from_file(file, real)));
        }
        regular(file, metadata, real, shown).map(OpenedPath::File)
    }

    /// Opens an existing file for changing.
    pub(crate) fn open_existing(
        &self,
        path: &Path,
        shown: &str,
    ) -> Result<(DirEntry, OpenedFile), OpenFileError> {
        let resolved = ResolvedPath::of(path, shown)?;
        if !resolved.missing.is_empty() {
            return Err(OpenFileError::Missing(shown.to_owned()));
        }
        let entry = self.entry(resolved, shown)?;
        let file = entry.open(OpenMode::ReadWrite).map_err(OpenFileError::opening(shown))?;
        let metadata = file.metadata().map_err(OpenFileError::io(shown))?;
        let opened = regular(file, metadata, entry.real(), shown)?;
        Ok((entry, opened))
    }

    /// The entry for a file to write, and the opened file if it exists. Creates missing directories.
    pub(crate) fn open_or_create(
        &self,
        path: &Path,
        shown: &str,
    ) -> Result<(DirEntry, Option<OpenedFile>), OpenFileError> {
        let entry = self.entry(ResolvedPath::of(path, shown)?, shown)?;
        let file = match entry.open(OpenMode::ReadWrite) {
            Err(Errno::NOENT) => return Ok((entry, None)),
            opened => opened.map_err(OpenFileError::opening(shown))?,
        };
        let metadata = file.metadata().map_err(OpenFileError::io(shown))?;
        let opened = regular(file, metadata, entry.real(), shown)?;
        Ok((entry, Some(opened)))
    }

    fn entry(&self, resolved: ResolvedPath, shown: &str) -> Result<DirEntry, OpenFileError> {
        let real = resolved.real();
        self.judge(&real, FileAccess::Write)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(OpenFileError::Directory(shown.to_owned()));
        };
        let directory = match resolved.missing.split_last() {
            None => Directory::at(parent),
            Some((_, missing)) => Directory::at(&resolved.existing).and_then(|directory| {
                missing.iter().try_fold(directory, |directory, name| directory.enter_or_create(name))
            }),
        };
        Ok(DirEntry::new(directory.map_err(OpenFileError::opening(shown))?, name.to_owned()))
    }

    fn judge(&self, real: &Path, access: FileAccess) -> Result<(), OpenFileError> {
        self.rules.judge(real, access).map_err(OpenFileError::Refused)
    }
}

fn regular(file: File, metadata: Metadata, real: PathBuf, shown: &str) -> Result<OpenedFile, OpenFileError> {
    if metadata.is_dir() {
        Err(OpenFileError::Directory(shown.to_owned()))
    } else if metadata.is_file() {
        Ok(OpenedFile { file, metadata, real })
    } else {
        Err(OpenFileError::Special(shown.to_owned()))
    }
}

/// A resolved path of which the last components need not exist.
#[derive(Debug)]
struct ResolvedPath {
    /// The existing part, without links.
    existing: PathBuf,
    /// The components below it that do not exist.
    missing: Vec<OsString>,
}

impl ResolvedPath {
    fn of(path: &Path, shown: &str) -> Result<Self, OpenFileError> {
        let mut missing = Vec::new();
        let mut existing = path;
        loop {
            match existing.canonicalize() {
                Ok(existing) => {
                    missing.reverse();
                    return Ok(Self { existing, missing });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(OpenFileError::io(shown)(error));
                }
                Err(_) if existing.is_symlink() => return Err(OpenFileError::Dangling(shown.to_owned())),
                Err(error) => match (existing.components().next_back(), existing.parent()) {
                    (Some(Component::Normal(name)), Some(parent)) => {
                        missing.push(name.to_owned());
                        existing = parent;
                    }
                    _ => return Err(OpenFileError::io(shown)(error)),
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
