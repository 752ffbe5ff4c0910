//! Why a request is not served, and how the client is told.

use std::error::Error;

use hyper::StatusCode;

use crate::refusal::Refusal;

/// Everything that is answered by us and not by the other side.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request makes no sense or could be read in two ways.
    Malformed(&'static str),
    /// The host is not allowed.
    Refused(Refusal),
    /// Neither a proxy request nor a route.
    NothingHere,
    /// HTTP that this proxy does not speak.
    NotSupported(&'static str),
    /// The other side cannot be reached, or does not answer as it should.
    Unreachable { whom: String, cause: String },
    /// The other side takes too long.
    TooSlow { whom: String },
}

impl Failure {
    /// The status and the text of the answer; `how_to_allow` is added where it helps.
    pub fn tell(&self, how_to_allow: &str) -> (StatusCode, String) {
        match self {
            Failure::Malformed(problem) => (StatusCode::BAD_REQUEST, format!("Malformed request: {problem}.\n")),
            Failure::Refused(refusal) => (StatusCode::FORBIDDEN, format!("{refusal}\n{how_to_allow}\n")),
            Failure::NothingHere => (
                StatusCode::NOT_FOUND,
                "This is Autonoe's proxy, the only way out of the sandbox. Set HTTP_PROXY and HTTPS_PROXY to it.\n"
                    .to_owned(),
            ),
            Failure::NotSupported(what) => {
                (StatusCode::NOT_IMPLEMENTED, format!("This proxy does not serve {what}.\n"))
            }
            Failure::Unreachable { whom, cause } => {
                (StatusCode::BAD_GATEWAY, format!("{whom} cannot be reached: {cause}.\n"))
            }
            Failure::TooSlow { whom } => {
                (StatusCode::GATEWAY_TIMEOUT, format!("{whom} did not answer in time.\n"))
            }
        }
    }

    /// Names the innermost cause; what wraps it may show URLs.
    pub fn unreachable(whom: &impl ToString, error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Failure::Unreachable { whom: whom.to_string(), cause: cause.to_string() }
    }
}
