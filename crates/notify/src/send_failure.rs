//! Why an attempt to notify somebody failed.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFailure {
    /// A clause about the receiver, such as "it answered 500". Names no secret.
    pub reason: String,
    /// Whether a retry can help.
    pub is_transient: bool,
    /// The pause that the receiver asked for.
    pub retry_after: Option<Duration>,
}

impl SendFailure {
    pub fn transient(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_transient: true, retry_after: None }
    }

    pub fn permanent(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_transient: false, retry_after: None }
    }
}
