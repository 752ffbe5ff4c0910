//! A collector that takes OTLP as gRPC, protocol buffers and JSON, and keeps what it gets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_telemetry::{Collector, Protocol, Signal, TelemetrySettings};
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

/// How a collector behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It takes everything.
    Takes,
    /// It is unavailable.
    Unavailable,
    /// It is unavailable the first time.
    UnavailableOnce,
    /// It refuses for good.
    Refuses,
    /// It takes all spans but one.
    TakesAllButOne,
}

/// What a collector got.
#[derive(Debug, Default)]
pub struct Got {
    pub traces: Vec<ExportTraceServiceRequest>,
    pub metrics: Vec<ExportMetricsServiceRequest>,
    /// The headers of each request, as `name: value`.
    pub headers: Vec<String>,
    /// The bodies of HTTP requests.
    pub bodies: Vec<Bytes>,
    pub requests: usize,
}

#[derive(Clone)]
pub struct Receiver {
    got: Arc<Mutex<Got>>,
    manner: Manner,
    pub protocol: Protocol,
    pub base: Url,
}

impl Receiver {
    /// A collector on a port of its own.
    pub async fn start(protocol: Protocol, manner: Manner) -> Self {
        let got = Arc::new(Mutex::new(Got::default()));
        let mut receiver =
            Self { got, manner, protocol, base: Url::parse("http://127.0.0.1").expect("an address") };
        let port = match protocol {
            Protocol::Grpc => {
                let incoming = TcpIncoming::bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
                let port = incoming.local_addr().expect("bound").port();
                let server = Server::builder()
                    .add_service(TraceServiceServer::new(receiver.clone()))
                    .add_service(MetricsServiceServer::new(receiver.clone()));
                tokio::spawn(server.serve_with_incoming(incoming));
                port
            }
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let port = listener.local_addr().expect("bound").port();
                let router = Router::new()
                    .route("/v1/traces", post(take_traces))
                    .route("/v1/metrics", post(take_metrics))
                    .with_state(receiver.clone());
                tokio::spawn(async move { axum::serve(listener, router).await });
                port
            }
        };
        receiver.base.set_port(Some(port)).expect("a host has ports");
        receiver
    }

    /// Settings that send everything here.
    pub fn settings(&self) -> TelemetrySettings {
        settings(&self.base, self.protocol)
    }

    pub fn got<T>(&self, look: impl FnOnce(&Got) -> T) -> T {
        look(&self.got.lock().expect("not poisoned"))
    }

    /// All spans that arrived.
    pub fn spans(&self) -> Vec<Span> {
        self.got(|got| {
            let resources = got.traces.iter().flat_map(|request| &request.resource_spans);
            resources
                .flat_map(|resource| &resource.scope_spans)
                .flat_map(|scope| scope.spans.clone())
                .collect()
        })
    }

    /// The span with this name.
    pub fn span(&self, name: &str) -> Span {
        let found: Vec<Span> = self.spans().into_iter().filter(|span| span.name == name).collect();
        match &found[..] {
            [span] => span.clone(),
            [] => panic!("no span is called {name}"),
            _ => panic!("several spans are called {name}"),
        }
    }

    /// The points of a metric in the last report.
    pub fn points(&self, name: &str) -> Vec<Point> {
        self.got(|got| {
            let request = got.metrics.last().expect("metrics arrived");
            let resources = request.resource_metrics.iter();
            let metrics =
                resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| &scope.metrics);
            metrics
                .filter(|metric| metric.name == name)
                .flat_map(|metric| -> Vec<Point> {
                    match metric.data.as_ref().expect("data") {
                        Data::Sum(sum) => {
                            sum.data_points.iter().map(|point| Point::Sum(point.clone())).collect()
                        }
                        Data::Histogram(histogram) => histogram
                            .data_points
                            .iter()
                            .map(|point| Point::Histogram(point.clone()))
                            .collect(),
                        other => panic!("{name} is {other:?}"),
                    }
                })
                .collect()
        })
    }

    fn answer(&self) -> Result<ExportTraceServiceResponse, StatusCode> {
        let mut got = self.got.lock().expect("not poisoned");
        got.requests += 1;
        match self.manner {
            Manner::Takes => Ok(ExportTraceServiceResponse::default()),
            Manner::UnavailableOnce if got.requests > 1 => Ok(ExportTraceServiceResponse::default()),
            Manner::Unavailable | Manner::UnavailableOnce => Err(StatusCode::SERVICE_UNAVAILABLE),
            Manner::Refuses => Err(StatusCode::UNAUTHORIZED),
            Manner::TakesAllButOne => Ok(ExportTraceServiceResponse {
                partial_success: Some(ExportTracePartialSuccess {
                    rejected_spans: 1,
                    error_message: "one is bad".to_owned(),
                }),
            }),
        }
    }
}

