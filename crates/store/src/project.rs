//! Project: a directory with a specification, and where its files lie.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, Layer};
use autonoe_files::{DOCUMENT_LIMIT, Disk, WriteTrouble, read_text};

use crate::hash::sha256_hex;

/// With less than this free for the state no run begins: not even the lock and the beginning of a journal are sure to fit.
const MIN_STATE_BYTES: u64 = 512 * 1024;

/// With less than this free for the state a run begins, and says so: journals, checkouts and outputs are kept there.
const LITTLE_STATE_BYTES: u64 = 64 * 1024 * 1024;

/// A project directory, made absolute and free of symbolic links.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    state: PathBuf,
}

impl Project {
    /// Finds the project at `directory`; `state_home` is where Autonoe keeps its own files.
    pub fn open(directory: &Path, state_home: &Path) -> Result<Self, Fault> {
        let wrong = |what: &str| {
            Fault::lasting(
                Layer::Config,
                "project_directory",
                format!("Project directory {what}: {}", directory.display()),
            )
            .hint("Give an existing directory with --project-dir, or run autonoe inside one.")
        };
        let root = directory.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => wrong("does not exist"),
            io::ErrorKind::PermissionDenied => wrong("cannot be opened, permission is denied").hint(
                "Change its permissions, or those of the directories above it, or run autonoe as its owner.",
            ),
            _ => wrong(&format!("cannot be opened ({error})")),
        })?;
        if !root.is_dir() {
            return Err(wrong("is not a directory"));
        }
        check_path("project path", &root)?;
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

    /// The project directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.autonoe/`, written by nobody but us.
    pub fn autonoe_dir(&self) -> PathBuf {
        self.root.join(".autonoe")
    }

    /// `.autonoe/status.json`.
    pub fn status_file(&self) -> PathBuf {
        self.autonoe_dir().join("status.json")
    }

    /// `.autonoe/agent.json`.
    pub fn agent_config(&self) -> PathBuf {
        self.autonoe_dir().join("agent.json")
    }

    /// `.autonoe/checks.json`, written by the user.
    pub fn checks_file(&self) -> PathBuf {
        self.autonoe_dir().join("checks.json")
    }

    /// The directory outside the project where its journal and lock live.
    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    /// Where it is on record, while a room is open, what must be put right in the project afterwards.
    pub fn rooms_dir(&self) -> PathBuf {
        self.state.join("rooms")
    }

    /// What the user has agreed to.
    pub fn trust_file(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// The journal's database.
    pub fn journal_file(&self) -> PathBuf {
        self.state.join("journal.db")
    }

    /// Reads the specification; absent, empty or not a file is a fault.
    pub fn read_spec(&self) -> Result<String, Fault> {
        let what = match self.find_spec()? {
            Some(text) if !text.trim().is_empty() => return Ok(text),
            Some(_) => "is empty",
            None => "not found",
        };
        let message = format!("SPEC.md {what} in {}.", self.root.display());
        Err(Fault::lasting(Layer::Config, "spec", message)
            .hint("Write what you want built into SPEC.md; `autonoe init` makes a first one for you."))
    }

    /// The specification as it is, even if it is empty; none if there is none.
    pub fn find_spec(&self) -> Result<Option<String>, Fault> {
        read_text(&self.root.join("SPEC.md"), DOCUMENT_LIMIT).map_err(|error| {
            let message = format!("SPEC.md in {} cannot be read: {error}.", self.root.display());
            Fault::lasting(Layer::Config, "spec", message).hint(error.advice())
        })
    }

    /// Makes sure that the project can be written, before anything is spent on it. Nothing stays in it.
    pub fn check_writable(&self) -> Result<(), Fault> {
        let probe =
            |directory: &Path| tempfile::Builder::new().prefix(PROBE).tempfile_in(directory).map(drop);
        for directory in [self.root.clone(), self.autonoe_dir()] {
            if directory.symlink_metadata().is_ok() {
                probe(&directory)
                    .map_err(|error| not_writable(&directory, WriteTrouble::of(&directory, &error)))?;
            }
        }
        let state = make_private(&self.state).and_then(|()| probe(&self.state));
        state.map_err(|error| self.no_state(WriteTrouble::of(&self.state, &error)))?;
        self.check_room()
    }

    /// What [`Project::check_writable`] would find, as far as that can be told without writing anything.
    pub fn look_writable(&self) -> Result<(), Fault> {
        for directory in [self.root.clone(), self.autonoe_dir()] {
            if let Some(trouble) = WriteTrouble::expected(&directory) {
                return Err(not_writable(&directory, trouble));
            }
        }
        match WriteTrouble::expected(&self.state) {
            Some(trouble) => Err(self.no_state(trouble)),
            None => self.check_room(),
        }
    }

    /// What is free where the state is kept, if that is little.
    pub fn small_state_disk(&self) -> Option<String> {
        let disk = Disk::of(&self.state).filter(|disk| disk.free < LITTLE_STATE_BYTES)?;
        Some(format!("the state directory {} is on a small disk: {}", self.state.display(), disk.told()))
    }

    fn check_room(&self) -> Result<(), Fault> {
        match Disk::of(&self.state) {
            Some(disk) if disk.free < MIN_STATE_BYTES => Err(self.no_state(WriteTrouble::full(&self.state))),
            Some(_) | None => Ok(()),
        }
    }

    fn no_state(&self, WriteTrouble { why, advice }: WriteTrouble) -> Fault {
        let message = format!("The state directory {} cannot be used: {why}.", self.state.display());
        Fault::lasting(Layer::System, "state_directory", message)
            .hint(format!("{advice} Or set XDG_STATE_HOME to a directory elsewhere."))
    }
}

