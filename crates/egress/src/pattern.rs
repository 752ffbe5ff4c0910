//! Host patterns: the entries of the user's list of allowed hosts.

use std::str::FromStr;

use crate::address::AddressScope;
use crate::host::{Host, HostError, HostPort, split_port};

/// The ports that a pattern without a port allows.
const WEB_PORTS: [u16; 2] = [80, 443];

/// One entry of the list of allowed hosts.
///
/// | pattern | allows |
/// |---|---|
/// | `registry.example.org` | that name on ports 80 and 443, at public addresses only |
/// | `*.example.org` | every name below it, but not `example.org`; otherwise the same |
/// | `registry.example.org:8443`, `*.example.org:8443` | that port only, whatever address the name resolves to |
/// | `127.0.0.1:8080`, `[::1]:8080` | that address and port |
/// | `192.0.2.7` | that address on ports 80 and 443 |
///
/// Case and a trailing dot are ignored. An address never matches a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: HostMatch,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostMatch {
    Exactly(Host),
    /// `.example.org`, with its dot.
    Below(String),
    /// Every name and address.
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` does not name a host: {problem}")]
pub struct PatternError {
    pattern: String,
    problem: PatternProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum PatternProblem {
    #[error("write only the host, without `http://` or `https://`")]
    Scheme,
    #[error("write only the host, without a path")]
    Path,
    #[error("write an IPv6 address in brackets, and at most one port")]
    Colons,
    #[error("a `*` is allowed only at the start, as in `*.example.org`")]
    Star,
    #[error("a `*.` can be followed by a name, not by an address")]
    StarAddress,
    #[error(transparent)]
    Host(#[from] HostError),
}

impl HostPattern {
    /// Every host on ports 80 and 443, at public addresses only. Nothing that is written as a pattern means this.
    pub fn any_public() -> Self {
        Self { host: HostMatch::Any, port: None }
    }

    /// Whether the pattern matches this `host:port`.
    pub fn matches(&self, authority: &str) -> bool {
        HostPort::parse(authority).is_ok_and(|target| self.scope(&target).is_some())
    }

    /// The addresses that a connection to `target` may use, or `None` if the pattern does not match.
    pub(crate) fn scope(&self, target: &HostPort) -> Option<AddressScope> {
        let host_matches = match (&self.host, &target.host) {
            (HostMatch::Exactly(expected), host) => expected == host,
            (HostMatch::Below(suffix), Host::Name(name)) => name.ends_with(suffix.as_str()),
            (HostMatch::Below(_), Host::Address(_)) => false,
            (HostMatch::Any, _) => true,
        };
        match (self.port, &self.host) {
            _ if !host_matches => None,
            (Some(port), _) => (port == target.port).then_some(AddressScope::Anywhere),
            (None, _) if !WEB_PORTS.contains(&target.port) => None,
            (None, HostMatch::Exactly(Host::Address(_))) => Some(AddressScope::Anywhere),
            (None, HostMatch::Exactly(Host::Name(_)) | HostMatch::Below(_) | HostMatch::Any) => {
                Some(AddressScope::Public)
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        parse(text).map_err(|problem| PatternError { pattern: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<HostPattern, PatternProblem> {
    if text.contains("://") {
        return Err(PatternProblem::Scheme);
    }
    if text.contains('/') {
        return Err(PatternProblem::Path);
    }
    if text.matches(':').count() > 1 && !text.starts_with('[') {
        return Err(PatternProblem::Colons);
    }
    let (host, port) = split_port(text)?;
    let host = match host.strip_prefix("*.") {
        None if host.contains('*') => return Err(PatternProblem::Star),
        None => HostMatch::Exactly(Host::parse(host)?),
        Some(parent) => match Host::parse(parent)? {
            Host::Name(name) => HostMatch::Below(format!(".{name}")),
            Host::Address(_) => return Err(PatternProblem::StarAddress),
        },
    };
    Ok(HostPattern { host, port })
}

#[cfg(test)]
mod tests;
