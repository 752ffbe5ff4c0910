//! The registry of checks: checks proposed by agents, the user's checks as the user accepted them, the baseline run of each check, and the
//! accepted versions of the files that checks rely on. It is in the state directory, where no agent can write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::check::Check;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{
    DOCUMENT_LIMIT, ReadError, link_beneath, open_beneath, read_bytes, read_opened, read_text,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::hash::sha256_hex;
use crate::project::Project;
use crate::protected_path::ProtectedPath;

/// Format version that this build reads and writes.
const FORMAT_VERSION: u64 = 1;

/// Maximum size of a protected file.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Contents of `checks.json` in the state directory of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRegistry {
    version: u64,
    /// Checks that agents proposed. They are immutable once their session has ended.
    #[serde(default)]
    pub proposed: Vec<Check>,
    /// Checks of SPEC.md without a deliverable that agents assigned to one, by name of the check.
    #[serde(default)]
    pub assigned: BTreeMap<String, CheckAssignment>,
    /// The user's checks as the user last accepted them, by name.
    #[serde(default)]
    pub written: BTreeMap<String, Check>,
    /// Names of the user's checks that are not as accepted, until the user decides.
    #[serde(default)]
    pub changed: BTreeMap<String, CheckChange>,
    /// The user's checks that failed when they last ran, by name, with the reason.
    #[serde(default)]
    pub failing: BTreeMap<String, String>,
    /// How often each check passed and failed on the files that it last judged, by check key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub looks: BTreeMap<String, CheckLooks>,
    /// Deliverables whose checks failed in a look after the run that verified them, until they pass again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_looks: BTreeMap<String, FailedLook>,
    /// Why a check that passed when it last ran did not count, by check key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_counted: BTreeMap<String, String>,
    /// Files that test runners read by themselves, as they were committed when checks were first run; `None` before that.
    #[serde(default)]
    pub runner_files: Option<BTreeSet<String>>,
    /// Files with the names of accepted ones elsewhere, which were there when these were accepted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub namesakes: BTreeSet<String>,
    /// Whether the first look was cut off, so that `runner_files` may lack some.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_look_was_cut: bool,
    /// Files that decide what checks run or show, as they were then, with a hash of what matters in each; `None` if that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding_files: Option<BTreeMap<String, String>>,
    /// Baseline of each check from before the work began, by check key.
    #[serde(rename = "seen", default)]
    pub baselines: BTreeMap<String, CheckBaseline>,
    /// Globs whose files have been accepted. Files that appear under them later are not accepted.
    #[serde(default)]
    pub globs: BTreeSet<String>,
    /// Accepted versions of protected files.
    #[serde(default)]
    pub files: BTreeMap<ProtectedPath, AcceptedFile>,
    /// The globs and files of these that only proposed checks protect.
    #[serde(default)]
    pub builders_globs: BTreeSet<String>,
    #[serde(default)]
    pub builders_files: BTreeSet<ProtectedPath>,
    /// Protected files that differ from their accepted version, until the user decides.
    #[serde(default)]
    pub disputes: BTreeMap<ProtectedPath, Dispute>,
    /// What was not committed in the user's checkout when agents last worked there; `None` if they never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlaceFiles>,
}

/// Files with uncommitted changes, with hashes of their content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlaceFiles {
    /// The user's, when the last run began.
    pub before: BTreeMap<String, String>,
    /// The agents', when it ended; `None` if it did not end by itself.
    pub left: Option<BTreeMap<String, String>>,
}

impl InPlaceFiles {
    /// Whether the user has changed a file, now with this hash: not if it is as agents left it, or may have left it.
    pub fn is_users(&self, file: &str, hash: &str) -> bool {
        match &self.left {
            Some(left) => left.get(file).is_none_or(|left| left != hash),
            None => self.before.get(file).is_some_and(|before| before == hash),
        }
    }
}

/// The deliverable that a check of SPEC.md was assigned to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckAssignment {
    pub deliverable: String,
    /// Acceptance criteria covered, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<usize>,
}

/// How a check of the user's differs from what the user accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckChange {
    pub kind: CheckChangeKind,
    /// The deliverables that it judged or judges.
    #[serde(default)]
    pub deliverables: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckChangeKind {
    Changed,
    Removed,
}

/// How often a check passed and failed on the same files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckLooks {
    /// A hash of all that it judged by.
    pub files: String,
    pub passed: u32,
    pub failed: u32,
    /// Whether it did both on the same files before, since its deliverable was last claimed with other ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_flaky: bool,
}

impl CheckLooks {
    /// Whether it has passed and failed on the same files.
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.failed > 0
    }
}

/// A look that did not confirm what was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedLook {
    pub at: Timestamp,
    /// What failed, as a clause.
    pub message: String,
}

/// The first run of a check, before the work on its deliverable began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckBaseline {
    pub name: String,
    pub state: CheckState,
    /// The commit it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub at: Timestamp,
    /// Protected files that did not exist yet: an agent that creates them later would judge its own work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Links to directories that were there, and their targets; `None` if that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<BTreeMap<String, String>>,
}

/// Whether a check proves anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It failed before the work began.
    Red,
    /// It passed before the work began, so it proves nothing.
    Vacuous,
    /// The user accepted it.
    Accepted,
}

impl CheckBaseline {
    /// Whether a deliverable can be verified by the check.
    pub fn is_proof(&self) -> bool {
        self.state != CheckState::Vacuous && self.missing.is_empty()
    }
}

/// An accepted version of a protected file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedFile {
    /// Hash of the content, and name of the stored copy.
    pub sha256: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// Whether it is a symbolic link; its content is then the path that it names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
    /// Where a link led in the end, relative to the project; `None` for a file, or if that was elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    pub at: Timestamp,
}

