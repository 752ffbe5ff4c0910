//! What the journal knows about `status.json`.

/// A change of `status.json` that was recorded but may not have been applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStatus {
    pub id: i64,
    /// Hash of the file before the change; empty if there was none.
    pub before: String,
    /// Text of the file after the change.
    pub after: String,
}

/// Recorded as the text when the user starts over and `status.json` is removed.
pub(crate) const STARTED_OVER: &str = "";

/// The journal's record of the latest `status.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedStatus {
    pub at: String,
    /// `None` if the journal is older than the storing of texts.
    pub text: Option<String>,
    /// Number of deliverables that ever existed.
    pub deliverables: usize,
}
