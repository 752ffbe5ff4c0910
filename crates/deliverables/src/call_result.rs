//! What a tool of ours answers.

/// Result of a tool call: one line of JSON for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    pub content: String,
    /// True if the call was refused or failed.
    pub is_error: bool,
}
