//! URL patterns of permission rules, such as `https://api.example.com/*`: scheme, host and port must be equal, and the
//! path must match.

use std::str::FromStr;

use url::Url;

use super::rule_error::RuleError;
use crate::wildcard::Wildcard;

/// How many levels of percent-encoding are decoded in a path before it is refused.
const MAX_ENCODINGS: usize = 4;

/// A pattern for URLs on one host. A `*` in the path matches any characters, and one at its end also any query.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    scheme: String,
    host: String,
    /// `None` for the scheme's default port.
    port: Option<u16>,
    path: Wildcard,
    query: Option<Wildcard>,
}

impl UrlPattern {
    pub fn matches(&self, url: &str) -> bool {
        let Some(url) = parse_web_url(url) else { return false };
        let same_host = url.scheme() == self.scheme
            && url.host_str() == Some(self.host.as_str())
            && url.port() == self.port
            && url.username().is_empty()
            && url.password().is_none();
        let query = match (&self.query, url.query()) {
            (Some(pattern), query) => pattern.matches(query.unwrap_or_default()),
            (None, Some(_)) => self.path.is_open(),
            (None, None) => true,
        };
        same_host && query && !has_dot_segments(url.path()) && self.path.matches(url.path())
    }

    /// The host, with its port unless that is the scheme's default.
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
        let invalid = |reason: &str| RuleError::InvalidUrl(reason.to_owned());
        if let Some(domain) = text.strip_prefix("domain:") {
            return Err(RuleError::InvalidUrl(format!("write https://{domain}/* instead")));
        }
        if text.split(['/', '?']).any(|segment| segment == "..") {
            return Err(RuleError::ParentSegment);
        }
        let url =
            parse_web_url(text).ok_or_else(|| invalid("it must start with https://HOST/ or http://HOST/"))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(invalid("it may not contain a user or a fragment"));
        }
        let host = url.host_str().filter(|host| !host.contains('*'));
        let host = host.ok_or_else(|| invalid("the host must be literal; use WebFetch(*) for any host"))?;
        Ok(Self {
            scheme: url.scheme().to_owned(),
            host: host.to_owned(),
            port: url.port(),
            path: Wildcard::new(url.path()),
            query: url.query().map(Wildcard::new),
        })
    }
}

/// Parses an http or https URL. Refuses spaces, control characters and backslashes, which programs normalize
/// differently.
pub fn parse_web_url(text: &str) -> Option<Url> {
    if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return None;
    }
    let (_, after) = text.split_once("://")?;
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && !after.starts_with('/')).then_some(url)
}

/// Whether a path contains `.` or `..` segments after any number of percent-decodings. The URL parser has already
/// resolved unencoded ones.
fn has_dot_segments(path: &str) -> bool {
    let mut path = path.as_bytes().to_owned();
    for _ in 0..MAX_ENCODINGS {
        let mut segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
        // Some servers strip path parameters: `..;x` becomes `..`.
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
