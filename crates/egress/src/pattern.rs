//! Which hosts are allowed, as the user writes them.

use std::str::FromStr;

use crate::address::Reach;
use crate::host::{Host, Target, split_port};

/// The ports of a pattern that names none.
const WEB_PORTS: [u16; 2] = [80, 443];

/// One entry of the list of allowed hosts.
///
/// | written | allows |
/// |---|---|
/// | `registry.example.org` | that name on ports 80 and 443, at public addresses only |
/// | `*.example.org` | every name below it, but not `example.org`; otherwise the same |
/// | `registry.example.org:8443`, `*.example.org:8443` | that port only, wherever the name leads |
/// | `127.0.0.1:8080`, `[::1]:8080` | that address and port |
/// | `192.0.2.7` | that address on ports 80 and 443 |
///
/// Case and a dot at the end make no difference. An address never matches a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: Wanted,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Exactly(Host),
    /// `.example.org`, with its dot.
    Below(String),
}

/// A host pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` does not name a host: {problem}")]
pub struct PatternError {
    pattern: String,
    problem: &'static str,
}

impl HostPattern {
    /// Whether it speaks of this `host:port`.
    pub fn names(&self, authority: &str) -> bool {
        Target::parse(authority).is_ok_and(|target| self.reach(&target).is_some())
    }

    /// How far a connection to `target` may lead, or none if this pattern does not speak of it.
    pub(crate) fn reach(&self, target: &Target) -> Option<Reach> {
        let host_matches = match (&self.host, &target.host) {
            (Wanted::Exactly(wanted), host) => wanted == host,
            (Wanted::Below(suffix), Host::Name(name)) => name.ends_with(suffix.as_str()),
            (Wanted::Below(_), Host::Address(_)) => false,
        };
        match (self.port, &self.host) {
            _ if !host_matches => None,
            (Some(port), _) => (port == target.port).then_some(Reach::Anywhere),
            (None, _) if !WEB_PORTS.contains(&target.port) => None,
            (None, Wanted::Exactly(Host::Address(_))) => Some(Reach::Anywhere),
            (None, Wanted::Exactly(Host::Name(_)) | Wanted::Below(_)) => Some(Reach::Public),
        }
    }
}

impl FromStr for HostPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        parse(text).map_err(|problem| PatternError { pattern: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<HostPattern, &'static str> {
    if text.contains("://") {
        return Err("write only the host, without `http://` or `https://`");
    }
    if text.contains('/') {
        return Err("write only the host, without a path");
    }
    if text.matches(':').count() > 1 && !text.starts_with('[') {
        return Err("write an IPv6 address in brackets, and at most one port");
    }
    let (host, port) = split_port(text)?;
    let host = match host.strip_prefix("*.") {
        None if host.contains('*') => return Err("a `*` stands only in front: `*.example.org`"),
        None => Wanted::Exactly(Host::parse(host)?),
        Some(parent) => match Host::parse(parent)? {
            Host::Name(name) => Wanted::Below(format!(".{name}")),
            Host::Address(_) => return Err("a `*.` stands in front of a name, not of an address"),
        },
    };
    Ok(HostPattern { host, port })
}

#[cfg(test)]
mod tests;