/// A protected file that differs from its accepted version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// Hash of the current content; `None` if the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    pub at: Timestamp,
}

impl Default for CheckRegistry {
    fn default() -> Self {
        Self {
            version: FORMAT_VERSION,
            proposed: Vec::new(),
            assigned: BTreeMap::new(),
            written: BTreeMap::new(),
            changed: BTreeMap::new(),
            failing: BTreeMap::new(),
            looks: BTreeMap::new(),
            failed_looks: BTreeMap::new(),
            not_counted: BTreeMap::new(),
            runner_files: None,
            namesakes: BTreeSet::new(),
            first_look_was_cut: false,
            deciding_files: None,
            baselines: BTreeMap::new(),
            globs: BTreeSet::new(),
            files: BTreeMap::new(),
            builders_globs: BTreeSet::new(),
            builders_files: BTreeSet::new(),
            disputes: BTreeMap::new(),
            in_place: None,
        }
    }
}

impl CheckRegistry {
    /// Without what only proposed checks protect: a builder does not decide which files the user's checks see.
    pub fn of_user(&self) -> Self {
        let mut users = self.clone();
        users.globs.retain(|glob| !self.builders_globs.contains(glob));
        users.files.retain(|file, _| !self.builders_files.contains(file));
        users
    }

    /// Where the protected files are in a project at `root`.
    pub fn paths_at(&self, root: &Path) -> Vec<PathBuf> {
        self.files.keys().map(|file| file.at(root)).collect()
    }

    /// An absent file is an empty registry.
    pub fn load(project: &Project) -> Result<Self, Fault> {
        let path = path(project);
        let wrong = |what: String| {
            Fault::permanent(FaultLayer::Config, "check_book", format!("{} {what}.", path.display()))
                .hint("Fix the file, or remove it: then checks are new again, and those that pass at once do not count.")
        };
        let text = match read_text(&path, DOCUMENT_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(error) => return Err(wrong(format!("cannot be read: {error}")).hint(error.advice())),
        };
        let mut reader = serde_json::Deserializer::from_str(&text);
        let registry: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| wrong(format!("cannot be read: field {}: {}", error.path(), error.inner())))?;
        reader.end().map_err(|error| wrong(format!("has something after its end, {error}")))?;
        if registry.version != FORMAT_VERSION {
            let version = registry.version;
            return Err(wrong(format!(
                "was written by a newer version (format {version}, this autonoe knows {FORMAT_VERSION})"
            )));
        }
        Ok(registry)
    }

    pub fn save(&self, project: &Project) -> Result<(), Fault> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        let path = path(project);
        atomic::write(&path, text.as_bytes()).map_err(|error| write_fault(&path, &error))
    }

    /// Accepts the current content of a file of the project at `root` and stores a copy.
    pub fn accept(
        &mut self,
        project: &Project,
        root: &Path,
        file: &ProtectedPath,
        at: Timestamp,
    ) -> Result<(), AcceptError> {
        let current = CurrentFile::read(root, file)?;
        let sha256 = sha256_hex(&current.content);
        let copy = copies(project).join(&sha256);
        if !copy.exists() {
            atomic::write(&copy, &current.content).map_err(|error| write_fault(&copy, &error))?;
        }
        let CurrentFile { executable, link, .. } = current;
        let leads_to = file.leads_to(root).filter(|_| link);
        self.files.insert(file.clone(), AcceptedFile { sha256, executable, link, leads_to, at });
        self.disputes.remove(file);
        Ok(())
    }

    /// The accepted content of a file.
    pub fn content(&self, project: &Project, accepted: &AcceptedFile) -> Result<Vec<u8>, Fault> {
        let copy = copies(project).join(&accepted.sha256);
        let wrong = |what: String| {
            let message = format!("The accepted copy {} {what}.", copy.display());
            Fault::permanent(FaultLayer::Config, "oracle", message)
                .hint("Accept the file again: `autonoe checks accept FILE`.")
        };
        let content = match read_bytes(&copy, MAX_FILE_BYTES) {
            Ok(Some(content)) => content,
            Ok(None) => return Err(wrong("is missing".to_owned())),
            Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
        };
        if sha256_hex(&content) != accepted.sha256 {
            return Err(wrong("differs from what was accepted".to_owned()));
        }
        Ok(content)
    }
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentFile {
    /// Of a symbolic link, the path that it names.
    pub content: Vec<u8>,
    pub executable: bool,
    pub link: bool,
}

impl CurrentFile {
    /// Reads a file of the project at `root`. Links are read, not followed.
    pub fn read(root: &Path, file: &ProtectedPath) -> Result<Self, ReadError> {
        let (top, path) = file.within(root);
        if let Some(target) = link_beneath(top, path)? {
            let content = target.into_os_string().into_encoded_bytes();
            return Ok(Self { content, executable: false, link: true });
        }
        let opened = open_beneath(top, path)?;
        let executable = is_executable(&opened.metadata()?);
        Ok(Self { content: read_opened(&opened, MAX_FILE_BYTES)?, executable, link: false })
    }

    pub fn is(&self, accepted: &AcceptedFile) -> bool {
        self.link == accepted.link && sha256_hex(&self.content) == accepted.sha256
    }
}

/// Why a file cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

fn path(project: &Project) -> PathBuf {
    project.state_dir().join("checks.json")
}

fn copies(project: &Project) -> PathBuf {
    project.state_dir().join("accepted")
}

fn write_fault(path: &Path, error: &io::Error) -> Fault {
    atomic::write_fault("check_book", path, error, "Then start again.")
}
