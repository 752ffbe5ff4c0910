//! The address of a webhook, and the rules for it: https, or http on this machine, and no password.

use std::net::IpAddr;

use url::{Host, Url};

pub(crate) struct WebhookAddress {
    pub url: Url,
    /// `host:port`.
    pub authority: String,
    /// Whether it is on this machine.
    pub is_local: bool,
}

impl WebhookAddress {
    /// Parses an address. The error repeats nothing but the host, since other parts may be secret.
    pub fn parse(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let is_local = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
            None => return Err("it has no host".to_owned()),
        };
        let host = url.host_str().unwrap_or_default();
        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(format!("{host} must use https")),
            scheme => return Err(format!("the scheme {scheme} is not https")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("it has a user name or a password before {host}"));
        }
        let port = url.port_or_known_default().ok_or("it has no port")?;
        let authority = format!("{host}:{port}");
        Ok(Self { url, authority, is_local })
    }

    /// The host, with the port unless it is the default: as the user would write it.
    pub fn display_host(&self) -> &str {
        match self.url.port() {
            Some(_) => &self.authority,
            None => self.url.host_str().unwrap_or_default(),
        }
    }
}
