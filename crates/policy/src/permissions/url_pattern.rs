//! Addresses as a permission rule names them, such as `https://api.example.com/*`: scheme, host and port must be the
//! same, and the path must fit.

use std::str::FromStr;

use url::Url;

use super::RuleError;
use crate::wildcard::Wildcard;

/// How often an address may have been percent-encoded before nobody knows what its path means.
const MAX_ENCODINGS: usize = 4;

/// The addresses of one host that fit. A `*` in the path stands for any characters, and one at its end also for any
/// query.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    scheme: String,
    host: String,
    /// Where it is not the scheme's own.
    port: Option<u16>,
    path: Wildcard,
    query: Option<Wildcard>,
}

impl UrlPattern {
    /// Whether an address fits.
    pub fn matches(&self, address: &str) -> bool {
        let Some(url) = web_address(address) else { return false };
        let same_place = url.scheme() == self.scheme
            && url.host_str() == Some(self.host.as_str())
            && url.port() == self.port
            && url.username().is_empty()
            && url.password().is_none();
        let query = match (&self.query, url.query()) {
            (Some(pattern), query) => pattern.matches(query.unwrap_or_default()),
            (None, Some(_)) => self.path.is_open(),
            (None, None) => true,
        };
        same_place && query && !has_detours(url.path()) && self.path.matches(url.path())
    }

    /// The host, with its port where that is not the scheme's own.
    pub fn host(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }
}

impl FromStr for UrlPattern {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |what: &str| RuleError::NoAddress(what.to_owned());
        if let Some(domain) = text.strip_prefix("domain:") {
            return Err(RuleError::NoAddress(format!("write https://{domain}/* instead")));
        }
        if text.split(['/', '?']).any(|segment| segment == "..") {
            return Err(RuleError::Climbs);
        }
        let url =
            web_address(text).ok_or_else(|| wrong("it must begin with https://HOST/ or http://HOST/"))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(wrong("it may have neither a user nor a fragment"));
        }
        let host = url.host_str().filter(|host| !host.contains('*'));
        let host = host.ok_or_else(|| wrong("the host must be written out; WebFetch(*) is for any"))?;
        Ok(Self {
            scheme: url.scheme().to_owned(),
            host: host.to_owned(),
            port: url.port(),
            path: Wildcard::new(url.path()),
            query: url.query().map(Wildcard::new),
        })
    }
}

/// An address of the web that every program reads alike: what browsers repair (spaces, control characters, backslashes)
/// is refused.
pub fn web_address(text: &str) -> Option<Url> {
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    let (_, after) = text.split_once("://")?;
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && !after.starts_with('/')).then_some(url)
}

/// Whether a path, however often it is decoded, has `.` or `..` in it. Those that are plain have been resolved before.
fn has_detours(path: &str) -> bool {
    let mut path = path.as_bytes().to_owned();
    for _ in 0..MAX_ENCODINGS {
        let mut segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
        // Some servers cut parameters off: `..;x` is `..`.
        let name = |segment: &[u8]| segment.split(|byte| *byte == b';').next().unwrap_or_default().to_owned();
        if segments.any(|segment| matches!(name(segment).as_slice(), b"." | b"..")) {
            return true;
        }
        let decoded = percent_decoded(&path);
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                decoded.push(high * 16 + low);
                rest = &after[2..];
            }
            None => {
                decoded.push(first);
                rest = after;
            }
        }
    }
    decoded
}
