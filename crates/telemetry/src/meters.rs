//! The metric instruments, with their units and the bucket boundaries that the semantic conventions recommend.

use std::sync::{Arc, Weak};
use std::time::Duration;

use autonoe_core::money::Usd;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{InstrumentKind, ManualReader, Pipeline, SdkMeterProvider, Temporality};

use crate::conventions as attr;
use crate::open_span::{SpanFailure, SpanType, SpanUsage};

/// Buckets for the duration of a model call or a tool call, in seconds.
const CALL_SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Buckets for the duration of a session, in seconds: those of the conventions up to seven minutes, extended to two hours.
const SESSION_SECONDS: [f64; 17] =
    [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2, 1638.4, 3276.8, 6553.6];
/// Buckets for the duration of a run, in seconds: those of the conventions up to two hours, extended to two days.
const RUN_SECONDS: [f64; 15] = [
    1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0,
    172_800.0,
];
/// Buckets for the tokens of one call.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

#[derive(Debug)]
pub struct Meters {
    tokens: Histogram<u64>,
    calls: Histogram<f64>,
    first_chunks: Histogram<f64>,
    tools: Histogram<f64>,
    sessions: Histogram<f64>,
    runs: Histogram<f64>,
    tool_calls: Counter<u64>,
    errors: Counter<u64>,
    cost: Counter<f64>,
}

impl Meters {
    fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, description: &'static str, bounds: &[f64]| {
            let builder = meter.f64_histogram(name).with_unit("s").with_description(description);
            builder.with_boundaries(bounds.to_vec()).build()
        };
        Self {
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Number of input and output tokens used.")
                .with_boundaries(TOKENS.to_vec())
                .build(),
            calls: seconds("gen_ai.client.operation.duration", "GenAI operation duration.", &CALL_SECONDS),
            first_chunks: seconds(
                "gen_ai.client.operation.time_to_first_chunk",
                "Time until the first chunk of a reply.",
                &CALL_SECONDS,
            ),
            tools: seconds("gen_ai.execute_tool.duration", "Duration of a tool call.", &CALL_SECONDS),
            sessions: seconds("gen_ai.invoke_agent.duration", "Duration of a session.", &SESSION_SECONDS),
            runs: seconds("gen_ai.workflow.duration", "Duration of a run.", &RUN_SECONDS),
            tool_calls: meter
                .u64_counter("autonoe.tool.calls")
                .with_unit("{call}")
                .with_description("Tool calls, including denied ones.")
                .build(),
            errors: meter
                .u64_counter("autonoe.errors")
                .with_unit("{error}")
                .with_description("Runs, sessions, model calls and tool calls that failed.")
                .build(),
            cost: meter
                .f64_counter("autonoe.cost")
                .with_unit("USD")
                .with_description(
                    "Cost of model calls by our price list; calls with an unknown price are not included.",
                )
                .build(),
        }
    }

    pub fn span_ended(
        &self,
        kind: SpanType,
        took: Duration,
        dimensions: &[KeyValue],
        failure: Option<&SpanFailure>,
    ) {
        let mut attributes = dimensions.to_vec();
        attributes.extend(failure.map(|failure| KeyValue::new(attr::ERROR, failure.code.clone())));
        let seconds = took.as_secs_f64();
        match kind {
            SpanType::Run => self.runs.record(seconds, &attributes),
            SpanType::Session => self.sessions.record(seconds, &attributes),
            SpanType::ModelCall => self.calls.record(seconds, &attributes),
            SpanType::ToolCall => {
                self.tools.record(seconds, &attributes);
                self.tool_calls.add(1, &attributes);
            }
        }
        if failure.is_some() {
            self.errors.add(1, &attributes);
        }
    }

    pub fn first_chunk(&self, took: Duration, dimensions: &[KeyValue]) {
        self.first_chunks.record(took.as_secs_f64(), dimensions);
    }

    pub fn tokens(&self, usage: &SpanUsage, dimensions: &[KeyValue]) {
        for (kind, tokens) in [("input", usage.input()), ("output", usage.total.output_tokens)] {
            let mut attributes = dimensions.to_vec();
            attributes.push(KeyValue::new(attr::TOKEN_TYPE, kind));
            self.tokens.record(tokens, &attributes);
        }
    }

    pub fn cost(&self, cost: Usd, dimensions: &[KeyValue]) {
        self.cost.add(cost.0, dimensions);
    }
}

/// Reads the measurements of [`Meters`].
#[derive(Debug)]
pub struct MetricReadings {
    reader: Arc<ManualReader>,
    _provider: SdkMeterProvider,
}

/// Creates the instruments and their reader.
pub fn create(resource: Resource) -> (Meters, MetricReadings) {
    let reader = Arc::new(ManualReader::builder().with_temporality(Temporality::Cumulative).build());
    let provider = SdkMeterProvider::builder()
        .with_resource(resource)
        .with_reader(SharedReader(Arc::clone(&reader)))
        .build();
    let meters = Meters::new(&provider.meter(env!("CARGO_PKG_NAME")));
    (meters, MetricReadings { reader, _provider: provider })
}

impl MetricReadings {
    /// All measurements since the start; `None` if there are none yet.
    pub fn read(&self) -> Option<ExportMetricsServiceRequest> {
        let mut readings = ResourceMetrics::default();
        self.reader.collect(&mut readings).ok()?;
        readings.scope_metrics().next()?;
        Some(ExportMetricsServiceRequest::from(&readings))
    }
}

/// Lets us keep a reference to the reader, since the provider takes ownership of the one it is given.
#[derive(Debug)]
struct SharedReader(Arc<ManualReader>);

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, limit: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(limit)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}
