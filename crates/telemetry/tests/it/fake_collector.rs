//! A collector that accepts OTLP as gRPC, protocol buffers and JSON, and keeps what it receives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_telemetry::{CollectorSettings, Protocol, Signal, TelemetrySettings};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectorBehavior {
    Accepts,
    Unavailable,
    /// Unavailable for the first request only.
    UnavailableOnce,
    /// Rejects with an error that is not worth a retry.
    Rejects,
    /// Accepts all spans but one, as a partial success.
    RejectsOneSpan,
}

#[derive(Debug, Default)]
pub struct ReceivedExports {
    pub traces: Vec<ExportTraceServiceRequest>,
    pub metrics: Vec<ExportMetricsServiceRequest>,
    /// The headers of each request, as `name: value`.
    pub headers: Vec<String>,
    /// The bodies of HTTP requests.
    pub bodies: Vec<Bytes>,
    pub requests: usize,
}

#[derive(Clone)]
pub struct FakeCollector {
    received: Arc<Mutex<ReceivedExports>>,
    behavior: CollectorBehavior,
    pub protocol: Protocol,
    pub base: Url,
}

impl FakeCollector {
    /// Starts a collector on a free port.
    pub async fn start(protocol: Protocol, behavior: CollectorBehavior) -> Self {
        let received = Arc::new(Mutex::new(ReceivedExports::default()));
        let mut fake_collector =
            Self { received, behavior, protocol, base: Url::parse("http://127.0.0.1").expect("an address") };
        let port = match protocol {
            Protocol::Grpc => {
                let incoming = TcpIncoming::bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
                let port = incoming.local_addr().expect("bound").port();
                let server = Server::builder()
                    .add_service(TraceServiceServer::new(fake_collector.clone()))
                    .add_service(MetricsServiceServer::new(fake_collector.clone()));
                tokio::spawn(server.serve_with_incoming(incoming));
                port
            }
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let port = listener.local_addr().expect("bound").port();
                let router = Router::new()
                    .route("/v1/traces", post(receive_traces))
                    .route("/v1/metrics", post(receive_metrics))
                    .with_state(fake_collector.clone());
                tokio::spawn(async move { axum::serve(listener, router).await });
                port
            }
        };
        fake_collector.base.set_port(Some(port)).expect("a host has ports");
        fake_collector
    }

    /// Settings that send everything to this collector.
    pub fn settings(&self) -> TelemetrySettings {
        settings(&self.base, self.protocol)
    }

    pub fn received<T>(&self, inspect: impl FnOnce(&ReceivedExports) -> T) -> T {
        inspect(&self.received.lock().expect("not poisoned"))
    }

    pub fn spans(&self) -> Vec<Span> {
        self.received(|received| {
            let resources = received.traces.iter().flat_map(|request| &request.resource_spans);
            resources
                .flat_map(|resource| &resource.scope_spans)
                .flat_map(|scope| scope.spans.clone())
                .collect()
        })
    }

    /// The only span with this name.
    pub fn span(&self, name: &str) -> Span {
        let found: Vec<Span> = self.spans().into_iter().filter(|span| span.name == name).collect();
        match &found[..] {
            [span] => span.clone(),
            [] => panic!("no span is called {name}"),
            _ => panic!("several spans are called {name}"),
        }
    }

    /// The points of a metric in the last export.
    pub fn points(&self, name: &str) -> Vec<MetricPoint> {
        self.received(|received| {
            let request = received.metrics.last().expect("metrics arrived");
            let resources = request.resource_metrics.iter();
            let metrics =
                resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| &scope.metrics);
            metrics
                .filter(|metric| metric.name == name)
                .flat_map(|metric| -> Vec<MetricPoint> {
                    match metric.data.as_ref().expect("data") {
                        Data::Sum(sum) => {
                            sum.data_points.iter().map(|point| MetricPoint::Sum(point.clone())).collect()
                        }
                        Data::Histogram(histogram) => histogram
                            .data_points
                            .iter()
                            .map(|point| MetricPoint::Histogram(point.clone()))
                            .collect(),
                        other => panic!("{name} is {other:?}"),
                    }
                })
                .collect()
        })
    }

    fn response(&self) -> Result<ExportTraceServiceResponse, StatusCode> {
        let mut received = self.received.lock().expect("not poisoned");
        received.requests += 1;
        match self.behavior {
            CollectorBehavior::Accepts => Ok(ExportTraceServiceResponse::default()),
            CollectorBehavior::UnavailableOnce if received.requests > 1 => {
                Ok(ExportTraceServiceResponse::default())
            }
            CollectorBehavior::Unavailable | CollectorBehavior::UnavailableOnce => {
                Err(StatusCode::SERVICE_UNAVAILABLE)
            }
            CollectorBehavior::Rejects => Err(StatusCode::UNAUTHORIZED),
            CollectorBehavior::RejectsOneSpan => Ok(ExportTraceServiceResponse {
                partial_success: Some(ExportTracePartialSuccess {
                    rejected_spans: 1,
                    error_message: "one is bad".to_owned(),
                }),
            }),
        }
    }
}

