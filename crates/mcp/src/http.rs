//! The transport to a server over streamable HTTP: headers, redirects and limits. The protocol itself is the library's.

use std::collections::HashMap;
use std::time::Duration;

use autonoe_sandbox::MAX_LINE_BYTES;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::authorizing_client::{AuthorizingClient, TokenSources};
use crate::config::Secrets;
use crate::server_error::causes;

/// How long connecting to a server may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// Why no connection can be prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpSetupError {
    #[error("{}", causes(.0))]
    Client(reqwest::Error),
    #[error("`headers.{0}` is not a valid header name")]
    HeaderName(String),
    #[error("`headers.{0}` has a value that is not allowed in a header")]
    HeaderValue(HeaderName),
}

/// A client for the server at `url`.
pub(crate) fn client(url: &str, sources: TokenSources) -> Result<AuthorizingClient, HttpSetupError> {
    let http = http_client().map_err(HttpSetupError::Client)?;
    Ok(AuthorizingClient::new(http, url, sources))
}

/// A connection to `url`, opened when it is first used.
pub(crate) fn transport(
    client: AuthorizingClient,
    url: &str,
    headers: &Secrets,
) -> Result<StreamableHttpClientTransport<AuthorizingClient>, HttpSetupError> {
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url.to_owned()).max_sse_event_size(MAX_LINE_BYTES);
    let mut own_token = None;
    let mut custom = HashMap::new();
    for (name, value) in &headers.0 {
        // The library has a separate setting for a bearer token.
        match value.strip_prefix("Bearer ") {
            Some(token) if name.eq_ignore_ascii_case("authorization") => {
                own_token = Some(token.trim().to_owned())
            }
            _ => {
                let name: HeaderName = name.parse().map_err(|_| HttpSetupError::HeaderName(name.clone()))?;
                let value: HeaderValue =
                    value.parse().map_err(|_| HttpSetupError::HeaderValue(name.clone()))?;
                custom.insert(name, value);
            }
        }
    }
    config.auth_header = own_token;
    let config = config.custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn http_client() -> reqwest::Result<reqwest::Client> {
    // Headers may be secrets, so they are only ever sent to the configured host.
    let same_host = Policy::custom(|attempt| {
        let origin = attempt.previous().first().map(|url| url.origin());
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error("too many redirects")
        } else if origin == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.error("a redirect to another host is not followed")
        }
    });
    autonoe_tls::client().redirect(same_host).connect_timeout(CONNECT_LIMIT).build()
}
