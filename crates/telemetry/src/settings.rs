//! Settings: which signals are sent, where, and with what content. Plain data; the default is off.

use std::fmt;
use std::time::Duration;

use autonoe_core::redact::SecretValues;
use url::Url;

/// The timeout of one request to a collector.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often metrics are sent.
pub const DEFAULT_METRIC_INTERVAL: Duration = Duration::from_secs(60);

pub const DEFAULT_SERVICE_NAME: &str = "autonoe";

#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// `None` turns traces off.
    pub traces: Option<CollectorSettings>,
    /// `None` turns metrics off.
    pub metrics: Option<CollectorSettings>,
    /// How often metrics are sent.
    pub metric_interval: Duration,
    pub sampler: Sampler,
    pub service_name: String,
    /// Further resource attributes.
    pub resource: Vec<(String, String)>,
    /// Whether prompts, replies, tool arguments and tool results are sent too.
    pub capture_content: bool,
    /// Values that must never be sent. Text that looks like a secret is redacted even if it is not listed here.
    pub secrets: SecretValues,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            traces: None,
            metrics: None,
            metric_interval: DEFAULT_METRIC_INTERVAL,
            sampler: Sampler::AlwaysOn,
            service_name: DEFAULT_SERVICE_NAME.to_owned(),
            resource: Vec::new(),
            capture_content: false,
            secrets: SecretValues::default(),
        }
    }
}

/// How one signal is sent to its collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorSettings {
    /// The full URL, including the path of the signal.
    pub endpoint: Url,
    pub protocol: Protocol,
    pub headers: Vec<Header>,
    /// The timeout of one request.
    pub timeout: Duration,
    pub proxy: Option<Proxy>,
}

impl CollectorSettings {
    /// The collector at a base URL, to which the path of the signal is added.
    pub fn at(base: &Url, protocol: Protocol, signal: Signal) -> Self {
        let mut endpoint = base.clone();
        match protocol {
            Protocol::Grpc => endpoint.set_path(signal.grpc_path()),
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                endpoint.set_path(&format!("{}/v1/{}", base.path().trim_end_matches('/'), signal.name()));
            }
        }
        Self { endpoint, protocol, headers: Vec::new(), timeout: DEFAULT_TIMEOUT, proxy: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Grpc,
    HttpProtobuf,
    HttpJson,
}

impl Protocol {
    /// The default endpoint of the OTLP specification.
    pub fn default_endpoint(self) -> &'static str {
        match self {
            Self::Grpc => "http://localhost:4317",
            Self::HttpProtobuf | Self::HttpJson => "http://localhost:4318",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    /// The name in URLs and environment variables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    fn grpc_path(self) -> &'static str {
        match self {
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}

/// A request header. Its value is often a key, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [not shown]", self.name)
    }
}

/// The proxy used to reach a collector. Its URL may contain a password, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub url: String,
    /// Hosts that are reached directly, as in `NO_PROXY`.
    pub direct: String,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[a proxy]")
    }
}

/// Which traces are sent. A trace is sent completely or not at all; metrics always include every run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampler {
    AlwaysOn,
    AlwaysOff,
    /// This fraction, from 0 to 1, chosen by trace id.
    Ratio(f64),
}

impl Sampler {
    pub fn samples(self, trace: u128) -> bool {
        /// Ids are compared by their lower 63 bits, as in other implementations.
        const SPAN: f64 = (1_u64 << 63) as f64;
        match self {
            Self::AlwaysOn => true,
            Self::AlwaysOff => false,
            Self::Ratio(ratio) if ratio >= 1.0 => true,
            Self::Ratio(ratio) => ((trace as u64) >> 1) < (ratio * SPAN) as u64,
        }
    }
}