/// Settings that send everything to this address.
pub fn settings(base: &Url, protocol: Protocol) -> TelemetrySettings {
    TelemetrySettings {
        traces: Some(Collector::at(base, protocol, Signal::Traces)),
        metrics: Some(Collector::at(base, protocol, Signal::Metrics)),
        metric_interval: Duration::from_secs(3600),
        ..TelemetrySettings::default()
    }
}

/// One point of a metric.
#[derive(Debug, Clone)]
pub enum Point {
    Sum(NumberDataPoint),
    Histogram(HistogramDataPoint),
}

impl Point {
    pub fn attribute(&self, key: &str) -> Option<String> {
        match self {
            Self::Sum(point) => attribute(&point.attributes, key),
            Self::Histogram(point) => attribute(&point.attributes, key),
        }
    }

    /// How many were measured, and their sum.
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

/// An attribute, as text.
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

async fn take_traces(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> HttpResponse {
    let message: ExportTraceServiceRequest = receiver.read(&headers, &body);
    let answer = receiver.answer();
    if answer.is_ok() {
        receiver.got.lock().expect("not poisoned").traces.push(message);
    }
    receiver.write(answer)
}

async fn take_metrics(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> HttpResponse {
    let message: ExportMetricsServiceRequest = receiver.read(&headers, &body);
    let answer = receiver.answer().map(|_| ExportMetricsServiceResponse::default());
    if answer.is_ok() {
        receiver.got.lock().expect("not poisoned").metrics.push(message);
    }
    receiver.write(answer)
}

impl Receiver {
    fn read<M: Message + Default + serde::de::DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> M {
        let mut got = self.got.lock().expect("not poisoned");
        got.bodies.push(body.clone());
        got.headers.extend(
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
            Protocol::Grpc => unreachable!("tonic takes those"),
        }
    }

    fn write<M: Message + serde::Serialize>(&self, answer: Result<M, StatusCode>) -> HttpResponse {
        match answer {
            Err(status) => status.into_response(),
            Ok(message) if self.protocol == Protocol::HttpJson => {
                serde_json::to_vec(&message).expect("json").into_response()
            }
            Ok(message) => message.encode_to_vec().into_response(),
        }
    }

    fn keep_metadata<M>(&self, request: &Request<M>) {
        let mut got = self.got.lock().expect("not poisoned");
        let headers = request.metadata().clone().into_headers();
        got.headers.extend(
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("plain"))),
        );
    }
}

fn status(code: StatusCode) -> Status {
    match code {
        StatusCode::UNAUTHORIZED => Status::unauthenticated("who are you"),
        _ => Status::unavailable("not now"),
    }
}

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.keep_metadata(&request);
        let answer = self.answer().map_err(status)?;
        self.got.lock().expect("not poisoned").traces.push(request.into_inner());
        Ok(Response::new(answer))
    }
}

#[tonic::async_trait]
impl MetricsService for Receiver {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.keep_metadata(&request);
        self.answer().map_err(status)?;
        self.got.lock().expect("not poisoned").metrics.push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}
