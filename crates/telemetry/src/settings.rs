//! Settings: where telemetry goes and what goes there. Plain data; the default is off.

use std::fmt;
use std::time::Duration;

use url::Url;

/// How long one request to a collector may take.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often metrics are sent.
pub const DEFAULT_METRIC_INTERVAL: Duration = Duration::from_secs(60);

/// What we are called when nobody says otherwise.
pub const DEFAULT_SERVICE_NAME: &str = "autonoe";

/// Where telemetry goes and what goes there.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// Who gets the traces, if anybody.
    pub traces: Option<Collector>,
    /// Who gets the metrics, if anybody.
    pub metrics: Option<Collector>,
    /// How often metrics are sent.
    pub metric_interval: Duration,
    /// Which traces are sent.
    pub sampler: Sampler,
    /// The name of this service.
    pub service_name: String,
    /// What else is known of this service.
    pub resource: Vec<(String, String)>,
    /// Whether texts, arguments and results of tools are sent too.
    pub capture_content: bool,
    /// Values that must never be sent. Texts that look like secrets are found without being named here.
    pub secrets: Vec<String>,
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
            secrets: Vec::new(),
        }
    }
}

/// Somebody who takes traces or metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    /// The address that requests are sent to, with its path.
    pub endpoint: Url,
    /// How they are written.
    pub protocol: Protocol,
    /// Sent along with each of them.
    pub headers: Vec<Header>,
    /// How long one of them may take.
    pub timeout: Duration,
    /// What stands between us and the collector.
    pub proxy: Option<Proxy>,
}

impl Collector {
    /// The collector at this address, which is given without the path of the signal.
    pub fn at(base: &Url, protocol: Protocol, signal: Signal) -> Self {
        let mut endpoint = base.clone();
        match protocol {
            Protocol::Grpc => endpoint.set_path(signal.method()),
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                endpoint.set_path(&format!("{}/v1/{}", base.path().trim_end_matches('/'), signal.name()));
            }
        }
        Self { endpoint, protocol, headers: Vec::new(), timeout: DEFAULT_TIMEOUT, proxy: None }
    }
}

/// How requests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC over HTTP/2.
    Grpc,
    /// Protocol buffers over HTTP.
    HttpProtobuf,
    /// JSON over HTTP.
    HttpJson,
}

impl Protocol {
    /// Where a collector that speaks this usually listens.
    pub fn usual_address(self) -> &'static str {
        match self {
            Self::Grpc => "http://localhost:4317",
            Self::HttpProtobuf | Self::HttpJson => "http://localhost:4318",
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// What happened, when, as part of what.
    Traces,
    /// Numbers.
    Metrics,
}

impl Signal {
    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}

/// A header of a request. Its value is often a key, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: [not shown]", self.name)
    }
}

/// A proxy on the way to a collector.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its address.
    pub url: String,
    /// Hosts that are reached without it, as in `NO_PROXY`.
    pub direct: String,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[a proxy]")
    }
}

/// Which traces are sent. A trace is sent whole or not at all; metrics count everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampler {
    /// All of them.
    AlwaysOn,
    /// None of them.
    AlwaysOff,
    /// This part of them, from 0 to 1, chosen by their ids.
    Ratio(f64),
}

impl Sampler {
    /// Whether the trace with this id is sent.
    pub fn takes(self, trace: u128) -> bool {
        /// Ids are compared by their lower 63 bits, as other implementations do.
        const SPAN: f64 = (1_u64 << 63) as f64;
        match self {
            Self::AlwaysOn => true,
            Self::AlwaysOff => false,
            Self::Ratio(ratio) if ratio >= 1.0 => true,
            Self::Ratio(ratio) => ((trace as u64) >> 1) < (ratio * SPAN) as u64,
        }
    }
}
