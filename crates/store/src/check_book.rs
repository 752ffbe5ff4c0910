//! The book of checks: what agents proposed, what was seen of each check before the work began, and the files that checks
//! judge by, as they were accepted. Nobody who is judged writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::check::Check;
use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{DOCUMENT_LIMIT, ReadError, open_beneath, read_bytes, read_opened, read_text};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::hash::sha256_hex;
use crate::project::Project;

/// The format this build reads and writes.
const FORMAT_VERSION: u64 = 1;

/// The largest file that can be accepted as one that checks judge by.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What is kept about checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckBook {
    version: u64,
    /// Checks that agents proposed. They cannot be changed once their session has ended.
    #[serde(default)]
    pub proposed: Vec<Check>,
    /// The deliverables to which agents assigned checks of SPEC.md that name none, by the check's name.
    #[serde(default)]
    pub assigned: BTreeMap<String, Assigned>,
    /// What was seen of each check when it was new, by its key.
    #[serde(default)]
    pub seen: BTreeMap<String, Seen>,
    /// The globs whose files have been accepted: a file that turns up later under one of them is not.
    #[serde(default)]
    pub globs: BTreeSet<String>,
    /// The files that checks judge by, by their path in the project.
    #[serde(default)]
    pub files: BTreeMap<String, Accepted>,
    /// Files that are not as they were accepted, until the user decides.
    #[serde(default)]
    pub disputes: BTreeMap<String, Dispute>,
}

/// What a check of SPEC.md was assigned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assigned {
    /// The deliverable.
    pub deliverable: String,
    /// The acceptance criteria that it covers, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<usize>,
}

/// What was seen of a check when it was new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// What it said.
    pub state: CheckState,
    /// The commit on which it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What it should judge by and was not there: anyone who makes that later would judge themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Whether a check proves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It failed before the work began.
    Red,
    /// It passed before the work began: it proves nothing.
    Vacuous,
    /// A person said that it counts.
    Accepted,
}

impl Seen {
    /// Whether a deliverable can be verified by it.
    pub fn is_proof(&self) -> bool {
        self.state != CheckState::Vacuous && self.missing.is_empty()
    }
}

/// A file as it was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The hash of its content, under which a copy is kept.
    pub sha256: String,
    /// Whether it can be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// When.
    pub at: Timestamp,
}

/// A file that is not as it was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// The hash of what is there now; none if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// When that was seen.
    pub at: Timestamp,
}

impl Default for CheckBook {
    fn default() -> Self {
        Self {
            version: FORMAT_VERSION,
            proposed: Vec::new(),
            assigned: BTreeMap::new(),
            seen: BTreeMap::new(),
            globs: BTreeSet::new(),
            files: BTreeMap::new(),
            disputes: BTreeMap::new(),
        }
    }
}

impl CheckBook {
    /// Reads the book of a project; one that is not there yet is empty.
    pub fn load(project: &Project) -> Result<Self, Fault> {
        let path = path(project);
        let wrong = |what: String| {
            Fault::lasting(Layer::Config, "check_book", format!("{} {what}.", path.display()))
                .hint("Fix the file or restore it from version control; nothing was changed.")
        };
        let text = match read_text(&path, DOCUMENT_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(error) => return Err(wrong(format!("cannot be read: {error}")).hint(error.advice())),
        };
        let mut reader = serde_json::Deserializer::from_str(&text);
        let book: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| wrong(format!("cannot be read: field {}: {}", error.path(), error.inner())))?;
        if book.version != FORMAT_VERSION {
            let version = book.version;
            return Err(wrong(format!(
                "was written by a newer version (format {version}, this autonoe knows {FORMAT_VERSION})"
            )));
        }
        Ok(book)
    }

    /// Writes the book.
    pub fn save(&self, project: &Project) -> Result<(), Fault> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        let path = path(project);
        atomic::write(&path, text.as_bytes()).map_err(|error| not_written(&path, &error))
    }

    /// Accepts a file of the project as it is now, and keeps a copy.
    pub fn accept(&mut self, project: &Project, file: &str, at: Timestamp) -> Result<(), Fault> {
        let read = || -> Result<(Vec<u8>, bool), ReadError> {
            let opened = open_beneath(project.root(), Path::new(file))?;
            let executable = is_executable(&opened.metadata()?);
            Ok((read_opened(&opened, MAX_FILE_BYTES)?, executable))
        };
        let (content, executable) = read().map_err(|error| {
            let message = format!("{file} cannot be accepted as a file that checks judge by: {error}.");
            Fault::lasting(Layer::Config, "oracle", message).hint(error.advice())
        })?;
        let sha256 = sha256_hex(&content);
        let copy = copies(project).join(&sha256);
        if !copy.exists() {
            atomic::write(&copy, &content).map_err(|error| not_written(&copy, &error))?;
        }
        self.files.insert(file.to_owned(), Accepted { sha256, executable, at });
        self.disputes.remove(file);
        Ok(())
    }

    /// The content of a file as it was accepted.
    pub fn content(&self, project: &Project, accepted: &Accepted) -> Result<Vec<u8>, Fault> {
        let copy = copies(project).join(&accepted.sha256);
        let wrong = |what: String| {
            let message = format!("The accepted copy {} {what}.", copy.display());
            Fault::lasting(Layer::Config, "oracle", message).hint(
                "Restore it from version control, or accept the file anew: `autonoe checks accept FILE`.",
            )
        };
        let content = match read_bytes(&copy, MAX_FILE_BYTES) {
            Ok(Some(content)) => content,
            Ok(None) => return Err(wrong("is gone".to_owned())),
            Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
        };
        if sha256_hex(&content) != accepted.sha256 {
            return Err(wrong("is not what was accepted".to_owned()));
        }
        Ok(content)
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

fn path(project: &Project) -> PathBuf {
    project.autonoe_dir().join("oracles.json")
}

fn copies(project: &Project) -> PathBuf {
    project.autonoe_dir().join("oracles")
}

fn not_written(path: &Path, error: &io::Error) -> Fault {
    atomic::write_fault("check_book", path, error, "Then start again.")
}
