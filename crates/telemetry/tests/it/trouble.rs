//! A collector that is dead, hangs or refuses: showing events costs nothing, the end comes in time, losses are told.

use std::time::{Duration, Instant};

use autonoe_telemetry::{Protocol, Telemetry, TelemetrySettings};
use tokio::net::TcpListener;
use url::Url;

use crate::arrives::LIMIT;
use crate::receiver::{Manner, Receiver, settings};
use crate::script::{many_sessions, whole_run};

/// What a shutdown is given when it cannot succeed.
const SHORT: Duration = Duration::from_millis(500);
/// What else a busy machine may need around it.
const SLACK: Duration = Duration::from_secs(10);

const PROTOCOLS: [Protocol; 3] = [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson];

fn on(settings: TelemetrySettings) -> Telemetry {
    Telemetry::from_settings(settings).expect("settings").expect("on")
}

async fn shut_down_within(limit: Duration, telemetry: &Telemetry) {
    let start = Instant::now();
    telemetry.shutdown(limit).await;
    assert!(start.elapsed() < limit + SLACK, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_nothing() {
    for protocol in PROTOCOLS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let base = Url::parse(&format!("http://127.0.0.1:{port}")).expect("an address");
        let telemetry = on(settings(&base, protocol));
        whole_run(telemetry.sink().as_ref());
        shut_down_within(LIMIT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 6);
        let complaint = telemetry.complaint().expect("something was lost");
        assert!(
            complaint.starts_with(&format!(
                "Telemetry was lost: 6 spans and the last metrics did not reach http://127.0.0.1:{port}: "
            )),
            "{complaint}"
        );
        assert!(complaint.contains("refused"), "{complaint}");
    }
}

#[tokio::test]
async fn a_collector_that_hangs_costs_nothing() {
    for protocol in PROTOCOLS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base =
            Url::parse(&format!("http://{}", listener.local_addr().expect("bound"))).expect("an address");
        let hang = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
            }
        });
        let telemetry = on(settings(&base, protocol));
        // More than fits: the rest is dropped at once, and nobody waits for room.
        many_sessions(telemetry.sink().as_ref(), 5_000);
        tokio::task::yield_now().await;
        assert!(telemetry.dropped() >= 5_000 - 2 * 2048, "{}", telemetry.dropped());
        shut_down_within(SHORT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 5_000);
        assert!(telemetry.complaint().expect("lost").contains("too long"), "{:?}", telemetry.complaint());
        hang.abort();
    }
}

#[tokio::test]
async fn a_collector_that_is_unavailable_costs_nothing() {
    for protocol in PROTOCOLS {
        let receiver = Receiver::start(protocol, Manner::Unavailable).await;
        let telemetry = on(receiver.settings());
        whole_run(telemetry.sink().as_ref());
        shut_down_within(LIMIT, &telemetry).await;
        assert_eq!(telemetry.dropped(), 6);
        let complaint = telemetry.complaint().expect("lost");
        let expected = if protocol == Protocol::Grpc { "gRPC status 14 not now" } else { "503" };
        assert!(complaint.contains(expected), "{complaint}");
    }
}

#[tokio::test]
async fn a_refusal_for_good_is_not_tried_again() {
    for protocol in PROTOCOLS {
        let receiver = Receiver::start(protocol, Manner::Refuses).await;
        let telemetry = on(TelemetrySettings { metrics: None, ..receiver.settings() });
        // So many that a request is sent before the end.
        many_sessions(telemetry.sink().as_ref(), 600);
        while telemetry.dropped() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((telemetry.dropped(), receiver.got(|got| got.requests)), (512, 1));
        telemetry.shutdown(LIMIT).await;
        assert_eq!((telemetry.dropped(), receiver.got(|got| got.requests)), (600, 2));
    }
}

#[tokio::test]
async fn what_was_refused_for_the_moment_is_tried_again() {
    for protocol in PROTOCOLS {
        let receiver = Receiver::start(protocol, Manner::UnavailableOnce).await;
        let telemetry = on(TelemetrySettings { metrics: None, ..receiver.settings() });
        many_sessions(telemetry.sink().as_ref(), 512);
        while receiver.spans().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        telemetry.shutdown(LIMIT).await;
        assert_eq!((receiver.spans().len(), telemetry.dropped()), (512, 0));
        assert_eq!(telemetry.complaint(), None);
    }
}

#[tokio::test]
async fn spans_that_the_collector_rejects_are_counted() {
    for protocol in PROTOCOLS {
        let receiver = Receiver::start(protocol, Manner::TakesAllButOne).await;
        let telemetry = on(TelemetrySettings { metrics: None, ..receiver.settings() });
        whole_run(telemetry.sink().as_ref());
        telemetry.shutdown(LIMIT).await;
        assert_eq!(telemetry.dropped(), 1);
        assert!(telemetry.complaint().expect("lost").ends_with(": one is bad."));
    }
}

#[tokio::test]
async fn a_second_shutdown_and_late_events_do_no_harm() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    let telemetry = on(receiver.settings());
    telemetry.shutdown(LIMIT).await;
    whole_run(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    assert_eq!((receiver.spans().len(), telemetry.dropped()), (0, 6));
}
