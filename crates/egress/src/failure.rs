//! Why a request is not served, and the response that the client gets.

use std::error::Error;

use hyper::StatusCode;

use crate::host::HostError;
use crate::refusal::EgressRefusal;

/// A failure for which the proxy itself responds.
#[derive(Debug)]
pub(crate) enum EgressFailure {
    /// The request is invalid or ambiguous.
    Malformed(MalformedRequest),
    Refused(EgressRefusal),
    /// Neither a proxy request nor a route.
    NotFound,
    /// An HTTP feature that this proxy does not support.
    NotSupported(&'static str),
    /// The peer cannot be reached, or its response is invalid.
    Unreachable {
        peer: String,
        cause: String,
    },
    TimedOut {
        peer: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MalformedRequest {
    #[error(transparent)]
    Host(HostError),
    #[error("CONNECT takes only a host and a port")]
    Connect,
    #[error("only http:// URLs are forwarded; use CONNECT for everything else")]
    Scheme,
    #[error("the URL cannot be forwarded")]
    Url,
    #[error("the path leaves its route")]
    OutsideRoute,
    #[error("this is a socket; it takes a GET request with an `Upgrade` header")]
    Socket,
}

impl From<HostError> for EgressFailure {
    fn from(error: HostError) -> Self {
        EgressFailure::Malformed(MalformedRequest::Host(error))
    }
}

impl EgressFailure {
    /// The status and text of the response. A refusal ends with `how_to_allow`.
    pub fn to_response(&self, how_to_allow: &str) -> (StatusCode, String) {
        match self {
            EgressFailure::Malformed(problem) => (StatusCode::BAD_REQUEST, format!("Malformed request: {problem}.\n")),
            EgressFailure::Refused(refusal) => (StatusCode::FORBIDDEN, format!("{refusal}\n{how_to_allow}\n")),
            EgressFailure::NotFound => (
                StatusCode::NOT_FOUND,
                "This is Autonoe's proxy, the only way out of the sandbox. Set HTTP_PROXY and HTTPS_PROXY to it.\n"
                    .to_owned(),
            ),
            EgressFailure::NotSupported(what) => {
                (StatusCode::NOT_IMPLEMENTED, format!("This proxy does not support {what}.\n"))
            }
            EgressFailure::Unreachable { peer, cause } => {
                (StatusCode::BAD_GATEWAY, format!("{peer} cannot be reached: {cause}.\n"))
            }
            EgressFailure::TimedOut { peer } => {
                (StatusCode::GATEWAY_TIMEOUT, format!("{peer} did not answer in time.\n"))
            }
        }
    }

    /// Keeps only the innermost cause, since the errors that wrap it may contain URLs.
    pub fn unreachable(peer: &impl ToString, error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        EgressFailure::Unreachable { peer: peer.to_string(), cause: cause.to_string() }
    }
}
