//! One HTTP POST to a webhook: signed, without redirects, within a time limit.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::UpstreamProxy;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};

use crate::send_failure::SendFailure;
use crate::signature::Signer;
use crate::webhook_address::WebhookAddress;

const DELIVERY: &str = "X-Autonoe-Delivery";
const TIMESTAMP: &str = "X-Autonoe-Timestamp";
const SIGNATURE: &str = "X-Autonoe-Signature";

/// Status codes below 500 that are worth a retry.
const RETRYABLE: [StatusCode; 3] =
    [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];

/// How messages to a webhook are sent.
#[derive(Debug, Clone, Default)]
pub struct WebhookOptions {
    /// `None` sends messages without a signature.
    pub signer: Option<Signer>,
    /// Sent as `Authorization: Bearer`.
    pub token: Option<String>,
    /// The proxy for hosts other than this machine.
    pub proxy: Option<UpstreamProxy>,
}

#[derive(Debug, Clone)]
pub struct Webhook {
    client: Client,
    address: WebhookAddress,
    signer: Option<Signer>,
    authorization: Option<HeaderValue>,
    time_limit: Duration,
}

impl Webhook {
    /// Follows no redirects and reads no environment.
    pub fn new(
        address: WebhookAddress,
        options: WebhookOptions,
        time_limit: Duration,
    ) -> Result<Self, SendFailure> {
        let WebhookOptions { signer, token, proxy } = options;
        let unusable = |error: reqwest::Error| SendFailure::permanent(innermost(&error.without_url()));
        let mut builder = autonoe_tls::client()
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .timeout(time_limit)
            .user_agent(concat!("autonoe/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = proxy.as_ref().filter(|_| !address.is_local) {
            builder = builder.proxy(proxy.for_client().map_err(unusable)?);
        }
        let authorization = token.map(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| SendFailure::permanent("its token has characters that a header cannot have"))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let client = builder.build().map_err(unusable)?;
        Ok(Self { client, address, signer, authorization: authorization.transpose()?, time_limit })
    }

    pub fn address(&self) -> &WebhookAddress {
        &self.address
    }

    pub fn is_signed(&self) -> bool {
        self.signer.is_some()
    }

    /// Posts JSON. Every attempt for the same message has the same `delivery`.
    pub async fn post(&self, delivery: &str, body: &[u8]) -> Result<(), SendFailure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = now.as_secs().to_string();
        let mut request = self
            .client
            .post(self.address.url.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(DELIVERY, delivery)
            .header(TIMESTAMP, &timestamp);
        if let Some(signer) = &self.signer {
            request = request.header(SIGNATURE, signer.sign(&timestamp, body));
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        // The body of the response is not read.
        match request.body(body.to_vec()).send().await {
            Ok(response) => check_status(response.status(), response.headers()),
            Err(error) if error.is_timeout() => Err(SendFailure::transient(self.no_answer())),
            Err(error) => Err(SendFailure::transient(innermost(&error.without_url()))),
        }
    }

    fn no_answer(&self) -> String {
        let limit = self.time_limit;
        match limit.as_secs() {
            0 => format!("no answer within {} s", limit.as_secs_f64()),
            _ => format!("no answer within {}", format_duration(limit)),
        }
    }
}

fn check_status(status: StatusCode, headers: &HeaderMap) -> Result<(), SendFailure> {
    if status.is_success() {
        return Ok(());
    }
    let more = if status.is_redirection() { ", and redirects are not followed" } else { "" };
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    Err(SendFailure {
        reason: format!("it answered {status}{more}"),
        is_transient: status.is_server_error() || RETRYABLE.contains(&status),
        retry_after: asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    })
}

/// The innermost error of the chain, which names the cause.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
