//! A landing during which the process was killed: some files of the user's checkout are new already, the others and the branch are not.
//!
//! The landing is on record before it begins. The next start takes back what it has written, and then repeats it, unless the user has
//! committed or switched branches since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde::{Deserialize, Serialize};

use crate::hub::Hub;

/// The record of a landing that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandingRecord {
    /// The user's branch.
    pub(crate) branch: String,
    pub(crate) commit: String,
    /// The commit before; `None` if there was none.
    pub(crate) old: Option<String>,
    /// Files that the user had staged as the new commit has them, and that are the user's.
    #[serde(default)]
    pub(crate) same: Vec<String>,
}

impl LandingRecord {
    pub(crate) fn read(file: &Path) -> Option<Self> {
        let text = read_text(file, DOCUMENT_LIMIT).ok()??;
        serde_json::from_str(&text).ok()
    }
}

impl Hub {
    fn record_file(&self) -> PathBuf {
        self.layout.landing_record()
    }

    pub(crate) fn record_landing(&self, record: &LandingRecord) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        serde_json::to_writer(&mut file, record)?;
        file.as_file().sync_all()?;
        file.persist(self.record_file()).map(drop).map_err(|error| error.error)
    }

    pub(crate) fn forget_landing(&self) {
        // Left behind, it only makes the next start look again.
        let _ = fs::remove_file(self.record_file());
    }

    /// The landing that a killed process has left unfinished.
    pub(crate) fn unfinished_landing(&self) -> Option<LandingRecord> {
        LandingRecord::read(&self.record_file())
    }
}
