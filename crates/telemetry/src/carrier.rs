//! Brings one message to a collector, as gRPC, protocol buffers or JSON. Whether to try again is decided elsewhere.

use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
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
use crate::settings::{Collector, Protocol, Proxy};

/// How much of an answer is read.
const MAX_ANSWER: usize = 64 * 1024;

/// Why a message did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// What happened.
    pub reason: String,
    /// Whether to try again.
    pub again: Again,
}

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// No.
    Never,
    /// Yes, after a pause.
    Later,
    /// Yes, after the pause that was asked for.
    After(Duration),
}

/// Brings messages to one collector.
#[derive(Debug)]
pub struct Carrier {
    client: Client,
    endpoint: Url,
    protocol: Protocol,
    headers: HeaderMap,
    timeout: Duration,
}

impl Carrier {
    /// For this collector. Nothing is connected yet.
    pub fn new(collector: &Collector) -> Result<Self, Fault> {
        let fault = |error: &dyn std::fmt::Display| {
            let message = format!("Telemetry cannot be sent to {}: {error}.", origin(&collector.endpoint));
            Fault::lasting(Layer::Config, "telemetry", message)
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

    /// The collector, for people.
    pub fn destination(&self) -> String {
        origin(&self.endpoint)
    }

    /// Sends one message and returns the answer. What was taken without an answer that can be read was taken.
    pub async fn carry<A>(&self, message: &(impl Message + Serialize)) -> Result<A, Undelivered>
    where
        A: Message + Default + DeserializeOwned,
    {
        let body = self.write(message).ok_or_else(|| Undelivered {
            reason: "the message cannot be written".to_owned(),
            again: Again::Never,
        })?;
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let answer = request.timeout(self.timeout).body(body).send().await.map_err(|error| later(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        if !status.is_success() {
            return Err(refused(status, &headers));
        }
        let body = reqwest::Body::from(answer);
        let answer = match Limited::new(body, MAX_ANSWER).collect().await {
            Ok(answer) => answer,
            Err(error) if self.protocol == Protocol::Grpc => return Err(later(error.as_ref())),
            Err(_) => return Ok(A::default()),
        };
        if self.protocol == Protocol::Grpc {
            check(answer.trailers(), &headers)?;
        }
        Ok(self.read(answer.to_bytes()).unwrap_or_default())
    }

    fn write(&self, message: &(impl Message + Serialize)) -> Option<Bytes> {
        match self.protocol {
            Protocol::Grpc => grpc::frame(&message.encode_to_vec()),
            Protocol::HttpProtobuf => Some(message.encode_to_vec().into()),
            Protocol::HttpJson => serde_json::to_vec(message).ok().map(Bytes::from),
        }
    }

    fn read<A: Message + Default + DeserializeOwned>(&self, body: Bytes) -> Option<A> {
        match self.protocol {
            Protocol::Grpc => A::decode(grpc::unframe(body)?).ok(),
            Protocol::HttpProtobuf => A::decode(body).ok(),
            Protocol::HttpJson => serde_json::from_slice(&body).ok(),
        }
    }
}

/// An address without what may be secret in it.
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

/// The connection failed; the innermost error says why.
fn later(error: &(dyn std::error::Error + 'static)) -> Undelivered {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    Undelivered { reason: innermost.to_string(), again: Again::Later }
}

fn refused(status: StatusCode, headers: &HeaderMap) -> Undelivered {
    let passing = [429, 502, 503, 504].contains(&status.as_u16());
    let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let again = match wait {
        _ if !passing => Again::Never,
        Some(seconds) => Again::After(Duration::from_secs(seconds)),
        None => Again::Later,
    };
    Undelivered { reason: format!("it answered {status}"), again }
}

fn check(trailers: Option<&HeaderMap>, headers: &HeaderMap) -> Result<(), Undelivered> {
    let Some(status) = grpc::Status::read(trailers, headers) else {
        let reason = "it answered without a gRPC status".to_owned();
        return Err(Undelivered { reason, again: Again::Never });
    };
    if status.code == 0 {
        return Ok(());
    }
    let again = if status.is_passing() { Again::Later } else { Again::Never };
    Err(Undelivered { reason: format!("it answered gRPC status {} {}", status.code, status.message), again })
}
