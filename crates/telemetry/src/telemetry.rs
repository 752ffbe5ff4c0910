//! The whole of it: a sink to show events to, the tasks that take away what it makes, and their end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::redact::Redactor;
use autonoe_core::sink::Sink;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::resource::v1::Resource as WireResource;
use opentelemetry_sdk::Resource;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::carrier::Carrier;
use crate::delivery::{MetricDelivery, SpanDelivery};
use crate::delivery_stats::DeliveryStats;
use crate::meters;
use crate::settings::{Collector, TelemetrySettings};
use crate::sink::TelemetrySink;

/// Telemetry that is on.
#[derive(Debug)]
pub struct Telemetry {
    sink: Arc<TelemetrySink>,
    spans: Option<Arc<DeliveryStats>>,
    metrics: Option<Arc<DeliveryStats>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: CancellationToken,
}

impl Telemetry {
    /// Starts it on the runtime we are in; none when it is off. No collector is asked whether it is there.
    pub fn from_settings(settings: TelemetrySettings) -> Result<Option<Self>, Fault> {
        if settings.traces.is_none() && settings.metrics.is_none() {
            return Ok(None);
        }
        let runtime = Handle::try_current().map_err(|error| {
            Fault::lasting(Layer::System, "telemetry", format!("Telemetry cannot start: {error}."))
        })?;
        let stop = CancellationToken::new();
        let mut tasks = Vec::new();
        let resource = resource(&settings);
        let (outbox, spans) = match &settings.traces {
            None => (None, None),
            Some(collector) => {
                let wire = WireResource::from(&resource);
                let (delivery, outbox, fate) =
                    SpanDelivery::new(Carrier::new(collector)?, wire, stop.clone());
                tasks.push(runtime.spawn(delivery.run()));
                (Some(outbox), Some(fate))
            }
        };
        let (meters, metrics) = match &settings.metrics {
            None => (None, None),
            Some(collector) => {
                let (meters, readings) = meters::install(resource);
                let carrier = Carrier::new(collector)?;
                let (delivery, fate) =
                    MetricDelivery::new(carrier, readings, settings.metric_interval, stop.clone());
                tasks.push(runtime.spawn(delivery.run()));
                (Some(meters), Some(fate))
            }
        };
        let captures = settings.capture_content.then(|| Redactor::new(&secrets(&settings)));
        let sampler = settings.sampler;
        let sink = Arc::new(TelemetrySink { outbox, meters, sampler, captures, open: Mutex::default() });
        Ok(Some(Self { sink, spans, metrics, tasks: Mutex::new(tasks), stop }))
    }

    /// Is shown the events.
    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.sink) as Arc<dyn Sink>
    }

    /// Sends what is left, and gives up on what has not arrived within the limit.
    pub async fn shutdown(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.sink.end_all();
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let mut is_late = false;
        for mut task in tasks {
            if timeout_at(deadline, &mut task).await.is_err() {
                task.abort();
                // It is gone at its next pause for breath, and must not count any more after that.
                let _ = task.await;
                is_late = true;
            }
        }
        if is_late {
            self.fates().for_each(|fate| fate.give_up("it took too long to answer"));
        }
    }

    /// How many spans were lost.
    pub fn dropped(&self) -> u64 {
        self.spans.as_ref().map_or(0, |fate| fate.lost())
    }

    /// What a person should hear at the end, if something was lost.
    pub fn complaint(&self) -> Option<String> {
        let because =
            |fate: &DeliveryStats| fate.failure().unwrap_or_else(|| "there were too many at once".to_owned());
        let spans = self.spans.as_ref().filter(|fate| fate.lost() > 0);
        let metrics = self.metrics.as_ref().filter(|fate| fate.lost() > 0);
        let (what, fate) = match (spans, metrics) {
            (None, None) => return None,
            (Some(spans), None) => (many(spans.lost()), spans),
            (None, Some(metrics)) => ("the last metrics".to_owned(), metrics),
            (Some(spans), Some(_)) => (format!("{} and the last metrics", many(spans.lost())), spans),
        };
        Some(format!("Telemetry was lost: {what} did not reach {}: {}.", fate.destination(), because(fate)))
    }

    fn fates(&self) -> impl Iterator<Item = &Arc<DeliveryStats>> {
        self.spans.iter().chain(&self.metrics)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn many(spans: u64) -> String {
    if spans == 1 { "1 span".to_owned() } else { format!("{spans} spans") }
}

/// What is known of this service. Nothing is detected, so that nothing is read that was not given.
fn resource(settings: &TelemetrySettings) -> Resource {
    let given = settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(given)
        .with_service_name(settings.service_name.clone())
        .build()
}

/// What is never sent: what was named, and the keys of the collectors themselves.
fn secrets(settings: &TelemetrySettings) -> Vec<String> {
    let collectors = settings.traces.iter().chain(&settings.metrics);
    let headers = collectors.flat_map(|Collector { headers, .. }| headers);
    headers.map(|header| header.value.clone()).chain(settings.secrets.iter().cloned()).collect()
}
