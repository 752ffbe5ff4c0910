//! Why a server failed, and whether a restart may fix it.

use std::error::Error;

use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// Why a server failed: a clause whose subject is the server, such as "it exited with code 1".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) why: String,
    pub(crate) is_transient: bool,
}

impl ServerError {
    /// A second attempt would fail too.
    pub(crate) fn permanent(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_transient: false }
    }

    /// A second attempt may succeed.
    pub(crate) fn transient(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_transient: true }
    }
}

/// The message of a failed request, without type names.
pub(crate) fn plain(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => causes(error.error.as_ref()),
        error => error.to_string(),
    }
}

/// An error with its chain of causes, without repetitions.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // The library does not return this one from `source()`.
        if let Some(StreamableHttpError::Client(cause)) =
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        {
            next = Some(cause);
            continue;
        }
        let part = error.to_string();
        if text.is_empty() {
            text = part;
        } else if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        next = error.source();
    }
    text
}