/// Settings that send everything to this base URL.
pub fn settings(base: &Url, protocol: Protocol) -> TelemetrySettings {
    TelemetrySettings {
        traces: Some(CollectorSettings::at(base, protocol, Signal::Traces)),
        metrics: Some(CollectorSettings::at(base, protocol, Signal::Metrics)),
        metric_interval: Duration::from_secs(3600),
        ..TelemetrySettings::default()
    }
}

#[derive(Debug, Clone)]
pub enum MetricPoint {
    Sum(NumberDataPoint),
    Histogram(HistogramDataPoint),
}

impl MetricPoint {
    pub fn attribute(&self, key: &str) -> Option<String> {
        match self {
            Self::Sum(point) => attribute(&point.attributes, key),
            Self::Histogram(point) => attribute(&point.attributes, key),
        }
    }

    /// The number of measurements (0 for a counter) and their sum.
    pub fn total(&self) -> (u64, f64) {
        use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
        match self {
            Self::Histogram(point) => (point.count, point.sum.expect("a sum")),
            Self::Sum(point) => match point.value.expect("a value") {
                Number::AsDouble(value) => (0, value),
                Number::AsInt(value) => (0, value as f64),
            },
        }
    }
}

/// The value of an attribute, as text.
pub fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.clone();
    match value? {
        AnyValue { value: Some(Value::StringValue(text)) } => Some(text),
        AnyValue { value: Some(Value::IntValue(number)) } => Some(number.to_string()),
        AnyValue { value: Some(Value::DoubleValue(number)) } => Some(number.to_string()),
        AnyValue { value: Some(Value::BoolValue(flag)) } => Some(flag.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

async fn receive_traces(
    State(fake_collector): State<FakeCollector>,
    headers: HeaderMap,
    body: Bytes,
) -> HttpResponse {
    let message: ExportTraceServiceRequest = fake_collector.read(&headers, &body);
    let response = fake_collector.response();
    if response.is_ok() {
        fake_collector.received.lock().expect("not poisoned").traces.push(message);
    }
    fake_collector.write(response)
}

async fn receive_metrics(
    State(fake_collector): State<FakeCollector>,
    headers: HeaderMap,
    body: Bytes,
) -> HttpResponse {
    let message: ExportMetricsServiceRequest = fake_collector.read(&headers, &body);
    let response = fake_collector.response().map(|_| ExportMetricsServiceResponse::default());
    if response.is_ok() {
        fake_collector.received.lock().expect("not poisoned").metrics.push(message);
    }
    fake_collector.write(response)
}

impl FakeCollector {
    fn read<M: Message + Default + serde::de::DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> M {
        let mut received = self.received.lock().expect("not poisoned");
        received.bodies.push(body.clone());
        received.headers.extend(
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("plain"))),
        );
        let kind = headers.get(header::CONTENT_TYPE).expect("a type").to_str().expect("plain");
        match self.protocol {
            Protocol::HttpJson => {
                assert_eq!(kind, "application/json");
                serde_json::from_slice(body).expect("OTLP as JSON")
            }
            Protocol::HttpProtobuf => {
                assert_eq!(kind, "application/x-protobuf");
                M::decode(body.clone()).expect("OTLP as protocol buffers")
            }
            Protocol::Grpc => unreachable!("tonic handles gRPC"),
        }
    }

    fn write<M: Message + serde::Serialize>(&self, response: Result<M, StatusCode>) -> HttpResponse {
        match response {
            Err(status) => status.into_response(),
            Ok(message) if self.protocol == Protocol::HttpJson => {
                serde_json::to_vec(&message).expect("json").into_response()
            }
            Ok(message) => message.encode_to_vec().into_response(),
        }
    }

    fn record_metadata<M>(&self, request: &Request<M>) {
        let mut received = self.received.lock().expect("not poisoned");
        let headers = request.metadata().clone().into_headers();
        received.headers.extend(
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("plain"))),
        );
    }
}

fn status(code: StatusCode) -> Status {
    match code {
        StatusCode::UNAUTHORIZED => Status::unauthenticated("unknown client"),
        _ => Status::unavailable("not now"),
    }
}

#[tonic::async_trait]
impl TraceService for FakeCollector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.record_metadata(&request);
        let response = self.response().map_err(status)?;
        self.received.lock().expect("not poisoned").traces.push(request.into_inner());
        Ok(Response::new(response))
    }
}

#[tonic::async_trait]
impl MetricsService for FakeCollector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.record_metadata(&request);
        self.response().map_err(status)?;
        self.received.lock().expect("not poisoned").metrics.push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}
