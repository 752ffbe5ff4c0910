//! Sends one OTLP message to a collector, as gRPC, protocol buffers or JSON. It reports whether a retry can help; `export`
//! does the retrying.

use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, TE};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::grpc;
use crate::settings::{CollectorSettings, Protocol, Proxy};

/// The most bytes read of a collector's response.
const MAX_RESPONSE: usize = 64 * 1024;

/// Why an export failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportError {
    pub reason: String,
    pub retry: RetryAdvice,
}

/// Whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    Never,
    /// Retry after our own backoff.
    AfterBackoff,
    /// Retry after the delay that the collector asked for.
    After(Duration),
}

/// A client for one collector.
#[derive(Debug)]
pub struct OtlpClient {
    client: Client,
    endpoint: Url,
    protocol: Protocol,
    headers: HeaderMap,
    timeout: Duration,
}

impl OtlpClient {
    /// Builds the client without connecting.
    pub fn new(collector: &CollectorSettings) -> Result<Self, Fault> {
        let fault = |error: &dyn std::fmt::Display| {
            let message = format!("Telemetry cannot be sent to {}: {error}.", origin(&collector.endpoint));
            Fault::permanent(FaultLayer::Config, "telemetry", message)
        };
        let builder = match collector.protocol {
            Protocol::Grpc => autonoe_tls::http2_client(),
            Protocol::HttpProtobuf | Protocol::HttpJson => autonoe_tls::client(),
        };
        let mut builder = builder
            .no_proxy()
            .redirect(Policy::none())
            .user_agent(concat!("autonoe/", env!("CARGO_PKG_VERSION")));
        if let Some(Proxy { url, direct }) = &collector.proxy {
            let proxy = reqwest::Proxy::all(url).map_err(|error| fault(&error))?;
            let direct = format!("localhost,127.0.0.0/8,::1,{direct}");
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&direct)));
        }
        let mut headers = HeaderMap::new();
        for header in &collector.headers {
            let name: HeaderName = header.name.parse().map_err(|error| fault(&error))?;
            let mut value: HeaderValue = header.value.parse().map_err(|error| fault(&error))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(collector.protocol)));
        if collector.protocol == Protocol::Grpc {
            headers.insert(TE, HeaderValue::from_static("trailers"));
        }
        Ok(Self {
            client: builder.build().map_err(|error| fault(&error))?,
            endpoint: collector.endpoint.clone(),
            protocol: collector.protocol,
            headers,
            timeout: collector.timeout,
        })
    }

    /// The collector's origin, without anything secret.
    pub fn destination(&self) -> String {
        origin(&self.endpoint)
    }

    /// Sends one message and returns the response. Over HTTP, a success status with an unreadable body still counts as
    /// success.
    pub async fn export<A>(&self, message: &(impl Message + Serialize)) -> Result<A, ExportError>
    where
        A: Message + Default + DeserializeOwned,
    {
        let body = self.encode(message).ok_or_else(|| ExportError {
            reason: "the message could not be encoded".to_owned(),
            retry: RetryAdvice::Never,
        })?;
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let response = request
            .timeout(self.timeout)
            .body(body)
            .send()
            .await
            .map_err(|error| connection_error(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        if !status.is_success() {
            return Err(http_error(status, &headers));
        }
        let body = reqwest::Body::from(response);
        let response = match Limited::new(body, MAX_RESPONSE).collect().await {
            Ok(response) => response,
            Err(error) if self.protocol == Protocol::Grpc => return Err(connection_error(error.as_ref())),
            Err(_) => return Ok(A::default()),
        };
        if self.protocol == Protocol::Grpc {
            check_grpc_status(response.trailers(), &headers)?;
        }
        Ok(self.decode(response.to_bytes()).unwrap_or_default())
    }

    fn encode(&self, message: &(impl Message + Serialize)) -> Option<Bytes> {
        match self.protocol {
            Protocol::Grpc => grpc::frame(&message.encode_to_vec()),
            Protocol::HttpProtobuf => Some(message.encode_to_vec().into()),
            Protocol::HttpJson => serde_json::to_vec(message).ok().map(Bytes::from),
        }
    }

    fn decode<A: Message + Default + DeserializeOwned>(&self, body: Bytes) -> Option<A> {
        match self.protocol {
            Protocol::Grpc => A::decode(grpc::unframe(body)?).ok(),
            Protocol::HttpProtobuf => A::decode(body).ok(),
            Protocol::HttpJson => serde_json::from_slice(&body).ok(),
        }
    }
}

/// The URL without its path and query, which may contain secrets.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn content_type(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Grpc => grpc::CONTENT_TYPE,
        Protocol::HttpProtobuf => "application/x-protobuf",
        Protocol::HttpJson => "application/json",
    }
}

/// Reports the innermost error of the chain, which names the cause.
fn connection_error(error: &(dyn std::error::Error + 'static)) -> ExportError {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    ExportError { reason: innermost.to_string(), retry: RetryAdvice::AfterBackoff }
}

fn http_error(status: StatusCode, headers: &HeaderMap) -> ExportError {
    let is_transient = [429, 502, 503, 504].contains(&status.as_u16());
    let delay = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let retry = match delay {
        _ if !is_transient => RetryAdvice::Never,
        Some(seconds) => RetryAdvice::After(Duration::from_secs(seconds)),
        None => RetryAdvice::AfterBackoff,
    };
    ExportError { reason: format!("the collector answered {status}"), retry }
}

fn check_grpc_status(trailers: Option<&HeaderMap>, headers: &HeaderMap) -> Result<(), ExportError> {
    let Some(status) = grpc::GrpcStatus::read(trailers, headers) else {
        let reason = "the collector answered without a gRPC status".to_owned();
        return Err(ExportError { reason, retry: RetryAdvice::Never });
    };
    if status.code == 0 {
        return Ok(());
    }
    let retry = if status.is_transient() { RetryAdvice::AfterBackoff } else { RetryAdvice::Never };
    Err(ExportError {
        reason: format!("the collector answered gRPC status {} {}", status.code, status.message),
        retry,
    })
}
