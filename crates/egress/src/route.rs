//! Routes: providers that are reached under a name of ours, with their API key inserted by the proxy.

use std::fmt;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderName, HeaderValue};
use reqwest::Url;

use crate::failure::MalformedRequest;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Headers in which a client may send its own key.
const CLIENT_KEYS: [HeaderName; 3] = [AUTHORIZATION, X_API_KEY, X_GOOG_API_KEY];

/// The query parameter in which a client may send its own key.
const CLIENT_KEY_PARAMETER: &str = "key";

/// A secret and the header that carries it. Its `Debug` output does not contain the secret.
#[derive(Clone)]
pub struct Key {
    header: HeaderName,
    value: HeaderValue,
    secret: Bytes,
}

impl Key {
    /// A key that is the whole value of a header, such as `x-api-key: …`.
    pub fn header(name: &str, secret: &str) -> Result<Self, RouteError> {
        let header = name.parse().map_err(|_| RouteError::KeyHeader(name.to_owned()))?;
        Key::new(header, secret, secret)
    }

    /// A key sent as `authorization: Bearer …`.
    pub fn bearer(secret: &str) -> Result<Self, RouteError> {
        Key::new(AUTHORIZATION, &format!("Bearer {secret}"), secret)
    }

    fn new(header: HeaderName, value: &str, secret: &str) -> Result<Self, RouteError> {
        let mut value = HeaderValue::from_str(value).map_err(|_| RouteError::KeyValue)?;
        value.set_sensitive(true);
        Ok(Key { header, value, secret: Bytes::copy_from_slice(secret.as_bytes()) })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A provider: its name inside, its real base URL, and the key for it. Without a key, the client's own is passed on.
#[derive(Debug, Clone)]
pub struct Route {
    name: String,
    base: Url,
    key: Option<Key>,
}

/// Why a route was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    #[error("the route name `{0}` must consist of letters, digits, hyphens and underscores")]
    Name(String),
    /// The base URL is invalid. The message does not repeat it, since it may contain a password.
    #[error("the base URL of the route `{route}` {problem}")]
    BaseUrl { route: String, problem: &'static str },
    #[error("`{0}` is not a valid header name")]
    KeyHeader(String),
    #[error("the key contains characters that are not allowed in a header")]
    KeyValue,
}

impl Route {
    /// A route to `base_url`, for instance `https://api.example.org` or `http://127.0.0.1:8080/gateway`.
    pub fn new(name: &str, base_url: &str, key: impl Into<Option<Key>>) -> Result<Self, RouteError> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            return Err(RouteError::Name(name.to_owned()));
        }
        let wrong = |problem| RouteError::BaseUrl { route: name.to_owned(), problem };
        let base = Url::parse(base_url).map_err(|_| wrong("is not a valid URL"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("must start with http:// or https://"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(wrong("must not contain a user name or password"));
        }
        if base.fragment().is_some() {
            return Err(wrong("must not contain a `#`"));
        }
        Ok(Route { name: name.to_owned(), base, key: key.into() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The secret to redact from responses.
    pub(crate) fn secret(&self) -> Option<Bytes> {
        self.key.as_ref().map(|key| key.secret.clone())
    }

    /// The URL for a request to `path` below this route: always below the base URL, and without the client's key.
    pub(crate) fn url(&self, path: &str, query: Option<&str>) -> Result<Url, MalformedRequest> {
        let prefix = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        url.set_path(&format!("{prefix}{path}"));
        let below = url.path().strip_prefix(prefix);
        if !below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Err(MalformedRequest::OutsideRoute);
        }
        let kept = query.map(|query| {
            let parameters = query
                .split('&')
                .filter(|parameter| self.key.is_none() || !is_client_key(&self.base, parameter));
            parameters.collect::<Vec<_>>().join("&")
        });
        let both = [self.base.query(), kept.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
        let both = both.collect::<Vec<_>>().join("&");
        url.set_query(Some(both.as_str()).filter(|query| !query.is_empty()));
        Ok(url)
    }

    /// Replaces the client's key with ours. Also drops `Accept-Encoding`: a key echoed in a compressed response could not
    /// be redacted.
    pub(crate) fn insert_key(&self, headers: &mut HeaderMap) {
        for name in [HOST, ACCEPT_ENCODING] {
            headers.remove(name);
        }
        if let Some(key) = &self.key {
            CLIENT_KEYS.iter().for_each(|name| drop(headers.remove(name)));
            headers.insert(key.header.clone(), key.value.clone());
        }
    }
}

/// Whether a query parameter is named `key`, however it is encoded.
fn is_client_key(base: &Url, parameter: &str) -> bool {
    let mut url = base.clone();
    url.set_query(Some(parameter));
    url.query_pairs().any(|(name, _)| name == CLIENT_KEY_PARAMETER)
}

#[cfg(test)]
mod tests {
    use super::{Key, MalformedRequest, Route, RouteError};

    fn route(base: &str) -> Route {
        Route::new("r", base, Key::bearer("sk-secret").unwrap()).unwrap()
    }

    #[test]
    fn requests_stay_below_the_base_url() {
        for (base, path, query, expected) in [
            ("https://h.example", "/v1/messages", None, Ok("https://h.example/v1/messages")),
            ("https://h.example/", "", None, Ok("https://h.example/")),
            ("https://h.example/v1/", "/messages", None, Ok("https://h.example/v1/messages")),
            ("http://h.example:81/a", "/b", Some("alt=sse"), Ok("http://h.example:81/a/b?alt=sse")),
            ("https://h.example/a", "/x/../b", None, Ok("https://h.example/a/b")),
            ("https://h.example", "//evil.example/b", None, Ok("https://h.example//evil.example/b")),
            ("https://h.example", "/@evil.example/", None, Ok("https://h.example/@evil.example/")),
            ("https://h.example", "/m:stream?", None, Ok("https://h.example/m:stream%3F")),
            ("https://h.example/a", "/../b", None, Err(MalformedRequest::OutsideRoute)),
            ("https://h.example/a", "/../ab", None, Err(MalformedRequest::OutsideRoute)),
            ("https://h.example/a", "/%2e%2E/b", None, Err(MalformedRequest::OutsideRoute)),
            ("https://h.example/a", "/x/..\\..\\b", None, Err(MalformedRequest::OutsideRoute)),
            ("https://h.example", "/m", Some("key=mine"), Ok("https://h.example/m")),
            ("https://h.example", "/m", Some("a=1&key=mine&b=2"), Ok("https://h.example/m?a=1&b=2")),
            (
                "https://h.example",
                "/m",
                Some("k%65y=mine&keys=2&x=key"),
                Ok("https://h.example/m?keys=2&x=key"),
            ),
            ("https://h.example", "/m", Some("key&a=%20+"), Ok("https://h.example/m?a=%20+")),
            ("https://h.example/a%20b/", "/m%2F1", None, Ok("https://h.example/a%20b/m%2F1")),
            ("https://h.example/a?v=1%202", "/m", None, Ok("https://h.example/a/m?v=1%202")),
            (
                "https://h.example/a?v=1",
                "/m",
                Some("key=mine&alt=sse"),
                Ok("https://h.example/a/m?v=1&alt=sse"),
            ),
        ] {
            let url = route(base).url(path, query);
            assert_eq!(
                url.as_ref().map(|url| url.as_str()),
                expected.as_ref().copied(),
                "{base} {path} {query:?}"
            );
        }
    }

    #[test]
    fn an_invalid_base_url_is_reported_without_its_password() {
        for (base, problem) in [
            ("h.example/v1", "is not a valid URL"),
            ("", "is not a valid URL"),
            ("http://", "is not a valid URL"),
            ("ftp://h.example", "must start with http:// or https://"),
            ("localhost:8080", "must start with http:// or https://"),
            ("https://u:hunter2@h.example", "must not contain a user name or password"),
            ("https://h.example/#x", "must not contain a `#`"),
        ] {
            let error = Route::new("r", base, Key::bearer("sk-secret").unwrap()).unwrap_err();
            assert_eq!(error, RouteError::BaseUrl { route: "r".to_owned(), problem }, "{base}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn invalid_names_and_keys_are_rejected() {
        for name in ["", "a/b", "a b", "..", "ä"] {
            let error = Route::new(name, "http://h.example", Key::bearer("k").unwrap()).unwrap_err();
            assert_eq!(error, RouteError::Name(name.to_owned()));
        }
        assert_eq!(Key::header("x api", "k").unwrap_err(), RouteError::KeyHeader("x api".to_owned()));
        let error = Key::header("x-api-key", "sk-secret\r\nx: y").unwrap_err();
        assert_eq!(error, RouteError::KeyValue);
        assert!(!error.to_string().contains("sk-secret"));
    }

    #[test]
    fn debug_output_does_not_contain_the_key() {
        let shown =
            format!("{:?} {:#?}", route("http://h.example"), Key::header("x-api-key", "sk-secret").unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
