//! Why a call of a file tool is denied, worded for the agent.

use autonoe_core::files::FileDenial;

use crate::paths::{MAX_PATH, NOTE};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathDenial {
    #[error("The {tool} tool requires a path.")]
    NoPath { tool: String },
    #[error("The {tool} tool requires '{field}' as a string.")]
    FieldNotString { tool: String, field: String },
    #[error("The {tool} tool requires its path as a string.")]
    PathNotString { tool: String },
    #[error("The path is longer than {MAX_PATH} bytes.")]
    TooLong,
    #[error("The path contains a NUL character.")]
    Nul,
    #[error("Path '{0}' begins or ends with white space.")]
    WhiteSpace(String),
    #[error("Path '{0}' begins with '~'. Write it relative to the project directory.")]
    Tilde(String),
    #[error("The paths that the pattern '{0}' matches cannot be determined.")]
    Pattern(String),
    #[error("Path '{0}' is outside the project directory.")]
    Outside(String),
    #[error("Path '{0}' is where credentials of the user are kept.")]
    Credential(String),
    #[error("This phase may write only {NOTE}, not '{0}'.")]
    NotTheNote(String),
    #[error("{0}")]
    Guarded(String),
    #[error("{0}")]
    Protected(&'static str),
}

impl From<PathDenial> for FileDenial {
    fn from(denial: PathDenial) -> Self {
        Self(denial.to_string())
    }
}
