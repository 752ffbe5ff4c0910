//! What the processes of a room may access, as data; each layer translates it for its kernel.

use std::path::{Path, PathBuf};

use autonoe_files::{PathMapping, PlaceError, real_place};
use serde::{Deserialize, Serialize};

use crate::{os_text, system, system_paths};

/// The mechanism that enforces the bounds, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxLayer {
    /// Namespaces (created by bubblewrap) and seccomp: files, network, processes.
    Bubblewrap,
    /// Landlock and seccomp, where namespaces are not available: files and network, less precisely.
    Landlock,
    /// A profile for macOS's sandbox-exec.
    Seatbelt,
    /// No restrictions, at the user's request.
    None,
}

/// What Landlock does not enforce, and what does not work with it; docs/security.md has the same.
const LANDLOCK_GAPS: [&str; 5] = [
    "only the command policy protects .autonoe/, in a workspace a link to yours, and with --in-place agent settings and git hooks",
    "what is hidden in a directory that commands may write is not hidden from them",
    "commands can see the command lines of other processes and the names, sizes and times of files elsewhere, and can end their own room",
    "commands can see this machine's network addresses, routes and connections, and other users of this machine can use a room's proxy for the \
     hosts that it allows",
    "servers that commands start share the ports of this machine, whose programs can reach them; there is no shared memory (/dev/shm, \
     System V), so that PostgreSQL, Chromium and the locks and pools of Python's multiprocessing do not work",
];

impl SandboxLayer {
    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "Landlock",
            Self::Seatbelt => "sandbox-exec",
            Self::None => "none",
        }
    }

    /// What the layer does not enforce on this machine and what does not work in its rooms, as clauses; empty if nothing. A layer with
    /// such gaps is a partial one.
    pub fn gaps(self) -> Vec<&'static str> {
        match self {
            Self::Bubblewrap | Self::None => Vec::new(),
            Self::Landlock => {
                let signals = (!system::landlock_scopes_signals()).then_some(
                    "before Linux 6.12, commands can signal your other processes, and one that always replaces itself may outlive its session",
                );
                LANDLOCK_GAPS.into_iter().chain(signals).collect()
            }
            Self::Seatbelt => vec!["commands can reach servers on this machine"],
        }
    }

    /// Whether a room can show a directory at a path that is not its own.
    pub fn can_move(self) -> bool {
        self == Self::Bubblewrap
    }
}

/// What the processes of a room may access.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bounds {
    /// The project: readable and writable.
    pub root: PathBuf,
    /// Where programs see `root`, if not at its own path. Only bubblewrap can do that; see [`SandboxLayer::can_move`].
    pub shown_at: Option<PathBuf>,
    /// Absolute paths that stay read-only although they are within writable ones. Layers that can do so prevent a missing
    /// directory from being created.
    #[serde(with = "os_text::paths")]
    pub protected: Vec<PathBuf>,
    /// Those of `protected` that are hooks of git or directories of such. Where a layer cannot protect them, they are restored after the room.
    #[serde(default, with = "os_text::paths")]
    pub hooks: Vec<PathBuf>,
    /// The private home directory of the processes, outside the project, writable.
    pub home: PathBuf,
    /// A private temporary directory, for layers that cannot mount an empty `/tmp`.
    pub temp: PathBuf,
    /// Readable paths in addition to the system's own directories: toolchains, and paths that the user added.
    pub read: Vec<PathBuf>,
    /// Writable paths in addition to the project.
    pub write: Vec<PathBuf>,
    /// Paths in which credentials are not masked, because nothing but our own git works there.
    #[serde(default)]
    pub unmasked: Vec<PathBuf>,
    /// Paths that are hidden even if another rule allows them.
    pub hidden: Vec<PathBuf>,
    pub limits: RoomLimits,
    /// Whether programs may create sandboxes of their own inside, as some agents do.
    pub nested: bool,
    /// Whether programs may trace each other, as debuggers and leak detectors do.
    pub tracing: bool,
    /// The directory for the record of what to clean up in the project after the room; see [`crate::recover_rooms`].
    /// `None` for a root that is not a user's project.
    pub records: Option<PathBuf>,
    /// Whether `root` is the user's own checkout: repositories within it are then inspected after the room too.
    #[serde(default)]
    pub is_users_checkout: bool,
}

