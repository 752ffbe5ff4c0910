//! A collector that is down, hangs or rejects: events never block, shutdown ends in time, and losses are reported.

use std::time::{Duration, Instant};

use autonoe_telemetry::{Protocol, Telemetry, TelemetrySettings};
use tokio::net::TcpListener;
use url::Url;

use crate::exported_run::LIMIT;
use crate::fake_collector::{CollectorBehavior, FakeCollector, settings};
use crate::sample_events::{many_sessions, sample_run};

/// The shutdown limit where it cannot succeed.
const SHORT: Duration = Duration::from_millis(500);
/// What a busy machine may need in addition.
const SLACK: Duration = Duration::from_secs(10);

const PROTOCOLS: [Protocol; 3] = [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson];

fn start(settings: TelemetrySettings) -> Telemetry {
    Telemetry::from_settings(settings).expect("settings").expect("on")
}

async fn shut_down_within(limit: Duration, telemetry: &Telemetry) {
    let start = Instant::now();
    telemetry.shutdown(limit).await;
    assert!(start.elapsed() < limit + SLACK, "{:?}", start.elapsed());
}

#[tokio::test]
async fn an_unreachable_collector_does_not_delay_a_run() {
    for protocol in PROTOCOLS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let base = Url::parse(&format!("http://127.0.0.1:{port}")).expect("an address");
        let telemetry = start(settings(&base, protocol));
        sample_run(telemetry.sink().as_ref());
        shut_down_within(LIMIT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 6);
        let warning = telemetry.loss_warning().expect("something was lost");
        assert!(
            warning.starts_with(&format!(
                "Telemetry was lost: 6 spans and the last metrics did not reach http://127.0.0.1:{port}: "
            )),
            "{warning}"
        );
        assert!(warning.contains("refused"), "{warning}");
    }
}

#[tokio::test]
async fn a_hanging_collector_does_not_delay_a_run() {
    for protocol in PROTOCOLS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base =
            Url::parse(&format!("http://{}", listener.local_addr().expect("bound"))).expect("an address");
        let hang = tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.push(stream);
            }
        });
        let telemetry = start(settings(&base, protocol));
        // More than the queue takes: the rest is dropped immediately.
        many_sessions(telemetry.sink().as_ref(), 5_000);
        tokio::task::yield_now().await;
        assert!(telemetry.dropped() >= 5_000 - 2 * 2048, "{}", telemetry.dropped());
        shut_down_within(SHORT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 5_000);
        assert!(
            telemetry.loss_warning().expect("lost").contains("too long"),
            "{:?}",
            telemetry.loss_warning()
        );
        hang.abort();
    }
}

#[tokio::test]
async fn an_unavailable_collector_does_not_delay_a_run() {
    for protocol in PROTOCOLS {
        let fake_collector = FakeCollector::start(protocol, CollectorBehavior::Unavailable).await;
        let telemetry = start(fake_collector.settings());
        sample_run(telemetry.sink().as_ref());
        shut_down_within(LIMIT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 6);
        let warning = telemetry.loss_warning().expect("lost");
        let expected = if protocol == Protocol::Grpc { "gRPC status 14 not now" } else { "503" };
        assert!(warning.contains(expected), "{warning}");
    }
}

#[tokio::test]
async fn a_permanent_rejection_is_not_retried() {
    for protocol in PROTOCOLS {
        let fake_collector = FakeCollector::start(protocol, CollectorBehavior::Rejects).await;
        let telemetry = start(TelemetrySettings { metrics: None, ..fake_collector.settings() });
        // Enough for a full batch, so that one request is sent before the shutdown.
        many_sessions(telemetry.sink().as_ref(), 600);
        while telemetry.dropped() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((telemetry.dropped(), fake_collector.received(|received| received.requests)), (512, 1));
        telemetry.shutdown(LIMIT).await;
        assert_eq!((telemetry.dropped(), fake_collector.received(|received| received.requests)), (600, 2));
    }
}

#[tokio::test]
async fn a_transient_rejection_is_retried() {
    for protocol in PROTOCOLS {
        let fake_collector = FakeCollector::start(protocol, CollectorBehavior::UnavailableOnce).await;
        let telemetry = start(TelemetrySettings { metrics: None, ..fake_collector.settings() });
        many_sessions(telemetry.sink().as_ref(), 512);
        while fake_collector.spans().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        telemetry.shutdown(LIMIT).await;
        assert_eq!((fake_collector.spans().len(), telemetry.dropped()), (512, 0));
        assert_eq!(telemetry.loss_warning(), None);
    }
}

#[tokio::test]
async fn spans_rejected_by_the_collector_are_counted() {
    for protocol in PROTOCOLS {
        let fake_collector = FakeCollector::start(protocol, CollectorBehavior::RejectsOneSpan).await;
        let telemetry = start(TelemetrySettings { metrics: None, ..fake_collector.settings() });
        sample_run(telemetry.sink().as_ref());
        telemetry.shutdown(LIMIT).await;
        assert_eq!(telemetry.dropped(), 1);
        assert!(telemetry.loss_warning().expect("lost").ends_with(": one is bad."));
    }
}

#[tokio::test]
async fn a_second_shutdown_and_late_events_are_harmless() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    let telemetry = start(fake_collector.settings());
    telemetry.shutdown(LIMIT).await;
    sample_run(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    assert_eq!((fake_collector.spans().len(), telemetry.dropped()), (0, 6));
}
