//! The proxy between us and the internet, on networks that have one.

use std::fmt;
use std::sync::Arc;

use hyper::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::{NoProxy, Proxy, Url};

use crate::host::Host;

/// An HTTP proxy for outgoing requests, and the hosts that are reached without it.
///
/// The upstream proxy resolves names itself, so we cannot check addresses; only the host patterns decide.
#[derive(Clone)]
pub struct UpstreamProxy {
    url: String,
    no_proxy: String,
    matcher: Arc<Matcher>,
}

/// Why an upstream proxy cannot be used. The message does not repeat the URL, since it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the upstream proxy cannot be used: {0}")]
pub struct ProxyError(&'static str);

impl UpstreamProxy {
    /// Takes the proxy's URL, `http://[user:password@]host[:port]`, and a list in the format of `NO_PROXY`.
    pub fn new(url: &str, no_proxy: &str) -> Result<Self, ProxyError> {
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let url = Url::parse(&url).map_err(|_| ProxyError("its URL is invalid"))?;
        if url.scheme() != "http" {
            return Err(ProxyError("its URL must start with http://"));
        }
        if url.path() != "/" || url.query().is_some() {
            return Err(ProxyError("its URL must end after the port"));
        }
        let usable = Matcher::builder().all(url.as_str()).build();
        if usable.intercept(&Uri::from_static("http://localhost")).is_none() {
            return Err(ProxyError("its URL is invalid"));
        }
        let matcher = Matcher::builder().all(url.as_str()).no(no_proxy).build();
        Ok(UpstreamProxy { url: url.into(), no_proxy: no_proxy.to_owned(), matcher: Arc::new(matcher) })
    }

    /// `None` if the host is reached without the proxy.
    pub(crate) fn intercept(&self, host: &Host) -> Option<Intercept> {
        self.matcher.intercept(&format!("http://{host}").parse().ok()?)
    }

    /// The same proxy, as a setting of a `reqwest` client.
    pub fn for_client(&self) -> reqwest::Result<Proxy> {
        Ok(Proxy::all(&self.url)?.no_proxy(NoProxy::from_string(&self.no_proxy)))
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamProxy").finish_non_exhaustive()
    }
}
