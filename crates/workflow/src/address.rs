//! The address of a webhook: what one may look like, anyone who asks.

use std::net::IpAddr;

use url::{Host, Url};

/// Where a message is sent to.
pub(crate) struct Address {
    /// All of it.
    pub url: Url,
    /// `host:port`.
    pub authority: String,
    /// Whether it is on this machine.
    pub is_here: bool,
}

impl Address {
    /// Reads it, or says what is wrong. No part of it but its host is repeated: it may be somebody's secret.
    pub fn read(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let is_here = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
            None => return Err("it names no host".to_owned()),
        };
        let host = url.host_str().unwrap_or_default();
        match url.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(format!("{host} must be reached by https")),
            scheme => return Err(format!("{scheme} is not https")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("a name or a password stands before {host}"));
        }
        let port = url.port_or_known_default().ok_or("it names no port")?;
        let authority = format!("{host}:{port}");
        Ok(Self { url, authority, is_here })
    }

    /// The host, and the port if it is not the usual one: as the user would write it.
    pub fn shown(&self) -> &str {
        match self.url.port() {
            Some(_) => &self.authority,
            None => self.url.host_str().unwrap_or_default(),
        }
    }
}
