//! The commits on which deliverables were verified first, and have been verified since. The status has the last commit on which each was looked
//! at again, which the user's branch may not have.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use autonoe_core::fault::Fault;
use autonoe_files::{DOCUMENT_LIMIT, read_text};

use crate::hub::Hub;
use crate::settled::Settled;

/// The file of the hub that has them, by id.
const FILE: &str = "first_verified.json";

impl Hub {
    /// Notes the commits of what was verified since the last call.
    pub(crate) fn note_first_verified(&self, settled: &Settled) -> Result<(), Fault> {
        let now = self.first_verified(settled);
        if now == self.noted_first_verified() {
            return Ok(());
        }
        self.write_first_verified(&now).map_err(|error| self.unwritable(&error))
    }

    /// The commits on which all that is verified was verified first.
    pub(crate) fn first_verified(&self, settled: &Settled) -> BTreeMap<String, String> {
        let mut noted = self.noted_first_verified();
        noted.retain(|id, _| settled.verified_on.contains_key(id));
        for (id, commit) in &settled.verified_on {
            noted.entry(id.clone()).or_insert_with(|| commit.clone());
        }
        noted
    }

    fn write_first_verified(&self, commits: &BTreeMap<String, String>) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.layout.directory())?;
        file.write_all(serde_json::to_string(commits)?.as_bytes())?;
        file.persist(self.layout.directory().join(FILE)).map(drop).map_err(|error| error.error)
    }

    fn noted_first_verified(&self) -> BTreeMap<String, String> {
        let text = read_text(&self.layout.directory().join(FILE), DOCUMENT_LIMIT).ok().flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}
