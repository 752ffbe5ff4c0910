//! Delivery: takes spans and metrics away in the background. One task for each signal; what piles up is bounded, what
//! cannot be delivered is counted and dropped, and nobody who runs sessions ever waits for it.

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
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::carrier::{Again, Carrier, Undelivered};
use crate::delivery_stats::DeliveryStats;
use crate::meters::Readings;

/// How many spans may wait; more are dropped.
const QUEUE: usize = 2048;
/// How many spans go in one request.
const BATCH: usize = 512;
/// How long a span may wait for others to go with it.
const LINGER: Duration = Duration::from_secs(5);
/// How often one message is tried.
const ATTEMPTS: u32 = 3;
/// The pause after the first failure; doubled after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause a collector can ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Where ended spans are put.
#[derive(Debug)]
pub struct Outbox {
    queue: mpsc::Sender<Span>,
    fate: Arc<DeliveryStats>,
}

impl Outbox {
    /// Puts a span in, or drops it when there is no room. Never waits.
    pub fn put(&self, span: Span) {
        match self.queue.try_send(span) {
            Ok(()) => self.fate.set_out(1),
            Err(_) => self.fate.lose(1),
        }
    }
}

/// Takes spans to their collector until it is stopped, then what is left.
pub struct SpanDelivery {
    queue: mpsc::Receiver<Span>,
    carrier: Carrier,
    resource: Resource,
    fate: Arc<DeliveryStats>,
    stop: CancellationToken,
}

impl SpanDelivery {
    /// A delivery that has not started, where to put spans for it, and what will have become of them.
    pub fn new(
        carrier: Carrier,
        resource: Resource,
        stop: CancellationToken,
    ) -> (Self, Outbox, Arc<DeliveryStats>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let fate = DeliveryStats::new(carrier.destination());
        let outbox = Outbox { queue: sender, fate: Arc::clone(&fate) };
        (Self { queue, carrier, resource, fate: Arc::clone(&fate), stop }, outbox, fate)
    }

    /// Runs until stopped.
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

    /// Spans until there are enough for a request, or the first have waited long enough.
    async fn gather(&mut self) -> Vec<Span> {
        let mut batch = Vec::new();
        let Some(first) = self.stop.run_until_cancelled(self.queue.recv()).await.flatten() else {
            return batch;
        };
        batch.push(first);
        let enough = async {
            loop {
                let room = BATCH - batch.len();
                if room == 0 || self.queue.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = enough => {}
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
        match persist::<ExportTraceServiceResponse>(&self.carrier, &request, &self.stop).await {
            Ok(answer) => {
                let partial = answer.partial_success.unwrap_or_default();
                let rejected = u64::try_from(partial.rejected_spans).unwrap_or_default().min(count);
                self.fate.settle(count - rejected, Ok(()));
                if rejected > 0 {
                    self.fate.settle(rejected, Err(partial.error_message));
                }
            }
            Err(Undelivered { reason, .. }) => self.fate.settle(count, Err(reason)),
        }
    }
}

/// Takes metrics to their collector now and then, and once more when it is stopped.
pub struct MetricDelivery {
    readings: Readings,
    carrier: Carrier,
    every: Duration,
    fate: Arc<DeliveryStats>,
    stop: CancellationToken,
}

impl MetricDelivery {
    /// A delivery that has not started, and what will have become of the metrics.
    pub fn new(
        carrier: Carrier,
        readings: Readings,
        every: Duration,
        stop: CancellationToken,
    ) -> (Self, Arc<DeliveryStats>) {
        let fate = DeliveryStats::new(carrier.destination());
        (Self { readings, carrier, every, fate: Arc::clone(&fate), stop }, fate)
    }

    /// Runs until stopped.
    pub async fn run(self) {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first one comes at once, when there is nothing to read yet.
        ticks.tick().await;
        while self.stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.send().await;
        }
        self.send().await;
    }

    /// Sends all that was measured so far: when it fails, the next time makes up for it.
    async fn send(&self) {
        let Some(request) = self.readings.read() else { return };
        self.fate.set_out(1);
        let sent = persist::<ExportMetricsServiceResponse>(&self.carrier, &request, &self.stop).await;
        let arrived = match sent {
            Ok(answer) => match answer.partial_success.filter(|partial| partial.rejected_data_points > 0) {
                Some(partial) => Err(partial.error_message),
                None => Ok(()),
            },
            Err(Undelivered { reason, .. }) => Err(reason),
        };
        // What an earlier message would have told is in this one.
        self.fate.forget_losses();
        self.fate.settle(1, arrived);
    }
}

/// Tries a message a few times. When stopped, there are no more pauses.
async fn persist<A>(
    carrier: &Carrier,
    message: &(impl Message + Serialize),
    stop: &CancellationToken,
) -> Result<A, Undelivered>
where
    A: Message + Default + DeserializeOwned,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        let undelivered = match carrier.carry(message).await {
            Ok(answer) => return Ok(answer),
            Err(undelivered) => undelivered,
        };
        let wait = match undelivered.again {
            Again::Never => return Err(undelivered),
            Again::Later => pause,
            Again::After(asked) => asked.min(MAX_PAUSE),
        };
        if stop.is_cancelled() {
            return Err(undelivered);
        }
        let _ = stop.run_until_cancelled(sleep(wait)).await;
        pause *= 2;
    }
    carrier.carry(message).await
}
