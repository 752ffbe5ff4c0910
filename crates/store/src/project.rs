//! Project: a directory with a specification, and where its files are.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{
    DOCUMENT_LIMIT, Disk, FileKind, ReadError, SETTINGS_LIMIT, TEMPORARY, WriteFailure, find_regular,
    read_text,
};

use crate::hash::sha256_hex;

/// With less free space than this for the state, no run starts: not even the lock and the start of a journal
/// are sure to fit.
const MIN_STATE_BYTES: u64 = 512 * 1024;
const MIN_STATE_FILES: u64 = 32;

/// Files of the state directory: the journal, the path of the project, and the hash of the specification that was planned.
const JOURNAL: &str = "journal.db";
const ROOT: &str = "root";
const PLANNED: &str = "planned-spec";

/// Free space that a project needs at least: `status.json` and the registry of checks are written there.
const MIN_PROJECT_BYTES: u64 = 64 * 1024;
const MIN_PROJECT_FILES: u64 = 4;

/// With less free space than this for the state, a run starts with a warning: journals, checkouts and outputs
/// are stored there.
const LITTLE_STATE_BYTES: u64 = 64 * 1024 * 1024;

/// Absolute and free of symbolic links.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    state: PathBuf,
}

impl Project {
    /// `state_home` is where Autonoe keeps its own files.
    pub fn open(directory: &Path, state_home: &Path) -> Result<Self, Fault> {
        let wrong = |what: &str| {
            Fault::permanent(
                FaultLayer::Config,
                "project_directory",
                format!("Project directory {what}: {}", directory.display()),
            )
            .hint("Give an existing directory with --project-dir, or run autonoe inside one.")
        };
        let root = directory.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => wrong("does not exist"),
            io::ErrorKind::PermissionDenied => wrong("cannot be opened: permission denied").hint(
                "Change its permissions, or those of the directories above it, or run autonoe as its owner.",
            ),
            _ => wrong(&format!("cannot be opened ({error})")),
        })?;
        if !root.is_dir() {
            return Err(wrong("is not a directory"));
        }
        check_path("project path", &root)?;
        check_autonoe_dir(&root.join(".autonoe"))?;
        let name: String = root
            .file_name()
            .map(|name| {
                name.to_string_lossy()
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
                    .take(40)
                    .collect()
            })
            .unwrap_or_default();
        let hash = sha256_hex(root.as_os_str().as_encoded_bytes());
        let state = state_home.join("projects").join(format!("{name}-{}", &hash[..12]));
        Ok(Self { root, state })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.autonoe/`, which only Autonoe and the user write.
    pub fn autonoe_dir(&self) -> PathBuf {
        self.root.join(".autonoe")
    }

    /// Where the project's declarative agents are.
    pub fn agents_dir(&self) -> PathBuf {
        self.autonoe_dir().join("agents")
    }

    pub fn status_file(&self) -> PathBuf {
        self.autonoe_dir().join("status.json")
    }

    pub fn agent_config(&self) -> PathBuf {
        self.autonoe_dir().join("agent.json")
    }

    /// `.autonoe/checks.json`, written by the user.
    pub fn checks_file(&self) -> PathBuf {
        self.autonoe_dir().join("checks.json")
    }

    /// Directory outside the project for its journal and lock.
    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    /// A directory outside the project for what programs work in, with a short path: a socket in its directory for temporary files may have no
    /// more than 107 bytes.
    pub fn short_dir(&self, name: &str) -> PathBuf {
        let id = self.state.file_name().and_then(OsStr::to_str).and_then(|state| state.rsplit('-').next());
        let state_home = self.state.ancestors().nth(2).unwrap_or(&self.state);
        state_home.join(name).join(id.unwrap_or_default())
    }

    /// Records of open rooms: what must be cleaned up in the project afterwards.
    pub fn rooms_dir(&self) -> PathBuf {
        self.state.join("rooms")
    }

    /// The configuration that the user has approved.
    pub fn trust_file(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    pub fn journal_file(&self) -> PathBuf {
        self.state.join(JOURNAL)
    }

    /// Hash of the specification from which the deliverables were planned; `None` if it is unknown.
    pub fn planned_spec(&self) -> Option<String> {
        read_text(&self.state.join(PLANNED), SETTINGS_LIMIT).ok().flatten()
    }

    pub fn set_planned_spec(&self, hash: &str) -> Result<(), Fault> {
        let path = self.state.join(PLANNED);
        crate::atomic::write(&path, hash.as_bytes())
            .map_err(|error| crate::atomic::write_fault("planned_spec", &path, &error, "Then start again."))
    }

    /// Directory of the logs that `autonoe logs` shows.
    pub fn event_logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// The journals of all projects that have one, with the directory of each project. Of older ones only the name is known.
    pub fn all_journals(state_home: &Path) -> Vec<(PathBuf, String)> {
        let states = fs::read_dir(state_home.join("projects")).into_iter().flatten().flatten();
        let journals = states.filter(|entry| entry.path().join(JOURNAL).is_file()).map(|entry| {
            let root = read_text(&entry.path().join(ROOT), SETTINGS_LIMIT).ok().flatten();
            let name = || entry.file_name().to_string_lossy().into_owned();
            (entry.path().join(JOURNAL), root.unwrap_or_else(name))
        });
        let mut journals: Vec<_> = journals.collect();
        journals.sort();
        journals
    }

    /// A missing or empty specification is a fault.
    pub fn read_spec(&self) -> Result<String, Fault> {
        let what = match self.find_spec()? {
            Some(text) if !text.trim().is_empty() => return Ok(text),
            Some(_) => "is empty",
            None => "not found",
        };
        let message = format!("SPEC.md {what} in {}.", self.root.display());
        Err(Fault::permanent(FaultLayer::Config, "spec", message)
            .hint("Describe what you want built in SPEC.md; `autonoe init` creates a template."))
    }

    /// The specification, even if it is empty; `None` if there is none.
    pub fn find_spec(&self) -> Result<Option<String>, Fault> {
        read_text(&self.root.join("SPEC.md"), DOCUMENT_LIMIT).map_err(|error| {
            let message = format!("SPEC.md in {} cannot be read: {error}.", self.root.display());
            Fault::permanent(FaultLayer::Config, "spec", message).hint(error.advice())
        })
    }

    /// Checks that the project can be written, before anything is spent on it. Leaves nothing behind.
    pub fn check_writable(&self) -> Result<(), Fault> {
        let probe =
            |directory: &Path| tempfile::Builder::new().prefix(PROBE).tempfile_in(directory).map(drop);
        for directory in [self.root.clone(), self.autonoe_dir()] {
            if directory.symlink_metadata().is_ok() {
                probe(&directory)
                    .map_err(|error| not_writable(&directory, WriteFailure::of(&directory, &error)))?;
            }
        }
        let state = create_private(&self.state).and_then(|()| probe(&self.state));
        state.map_err(|error| self.no_state(WriteFailure::of(&self.state, &error)))?;
        self.check_free_space()
    }

    /// Like [`Project::check_writable`], as far as possible without writing anything.
    pub fn predict_writable(&self) -> Result<(), Fault> {
        for directory in [self.root.clone(), self.autonoe_dir()] {
            if let Some(failure) = WriteFailure::predict(&directory) {
                return Err(not_writable(&directory, failure));
            }
        }
        match WriteFailure::predict(&self.state) {
            Some(failure) => Err(self.no_state(failure)),
            None => self.check_free_space(),
        }
    }

    /// A warning if the file system of the state directory has little free space.
    pub fn small_state_disk(&self) -> Option<String> {
        let disk = Disk::of(&self.state).filter(|disk| disk.free < LITTLE_STATE_BYTES)?;
        Some(format!(
            "the state directory {} has little free space: {}",
            self.state.display(),
            disk.describe()
        ))
    }

    fn check_free_space(&self) -> Result<(), Fault> {
        if let Some(failure) = WriteFailure::of_space(&self.root, MIN_PROJECT_BYTES, MIN_PROJECT_FILES) {
            return Err(not_writable(&self.root, failure));
        }
        let failure = WriteFailure::of_space(&self.state, MIN_STATE_BYTES, MIN_STATE_FILES);
        failure.map_or(Ok(()), |failure| Err(self.no_state(failure)))
    }

    fn no_state(&self, WriteFailure { why, advice }: WriteFailure) -> Fault {
        let message = format!("The state directory {} cannot be used: {why}.", self.state.display());
        Fault::permanent(FaultLayer::System, "state_directory", message)
            .hint(format!("{advice} Or set XDG_STATE_HOME to a directory elsewhere."))
    }
}

/// Fails if something else is where the directory should be; nothing at all is fine.
fn check_autonoe_dir(directory: &Path) -> Result<(), Fault> {
    let what = match find_regular(directory) {
        // An agent could replace the link, and nothing could keep what it leads to read-only.
        Err(ReadError::NotRegular(FileKind::Directory)) | Ok(None) if directory.is_symlink() => {
            "is a symbolic link".to_owned()
        }
        Err(ReadError::NotRegular(FileKind::Directory)) | Ok(None) => return Ok(()),
        Ok(Some(_)) => "is a file".to_owned(),
        Err(ReadError::NotRegular(kind)) => format!("is a {kind}"),
        Err(error) => format!("cannot be opened ({error})"),
    };
    let message = format!("{} must be a directory, but it {what}.", directory.display());
    Err(Fault::permanent(FaultLayer::Config, "project_directory", message)
        .hint("Move it away; `autonoe run` creates the directory."))
}

fn not_writable(directory: &Path, WriteFailure { why, advice }: WriteFailure) -> Fault {
    let message = format!("The project directory is not writable: {}: {why}.", directory.display());
    Fault::permanent(FaultLayer::Config, "not_writable", message)
        .hint(format!("{advice} Or choose another project with --project-dir."))
}

/// Checks that a path is safe to use in messages, in settings of other programs and in lists with one path
/// per line.
pub fn check_path(what: &str, path: &Path) -> Result<(), Fault> {
    let why = match path.to_str() {
        None => "is not valid UTF-8",
        Some(text) if text.contains(char::is_control) => "contains a line break or another control character",
        Some(_) => return Ok(()),
    };
    Err(Fault::permanent(FaultLayer::Config, "path", format!("The {what} {why}: {path:?}"))
        .hint("Rename the directory, or use another one."))
}

/// Name prefixes of temporary files that a killed process may leave: in the project, beside `status.json`, in
/// the state directory.
const PROBE: &str = ".autonoe-probe-";
const TRIAL: &str = "trial-";

impl Project {
    /// Creates `.autonoe/`, which must exist before any agent works on the project.
    pub fn make_directory(&self) -> Result<(), Fault> {
        // Ignored: it is only for people.
        let _ = fs::write(self.state.join(ROOT), self.root.as_os_str().as_encoded_bytes());
        let directory = self.autonoe_dir();
        fs::create_dir_all(&directory)
            .map_err(|error| not_writable(&directory, WriteFailure::of(&directory, &error)))
    }

    /// Temporary directory for commands of agents, for sandbox layers without a private `/tmp`.
    pub fn temporary_dir(&self) -> PathBuf {
        self.state.join("tmp")
    }

    /// Removes temporary files left by killed processes. The caller must hold the project lock.
    pub fn remove_leftovers(&self) {
        for (directory, prefixes) in [
            (self.root.clone(), &[PROBE][..]),
            (self.autonoe_dir(), &[PROBE, TEMPORARY]),
            (self.state.clone(), &[PROBE, TRIAL, TEMPORARY]),
            // Anything: no session is running.
            (self.temporary_dir(), &[""]),
        ] {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let ours = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
            for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(ours)) {
                // Ignored: leftovers do no harm.
                let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => fs::remove_dir_all(entry.path()),
                    false => fs::remove_file(entry.path()),
                };
            }
        }
    }
}

/// Creates a directory that only this user may read: the journal contains everything that happened.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
}
