//! What is written down before a landing begins, so that the next start can take back what it has written.

use std::path::Path;

use autonoe_files::{DOCUMENT_LIMIT, read_text};
use serde::{Deserialize, Serialize};

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