/// Resource limits of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomLimits {
    /// Processes running at the same time in the room.
    pub processes: u64,
    /// Memory of one process, in bytes.
    pub memory: u64,
    /// Size of one file, in bytes.
    pub file_size: u64,
    /// Total size of all temporary files, in bytes, where `/tmp` is private.
    pub temp_size: u64,
    /// Space that must stay free on the project's disk, in bytes.
    pub disk_reserve: u64,
}

const GIB: u64 = 1 << 30;

impl Default for RoomLimits {
    fn default() -> Self {
        Self {
            processes: 512,
            memory: 8 * GIB,
            file_size: 4 * GIB,
            temp_size: 2 * GIB,
            disk_reserve: GIB / 4,
        }
    }
}

impl Bounds {
    /// Bounds around a project, with a private home and temporary directory.
    pub fn new(root: impl Into<PathBuf>, home: impl Into<PathBuf>, temp: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            shown_at: None,
            protected: Vec::new(),
            hooks: Vec::new(),
            home: home.into(),
            temp: temp.into(),
            read: Vec::new(),
            write: Vec::new(),
            unmasked: Vec::new(),
            hidden: Vec::new(),
            limits: RoomLimits::default(),
            nested: false,
            tracing: false,
            records: None,
            is_users_checkout: false,
        }
    }

    /// How paths in `root` are mapped, if programs see it at another path.
    pub fn mapping(&self) -> Option<PathMapping> {
        let shown = self.shown_at.clone()?;
        Some(PathMapping { real: self.root.clone(), shown })
    }

    /// Whether `root` can be shown at `path`: nothing else of the room is in there but `except`, which then is a mount point in `root`.
    pub fn leave_room_for(&self, path: &Path, except: &Path) -> bool {
        let system = system_paths::SYSTEM
            .into_iter()
            .chain(["/tmp", "/run", "/var/tmp", "/proc", "/dev"])
            .map(Path::new);
        let own =
            self.read.iter().chain(&self.write).chain(&self.hidden).chain([&self.home]).map(PathBuf::as_path);
        !system.chain(own).any(|other| other.starts_with(path) && other != except)
    }

    /// Whether programs can read `path`, as far as the room is concerned.
    pub fn can_read(&self, path: &Path) -> bool {
        self.has_read_only(path) || self.writable().any(|directory| path.starts_with(directory))
    }

    /// Whether `path` is in a directory of the system or one of `read`.
    pub fn has_read_only(&self, path: &Path) -> bool {
        let read = self.read.iter().map(PathBuf::as_path);
        let mut shown = system_paths::SYSTEM.into_iter().map(Path::new).chain(read);
        shown.any(|directory| path.starts_with(directory))
    }

    /// The path at which programs see `path`.
    pub fn shown(&self, path: &Path) -> PathBuf {
        self.mapping().map_or_else(|| path.to_owned(), |mapping| mapping.to_shown(path))
    }

    /// Where a path that programs use really is.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.mapping().map_or_else(|| path.to_owned(), |mapping| mapping.to_real(path))
    }

    /// The writable paths of the user: the project and `write`.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        [&self.root].into_iter().chain(&self.write).map(PathBuf::as_path)
    }

    /// Leaves out places that lead out of what programs here can write: one of them may have put a link there. Returns a sentence for each.
    pub(crate) fn leave_out_redirected(&mut self) -> Vec<String> {
        let written: Vec<PathBuf> = self.writable().chain(self.private()).map(Path::to_owned).collect();
        let mut left_out = Vec::new();
        for places in [&mut self.read, &mut self.write] {
            places.retain(|place| match real_place(place, &written) {
                Err(why @ PlaceError::Redirected { .. }) => {
                    left_out.push(format!("{} {why}; it was left out of the sandbox.", place.display()));
                    false
                }
                Ok(_) | Err(PlaceError::Io(_)) => true,
            });
        }
        left_out
    }

    /// The writable directories that belong to the room itself.
    pub(crate) fn private(&self) -> [&Path; 2] {
        [&self.home, &self.temp]
    }
}
