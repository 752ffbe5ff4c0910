//! What the processes of a room may touch, as data; each system compiles it to what its kernel understands.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What holds the bounds. Best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// Namespaces by bubblewrap, and seccomp: files, network, processes.
    Bubblewrap,
    /// Landlock and seccomp, where namespaces are forbidden: files and network, less exactly.
    Landlock,
    /// A profile of macOS' sandbox-exec.
    Seatbelt,
    /// Nothing: the user asked for it.
    None,
}

impl Layer {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "Landlock",
            Self::Seatbelt => "sandbox-exec",
            Self::None => "none",
        }
    }
}

/// What the processes of a room may touch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bounds {
    /// The project: readable and writable.
    pub root: PathBuf,
    /// Places within what is writable that stay read-only, absolute. A directory that is missing is kept from being
    /// made where the layer can.
    pub protected: Vec<PathBuf>,
    /// The private home of the processes, outside the project, writable.
    pub home: PathBuf,
    /// A private temporary directory where the layer cannot give a fresh `/tmp`.
    pub temp: PathBuf,
    /// What may be read beyond the system's own directories: toolchains, and what the user added.
    pub read: Vec<PathBuf>,
    /// What else may be written.
    pub write: Vec<PathBuf>,
    /// Places that are hidden, whatever else is said.
    pub hidden: Vec<PathBuf>,
    /// How much the processes may use.
    pub limits: Limits,
    /// Whether programs may build sandboxes of their own inside, as some agents do.
    pub nested: bool,
    /// Where it is on record, while the room is open, what must be put right in the project afterwards: see
    /// [`crate::recover_rooms`]. None for a root that is nobody's.
    pub records: Option<PathBuf>,
}

/// How much the processes of a room may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes at once in the room.
    pub processes: u64,
    /// Memory of one process, in bytes.
    pub memory: u64,
    /// Size of one file, in bytes.
    pub file_size: u64,
    /// Size of all temporary files, in bytes, where `/tmp` is private.
    pub temp_size: u64,
    /// What must stay free on the project's disk, in bytes.
    pub disk_reserve: u64,
}

const GIB: u64 = 1 << 30;

impl Default for Limits {
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
            protected: Vec::new(),
            home: home.into(),
            temp: temp.into(),
            read: Vec::new(),
            write: Vec::new(),
            hidden: Vec::new(),
            limits: Limits::default(),
            nested: false,
            records: None,
        }
    }

    /// Everything that may be written and is not ours.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        [&self.root].into_iter().chain(&self.write).map(PathBuf::as_path)
    }

    /// What may be written and is ours.
    pub(crate) fn private(&self) -> [&Path; 2] {
        [&self.home, &self.temp]
    }
}
