//! A failed tool call, before it becomes an output.

use std::io;

use crate::output::{ToolErrorCode, ToolOutput};

/// Why a call failed, with a message for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    pub(crate) code: ToolErrorCode,
    pub(crate) message: String,
}

impl ToolFailure {
    pub(crate) fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ToolErrorCode::ValidationError, message)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ToolErrorCode::Unknown, "Cancelled before it finished.")
    }

    /// An I/O error that concerns `subject`, usually a path.
    pub(crate) fn io(subject: &str, error: &io::Error) -> Self {
        Self::new(code_of(error), format!("{subject}: {error}."))
    }
}

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

impl From<ToolFailure> for ToolOutput {
    fn from(failure: ToolFailure) -> Self {
        Self::error(failure.code, failure.message)
    }
}
