//! A landing during which the process was killed: some files of the user's checkout are new already, the others and the branch are not.
//!
//! The landing is on record before it begins. The next start takes back what it has written, and then repeats it, unless the user has
//! committed or switched branches since.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::hub::Hub;
use crate::landing_record::LandingRecord;

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
