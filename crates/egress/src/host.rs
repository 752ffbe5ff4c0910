//! Hosts and ports in a canonical form, which is the one that is checked, compared and connected to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A host in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    /// Lower case, without a trailing dot, and never parseable as an address.
    Name(String),
    /// An IPv4-mapped IPv6 address is stored as IPv4.
    Address(IpAddr),
}

/// Why a text is not a host, or not a host with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostError {
    #[error("the bracket is not closed")]
    OpenBracket,
    #[error("the text in brackets is not an IPv6 address")]
    NotIpv6,
    #[error("the host is empty")]
    Empty,
    #[error("non-ASCII names must be written in their xn-- form")]
    NotAscii,
    #[error("a host may contain only letters, digits, dots, hyphens and underscores")]
    Character,
    #[error("a part between two dots is empty or too long")]
    Label,
    #[error("an IPv4 address must be written as four decimal numbers")]
    NotIpv4,
    #[error("the port must be a number from 1 to 65535")]
    Port,
    #[error("the port is missing")]
    NoPort,
}

impl Host {
    /// Parses a name, an IPv4 address or an IPv6 address in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::OpenBracket)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::NotIpv6)?;
            return Ok(Host::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Host::Address(address.into()));
        }
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        if !name.is_ascii() {
            return Err(HostError::NotAscii);
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
            return Err(HostError::Character);
        }
        if name.len() > MAX_NAME || name.split('.').any(|label| label.is_empty() || label.len() > MAX_LABEL) {
            return Err(HostError::Label);
        }
        if name.rsplit('.').next().is_some_and(is_number) {
            return Err(HostError::NotIpv4);
        }
        Ok(Host::Name(name))
    }
}

/// Whether resolvers treat a name with this last label as an address: `0x7f.1`, `2130706433`.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit())
        || label.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Splits `host:port`; the port is `None` if there is no colon after the host.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let end_of_host = text.rfind(']').unwrap_or(0);
    let Some(colon) = text[end_of_host..].rfind(':').map(|at| at + end_of_host) else {
        return Ok((text, None));
    };
    let (host, port) = (&text[..colon], &text[colon + 1..]);
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits && port > 0 => Ok((host, Some(port))),
        _ => Err(HostError::Port),
    }
}

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HostPort {
    pub host: Host,
    pub port: u16,
}

impl HostPort {
    /// Parses an authority, which must have a port.
    pub fn parse(authority: &str) -> Result<Self, HostError> {
        let (host, port) = split_port(authority)?;
        Ok(HostPort { host: Host::parse(host)?, port: port.ok_or(HostError::NoPort)? })
    }

    /// Parses the authority of an `http` URL; the port defaults to 80.
    pub fn parse_http(authority: &str) -> Result<Self, HostError> {
        let (host, port) = split_port(authority)?;
        Ok(HostPort { host: Host::parse(host)?, port: port.unwrap_or(80) })
    }

    /// The `Host` header of a plain HTTP request.
    pub fn host_header(&self) -> String {
        if self.port == 80 { self.host.to_string() } else { self.to_string() }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests;