fn not_writable(directory: &Path, WriteTrouble { why, advice }: WriteTrouble) -> Fault {
    let message = format!("The project directory is not writable: {}: {why}.", directory.display());
    Fault::lasting(Layer::Config, "not_writable", message)
        .hint(format!("{advice} Or choose another project with --project-dir."))
}

/// Whether a path can be used: in messages, in settings of other programs and in lists with one path a line.
pub fn check_path(what: &str, path: &Path) -> Result<(), Fault> {
    let why = match path.to_str() {
        None => "is not valid UTF-8",
        Some(text) if text.contains(char::is_control) => "contains a line break or another control character",
        Some(_) => return Ok(()),
    };
    Err(Fault::lasting(Layer::Config, "path", format!("The {what} {why}: {path:?}"))
        .hint("Rename the directory, or use another one."))
}

/// Names of what is made for a moment and left by whom is killed in it: in the project, beside `status.json`, in the state directory.
const PROBE: &str = ".autonoe-probe-";
const TRIAL: &str = "trial-";

impl Project {
    /// Makes `.autonoe/`, which must be there before anybody works on the project.
    pub fn make_directory(&self) -> Result<(), Fault> {
        let directory = self.autonoe_dir();
        fs::create_dir_all(&directory)
            .map_err(|error| not_writable(&directory, WriteTrouble::of(&directory, &error)))
    }

    /// Where commands of agents write temporary files on layers that give them no `/tmp` of their own.
    pub fn temporary_dir(&self) -> PathBuf {
        self.state.join("tmp")
    }

    /// Removes what killed processes left of the files and directories that are there for a moment only. Nobody else may work on the
    /// project: the lock must be held.
    pub fn remove_leftovers(&self) {
        for (directory, prefixes) in [
            (self.root.clone(), &[PROBE][..]),
            (self.autonoe_dir(), &[PROBE, crate::atomic::TEMPORARY]),
            (self.state.clone(), &[TRIAL, crate::atomic::TEMPORARY]),
            // Whatever commands left there: no session is under way.
            (self.temporary_dir(), &[""]),
        ] {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let ours = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
            for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(ours)) {
                // What cannot be removed is in nobody's way.
                let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => fs::remove_dir_all(entry.path()),
                    false => fs::remove_file(entry.path()),
                };
            }
        }
    }
}

/// Makes a directory that only this user may look into: the journal tells everything that happened.
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
}
