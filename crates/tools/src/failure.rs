//! What went wrong in a call, before it becomes an output.

use std::io;

use crate::{ToolErrorCode, ToolOutput};

/// A call that failed, with the sentences for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ToolErrorCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The arguments are wrong, or do not fit what is there.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ToolErrorCode::ValidationError, message)
    }

    /// The call is no longer wanted.
    pub(crate) fn cancelled() -> Self {
        Self::new(ToolErrorCode::Unknown, "Cancelled before it finished.")
    }

    /// The system refused something about `what`.
    pub(crate) fn io(what: &str, error: &io::Error) -> Self {
        Self::new(code_of(error), format!("{what}: {error}."))
    }
}

/// What an error of the system means to a caller.
pub(crate) fn code_of(error: &io::Error) -> ToolErrorCode {
    match error.kind() {
        io::ErrorKind::NotFound => ToolErrorCode::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ToolErrorCode::PermissionDenied
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => ToolErrorCode::ValidationError,
        io::ErrorKind::TimedOut => ToolErrorCode::Timeout,
        _ => ToolErrorCode::IoError,
    }
}

impl From<Failure> for ToolOutput {
    fn from(failure: Failure) -> Self {
        Self::error(failure.code, failure.message)
    }
}
