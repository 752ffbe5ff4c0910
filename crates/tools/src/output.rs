//! The result of a tool call, as defined in seed 003.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The metadata key that marks a failed call.
const ERROR: &str = "error";

/// The result of a tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// A short summary for people.
    pub title: String,
    /// Further data about the call. `error` is a [`ToolErrorCode`] if the call failed.
    pub metadata: Map<String, Value>,
    /// The text for the model.
    pub output: String,
    pub attachments: Vec<Attachment>,
}

/// An image for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The media type, such as `image/png`.
    pub media_type: String,
    pub data: Vec<u8>,
}

/// Why a call failed, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolErrorCode {
    /// The arguments are invalid, by themselves or for the file they name.
    ValidationError,
    /// A file, a process or the network failed.
    IoError,
    /// A tool or server is not set up correctly.
    ConfigError,
    PermissionDenied,
    RateLimited,
    NotFound,
    /// The tool needs a model to finish its work.
    LlmAssistRequired,
    Timeout,
    Unknown,
}

impl ToolErrorCode {
    /// The name in seed 003.
    pub fn name(self) -> &'static str {
        match self {
            Self::ValidationError => "VALIDATION_ERROR",
            Self::IoError => "IO_ERROR",
            Self::ConfigError => "CONFIG_ERROR",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::RateLimited => "RATE_LIMITED",
            Self::NotFound => "NOT_FOUND",
            Self::LlmAssistRequired => "LLM_ASSIST_REQUIRED",
            Self::Timeout => "TIMEOUT",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl ToolOutput {
    pub fn ok(output: impl Into<String>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }

    /// A failed call. `output` says what happened, why, and what to do instead.
    pub fn error(code: ToolErrorCode, output: impl Into<String>) -> Self {
        Self::ok(output).with(ERROR, code.name())
    }

    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a metadata entry.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn attach(mut self, media_type: &str, data: Vec<u8>) -> Self {
        self.attachments.push(Attachment { media_type: media_type.to_owned(), data });
        self
    }

    pub fn is_error(&self) -> bool {
        self.error_code().is_some()
    }

    /// Why the call failed; `None` if it succeeded. An `error` value that is not a known code counts as `Unknown`.
    pub fn error_code(&self) -> Option<ToolErrorCode> {
        match self.metadata.get(ERROR)? {
            Value::Null | Value::Bool(false) => None,
            code => Some(ToolErrorCode::deserialize(code).unwrap_or(ToolErrorCode::Unknown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ToolErrorCode, ToolOutput};

    #[test]
    fn seed_003_metadata_marks_a_failed_call() {
        assert!(!ToolOutput::ok("Error: no").is_error());
        let failed = ToolOutput::error(ToolErrorCode::NotFound, "no");
        assert_eq!(failed.metadata["error"], "NOT_FOUND");
        assert_eq!(failed.error_code(), Some(ToolErrorCode::NotFound));
        assert_eq!(ToolOutput::ok("").with("error", true).error_code(), Some(ToolErrorCode::Unknown));
        assert_eq!(ToolOutput::ok("").with("error", "ODD").error_code(), Some(ToolErrorCode::Unknown));
        assert_eq!(ToolOutput::ok("").with("error", false).error_code(), None);
    }

    #[test]
    fn seed_003_every_code_serializes_to_its_name() {
        use ToolErrorCode::{
            ConfigError, IoError, LlmAssistRequired, NotFound, PermissionDenied, RateLimited, Timeout,
            Unknown, ValidationError,
        };
        for code in [
            ValidationError,
            IoError,
            ConfigError,
            PermissionDenied,
            RateLimited,
            NotFound,
            LlmAssistRequired,
            Timeout,
            Unknown,
        ] {
            assert_eq!(json!(code), code.name());
            assert_eq!(ToolOutput::error(code, "").error_code(), Some(code));
        }
    }
}
