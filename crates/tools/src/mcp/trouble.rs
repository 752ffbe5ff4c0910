//! What went wrong with a server, and whether starting it again may fix it.

use std::error::Error;

use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// What went wrong with a server: a clause that follows its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) why: String,
    pub(super) may_pass: bool,
}

impl Trouble {
    /// A second try would fail like the first.
    pub(super) fn for_good(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: false }
    }

    /// A second try is worth it.
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), may_pass: true }
    }
}

/// What a request failed of, without the names of types.
pub(super) fn plain(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => causes(error.error.as_ref()),
        error => error.to_string(),
    }
}

/// An error with all that led to it, each said once.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut said = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // The library does not name this one as a cause.
        if let Some(StreamableHttpError::Client(cause)) =
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        {
            next = Some(cause);
            continue;
        }
        let part = error.to_string();
        if said.is_empty() {
            said = part;
        } else if !said.contains(&part) {
            said = format!("{said}: {part}");
        }
        next = error.source();
    }
    said
}
