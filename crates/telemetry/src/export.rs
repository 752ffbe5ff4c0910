//! Exports spans and metrics in the background, one task for each signal. The queue is bounded; whatever cannot be
//! exported is counted and dropped, so that a session never waits for a collector.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, sleep};
use tokio_util::sync::CancellationToken;

use crate::export_stats::ExportStats;
use crate::meters::MetricReadings;
use crate::otlp_client::{ExportError, OtlpClient, RetryAdvice};

/// The most spans in the queue; more are dropped.
const QUEUE: usize = 2048;
/// The most spans in one request.
const BATCH: usize = 512;
/// How long a span waits for others to fill a batch.
const LINGER: Duration = Duration::from_secs(5);
/// How many times one message is sent before it counts as lost.
const ATTEMPTS: u32 = 3;
/// The pause after the first failure; doubled after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest delay that a collector can ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The queue of ended spans.
#[derive(Debug)]
pub struct SpanQueue {
    queue: mpsc::Sender<Span>,
    stats: Arc<ExportStats>,
}

impl SpanQueue {
    /// Queues a span, or drops it if the queue is full. Never waits.
    pub fn put(&self, span: Span) {
        match self.queue.try_send(span) {
            Ok(()) => self.stats.add_queued(1),
            Err(_) => self.stats.add_lost(1),
        }
    }
}

/// Exports queued spans until it is stopped, then drains the queue.
pub struct SpanExporter {
    queue: mpsc::Receiver<Span>,
    client: OtlpClient,
    resource: Resource,
    stats: Arc<ExportStats>,
    stop: CancellationToken,
}

impl SpanExporter {
    /// An exporter that is not running yet, its queue and its statistics.
    pub fn new(
        client: OtlpClient,
        resource: Resource,
        stop: CancellationToken,
    ) -> (Self, SpanQueue, Arc<ExportStats>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let stats = ExportStats::new(client.destination());
        let span_queue = SpanQueue { queue: sender, stats: Arc::clone(&stats) };
        (Self { queue, client, resource, stats: Arc::clone(&stats), stop }, span_queue, stats)
    }

    pub async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let batch = self.gather().await;
            self.send(batch).await;
        }
        self.queue.close();
        loop {
            let mut batch = Vec::new();
            if self.queue.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            self.send(batch).await;
        }
    }

    /// Waits until a batch is full, or its first span has waited for [`LINGER`].
    async fn gather(&mut self) -> Vec<Span> {
        let mut batch = Vec::new();
        let Some(first) = self.stop.run_until_cancelled(self.queue.recv()).await.flatten() else {
            return batch;
        };
        batch.push(first);
        let full = async {
            loop {
                let room = BATCH - batch.len();
                if room == 0 || self.queue.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = full => {}
            () = sleep(LINGER) => {}
            () = self.stop.cancelled() => {}
        }
        batch
    }

    async fn send(&self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        let scope = InstrumentationScope {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, schema_url: String::new() }];
        let resource = Some(self.resource.clone());
        let resource_spans = vec![ResourceSpans { resource, scope_spans, schema_url: String::new() }];
        let request = ExportTraceServiceRequest { resource_spans };
        match send_with_retries::<ExportTraceServiceResponse>(&self.client, &request, &self.stop).await {
            Ok(response) => {
                let partial = response.partial_success.unwrap_or_default();
                let rejected = u64::try_from(partial.rejected_spans).unwrap_or_default().min(count);
                self.stats.record_exported(count - rejected);
                if rejected > 0 {
                    self.stats.record_lost(rejected, &partial.error_message);
                }
            }
            Err(ExportError { reason, .. }) => self.stats.record_lost(count, &reason),
        }
    }
}

/// Exports metrics at an interval, and once more when it is stopped.
pub struct MetricExporter {
    readings: MetricReadings,
    client: OtlpClient,
    interval: Duration,
    stats: Arc<ExportStats>,
    stop: CancellationToken,
}

impl MetricExporter {
    /// An exporter that is not running yet, and its statistics.
    pub fn new(
        client: OtlpClient,
        readings: MetricReadings,
        interval: Duration,
        stop: CancellationToken,
    ) -> (Self, Arc<ExportStats>) {
        let stats = ExportStats::new(client.destination());
        (Self { readings, client, interval, stats: Arc::clone(&stats), stop }, stats)
    }

    pub async fn run(self) {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick fires immediately, when there is nothing to read yet.
        ticks.tick().await;
        while self.stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.send().await;
        }
        self.send().await;
    }

    /// Sends the cumulative measurements, so that a later export makes up for a failed one.
    async fn send(&self) {
        let Some(request) = self.readings.read() else { return };
        self.stats.add_queued(1);
        let sent =
            send_with_retries::<ExportMetricsServiceResponse>(&self.client, &request, &self.stop).await;
        // Measurements are cumulative: this message contains those of earlier ones.
        self.stats.clear_lost();
        match sent.map(|response| response.partial_success.unwrap_or_default()) {
            Ok(partial) if partial.rejected_data_points > 0 => {
                self.stats.record_lost(1, &partial.error_message)
            }
            Ok(_) => self.stats.record_exported(1),
            Err(ExportError { reason, .. }) => self.stats.record_lost(1, &reason),
        }
    }
}

/// Sends a message up to [`ATTEMPTS`] times. Once stopped, it no longer pauses between attempts.
async fn send_with_retries<A>(
    client: &OtlpClient,
    message: &(impl Message + Serialize),
    stop: &CancellationToken,
) -> Result<A, ExportError>
where
    A: Message + Default + DeserializeOwned,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        let error = match client.export(message).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let wait = match error.retry {
            RetryAdvice::Never => return Err(error),
            RetryAdvice::AfterBackoff => pause,
            RetryAdvice::After(delay) => delay.min(MAX_PAUSE),
        };
        if stop.is_cancelled() {
            return Err(error);
        }
        let _ = stop.run_until_cancelled(sleep(wait)).await;
        pause *= 2;
    }
    client.export(message).await
}
