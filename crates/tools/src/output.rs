//! What a call gives back: the result of seed 003.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The key of the metadata that says that a call failed.
const ERROR: &str = "error";

/// What a call gave back to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// What was done, in a few words, for people.
    pub title: String,
    /// What else is known of the call. `error` holds a [`ToolErrorCode`] if it failed.
    pub metadata: Map<String, Value>,
    /// The text for the model.
    pub output: String,
    /// What is not text.
    pub attachments: Vec<Attachment>,
}

/// Something for the model that is not text: an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Why a call failed, as far as a program needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolErrorCode {
    /// The arguments are wrong, or do not fit what is there.
    ValidationError,
    /// A file, a process or the network failed.
    IoError,
    /// Something is not set up.
    ConfigError,
    /// It may not be done.
    PermissionDenied,
    /// Too much was asked in too short a time.
    RateLimited,
    /// What was named is not there.
    NotFound,
    /// The tool needs a model to finish its work.
    LlmAssistRequired,
    /// It took too long.
    Timeout,
    /// Anything else.
    Unknown,
}

impl ToolErrorCode {
    /// Its name in seed 003.
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
    /// A call that did what was asked.
    pub fn ok(output: impl Into<String>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }

    /// A call that failed: what happened, why, and what to do instead.
    pub fn error(code: ToolErrorCode, output: impl Into<String>) -> Self {
        Self::ok(output).with(ERROR, code.name())
    }

    /// Says what was done, in a few words.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds to the metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what is not text.
    #[must_use]
    pub fn attach(mut self, media_type: &str, data: Vec<u8>) -> Self {
        self.attachments.push(Attachment { media_type: media_type.to_owned(), data });
        self
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        self.error_code().is_some()
    }

    /// Why the call failed, if it did. Whatever else than a code stands there means that it failed somehow.
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
    fn seed_003_a_failed_call_is_known_by_its_metadata() {
        assert!(!ToolOutput::ok("Error: no").is_error());
        let failed = ToolOutput::error(ToolErrorCode::NotFound, "no");
        assert_eq!(failed.metadata["error"], "NOT_FOUND");
        assert_eq!(failed.error_code(), Some(ToolErrorCode::NotFound));
        assert_eq!(ToolOutput::ok("").with("error", true).error_code(), Some(ToolErrorCode::Unknown));
        assert_eq!(ToolOutput::ok("").with("error", "ODD").error_code(), Some(ToolErrorCode::Unknown));
        assert_eq!(ToolOutput::ok("").with("error", false).error_code(), None);
    }

    #[test]
    fn seed_003_every_code_has_the_name_that_it_is_written_with() {
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
