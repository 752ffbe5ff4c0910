//! The address of a webhook, and the rules for it: https, or http on this machine, and no password.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

#[derive(Clone, PartialEq, Eq)]
pub struct WebhookAddress {
    pub url: Url,
    /// `host:port`.
    pub authority: String,
    /// Whether it is on this machine.
    pub is_local: bool,
}

/// Repeats nothing but the host, since other parts may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookAddressError {
    #[error(transparent)]
    Url(#[from] url::ParseError),
    #[error("it has no host")]
    NoHost,
    #[error("{host} must use https")]
    NotHttps { host: String },
    #[error("the scheme {0} is not https")]
    Scheme(String),
    #[error("it has a user name or a password before {host}")]
    Credentials { host: String },
    #[error("it has no port")]
    NoPort,
}

impl WebhookAddress {
    pub fn parse(url: &str) -> Result<Self, WebhookAddressError> {
        let url = Url::parse(url)?;
        let is_local = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
            None => return Err(WebhookAddressError::NoHost),
        };
        let host = url.host_str().unwrap_or_default().to_owned();
        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(WebhookAddressError::NotHttps { host }),
            scheme => return Err(WebhookAddressError::Scheme(scheme.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebhookAddressError::Credentials { host });
        }
        let port = url.port_or_known_default().ok_or(WebhookAddressError::NoPort)?;
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

/// Shows nothing but the host, since other parts may be secret.
impl fmt::Debug for WebhookAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebhookAddress").field(&self.display_host()).finish()
    }
}
