//! Starts and stops telemetry: the sink, the export tasks, and the warning about lost data.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::redact::Redactor;
use autonoe_core::sink::Sink;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::resource::v1::Resource as WireResource;
use opentelemetry_sdk::Resource;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::export::{MetricExporter, SpanExporter};
use crate::export_stats::ExportStats;
use crate::meters;
use crate::otlp_client::OtlpClient;
use crate::settings::{CollectorSettings, TelemetrySettings};
use crate::sink::TelemetrySink;

/// Running telemetry. Dropping it stops the export tasks.
#[derive(Debug)]
pub struct Telemetry {
    sink: Arc<TelemetrySink>,
    spans: Option<Arc<ExportStats>>,
    metrics: Option<Arc<ExportStats>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: CancellationToken,
}

impl Telemetry {
    /// Starts telemetry on the current runtime; `None` if it is off. Does not check whether a collector is reachable.
    pub fn from_settings(settings: TelemetrySettings) -> Result<Option<Self>, Fault> {
        if settings.traces.is_none() && settings.metrics.is_none() {
            return Ok(None);
        }
        let runtime = Handle::try_current().map_err(|error| {
            Fault::permanent(FaultLayer::System, "telemetry", format!("Telemetry cannot start: {error}."))
        })?;
        let stop = CancellationToken::new();
        let mut tasks = Vec::new();
        let resource = resource(&settings);
        let (span_queue, spans) = match &settings.traces {
            None => (None, None),
            Some(collector) => {
                let wire = WireResource::from(&resource);
                let (exporter, span_queue, stats) =
                    SpanExporter::new(OtlpClient::new(collector)?, wire, stop.clone());
                tasks.push(runtime.spawn(exporter.run()));
                (Some(span_queue), Some(stats))
            }
        };
        let (meters, metrics) = match &settings.metrics {
            None => (None, None),
            Some(collector) => {
                let (meters, readings) = meters::create(resource);
                let client = OtlpClient::new(collector)?;
                let (exporter, stats) =
                    MetricExporter::new(client, readings, settings.metric_interval, stop.clone());
                tasks.push(runtime.spawn(exporter.run()));
                (Some(meters), Some(stats))
            }
        };
        let content_redactor = settings
            .capture_content
            .then(|| Redactor::new(&header_values(&settings)).sharing(&settings.secrets));
        let sampler = settings.sampler;
        let sink =
            Arc::new(TelemetrySink { span_queue, meters, sampler, content_redactor, open: Mutex::default() });
        Ok(Some(Self { sink, spans, metrics, tasks: Mutex::new(tasks), stop }))
    }

    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.sink) as Arc<dyn Sink>
    }

    /// Sends what is left, and counts what could not be sent within the limit as lost.
    pub async fn shutdown(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.sink.end_all();
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let mut timed_out = false;
        for mut task in tasks {
            if timeout_at(deadline, &mut task).await.is_err() {
                task.abort();
                // An aborted task ends at its next await; wait for that, so that it no longer changes the statistics.
                let _ = task.await;
                timed_out = true;
            }
        }
        if timed_out {
            self.stats().for_each(|stats| stats.give_up("the collector took too long to answer"));
        }
    }

    pub fn dropped(&self) -> u64 {
        self.spans.as_ref().map_or(0, |stats| stats.lost())
    }

    /// A warning for the user if anything was lost.
    pub fn loss_warning(&self) -> Option<String> {
        let reason = |stats: &ExportStats| stats.failure().unwrap_or_else(|| "the queue was full".to_owned());
        let spans = self.spans.as_ref().filter(|stats| stats.lost() > 0);
        let metrics = self.metrics.as_ref().filter(|stats| stats.lost() > 0);
        let (what, stats) = match (spans, metrics) {
            (None, None) => return None,
            (Some(spans), None) => (span_count(spans.lost()), spans),
            (None, Some(metrics)) => ("the last metrics".to_owned(), metrics),
            (Some(spans), Some(_)) => (format!("{} and the last metrics", span_count(spans.lost())), spans),
        };
        Some(format!("Telemetry was lost: {what} did not reach {}: {}.", stats.destination(), reason(stats)))
    }

    fn stats(&self) -> impl Iterator<Item = &Arc<ExportStats>> {
        self.spans.iter().chain(&self.metrics)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn span_count(spans: u64) -> String {
    if spans == 1 { "1 span".to_owned() } else { format!("{spans} spans") }
}

/// The resource attributes. None are detected, so that nothing is sent that was not configured.
fn resource(settings: &TelemetrySettings) -> Resource {
    let configured = settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(configured)
        .with_service_name(settings.service_name.clone())
        .build()
}

/// The header values of the collectors, which are often keys.
fn header_values(settings: &TelemetrySettings) -> Vec<String> {
    let collectors = settings.traces.iter().chain(&settings.metrics);
    let headers = collectors.flat_map(|CollectorSettings { headers, .. }| headers);
    headers.map(|header| header.value.clone()).collect()
}
