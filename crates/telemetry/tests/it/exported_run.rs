//! A run is exported completely over each protocol: the span tree, the attributes and the metrics.

use std::collections::HashSet;
use std::time::Duration;

use autonoe_core::event::{AgentEvent, RunEvent};
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_telemetry::{Header, Protocol, Proxy, Sampler, Telemetry, TelemetrySettings};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::fake_collector::{CollectorBehavior, FakeCollector, attribute};
use crate::sample_events::{self, TRACE, run, run_started, sample_run, show_session, timeout, usage};

/// Far more than a flush takes.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Starts telemetry with these settings, lets `show` send events, and shuts it down.
async fn export(settings: TelemetrySettings, show: impl FnOnce(&dyn autonoe_core::sink::Sink)) -> Telemetry {
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    show(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    telemetry
}

fn get(span: &Span, key: &str) -> Option<String> {
    attribute(&span.attributes, key)
}

fn assert_attributes(span: &Span, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(get(span, key).as_deref(), Some(*value), "{key} of {}", span.name);
    }
}

async fn assert_exported_completely(protocol: Protocol) -> FakeCollector {
    let fake_collector = FakeCollector::start(protocol, CollectorBehavior::Accepts).await;
    let mut settings = fake_collector.settings();
    for collector in settings.traces.iter_mut().chain(&mut settings.metrics) {
        collector.headers.push(Header { name: "x-key".into(), value: "abc123".into() });
    }
    settings.service_name = "night shift".into();
    settings.resource.push(("deployment.environment.name".into(), "test".into()));
    let telemetry = export(settings, sample_run).await;
    assert_eq!(telemetry.loss_warning(), None);
    assert_eq!(telemetry.dropped(), 0);

    assert_span_tree(&fake_collector);
    assert_span_attributes(&fake_collector);
    assert_metrics(&fake_collector);
    fake_collector.received(|received| {
        assert_eq!(received.headers.iter().filter(|header| *header == "x-key: abc123").count(), 2);
        let resource = received.traces[0].resource_spans[0].resource.clone().expect("a resource");
        assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("night shift"));
        assert_eq!(attribute(&resource.attributes, "deployment.environment.name").as_deref(), Some("test"));
        let same = received.metrics[0].resource_metrics[0].resource.clone().expect("a resource");
        assert_eq!(attribute(&same.attributes, "service.name").as_deref(), Some("night shift"));
    });
    fake_collector
}

fn assert_span_tree(fake_collector: &FakeCollector) {
    let spans = fake_collector.spans();
    assert_eq!(spans.len(), 6);
    let ids: HashSet<_> = spans.iter().map(|span| span.span_id.clone()).collect();
    assert_eq!(ids.len(), 6);
    assert!(spans.iter().all(|span| span.trace_id == TRACE.0.to_be_bytes()));
    assert!(spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));

    let run_span = fake_collector.span("invoke_workflow run");
    assert_eq!(run_span.span_id, run().span_id.0.to_be_bytes());
    assert!(run_span.parent_span_id.is_empty());
    let session = fake_collector.span("invoke_agent native");
    assert_eq!(session.span_id, run().session(3).span_id.0.to_be_bytes());
    assert_eq!(session.parent_span_id, run_span.span_id);
    for call in ["chat claude-sonnet-5", "chat claude-opus-5", "execute_tool Bash", "execute_tool Write"] {
        let call = fake_collector.span(call);
        assert_eq!(call.parent_span_id, session.span_id, "{}", call.name);
        assert!(call.start_time_unix_nano >= session.start_time_unix_nano);
        assert!(call.end_time_unix_nano <= session.end_time_unix_nano);
    }
}

fn assert_span_attributes(fake_collector: &FakeCollector) {
    let run_span = fake_collector.span("invoke_workflow run");
    assert_eq!(run_span.kind(), SpanKind::Internal);
    assert_attributes(
        &run_span,
        &[
            ("gen_ai.operation.name", "invoke_workflow"),
            ("gen_ai.workflow.name", "run"),
            ("autonoe.run", "7"),
            ("autonoe.outcome", "all_passed"),
            ("autonoe.exit_code", "0"),
            ("autonoe.deliverables.passed", "4"),
            ("autonoe.deliverables.total", "5"),
            ("autonoe.cost_usd", "0.75"),
        ],
    );
    let session = fake_collector.span("invoke_agent native");
    assert_eq!(session.kind(), SpanKind::Internal);
    assert_eq!(session.status, None);
    assert_attributes(
        &session,
        &[
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "native"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.request.model", "claude-sonnet-5"),
            ("autonoe.session", "3"),
            ("autonoe.instruction", "coding"),
            ("autonoe.outcome", "completed"),
            ("gen_ai.usage.input_tokens", "320"),
            ("gen_ai.usage.output_tokens", "50"),
            ("autonoe.cost_usd", "0.75"),
        ],
    );
    assert_eq!(session.events[0].name, "autonoe.trouble");
    let chat = fake_collector.span("chat claude-sonnet-5");
    assert_eq!(chat.kind(), SpanKind::Client);
    assert_attributes(
        &chat,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "anthropic"),
            ("gen_ai.request.model", "claude-sonnet-5"),
            ("gen_ai.request.stream", "true"),
            ("gen_ai.usage.input_tokens", "110"),
            ("gen_ai.usage.output_tokens", "20"),
            ("gen_ai.usage.reasoning.output_tokens", "2"),
            ("gen_ai.usage.cache_read.input_tokens", "7"),
            ("gen_ai.usage.cache_creation.input_tokens", "3"),
            ("autonoe.cost_usd", "0.5"),
        ],
    );
    assert!(get(&chat, "gen_ai.response.time_to_first_chunk").is_some());
    assert!(get(&fake_collector.span("chat claude-opus-5"), "gen_ai.response.time_to_first_chunk").is_none());
    let bash = fake_collector.span("execute_tool Bash");
    assert_eq!(bash.status, None);
    assert_attributes(
        &bash,
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "Bash"),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.tool.call.id", "a"),
        ],
    );
    let write = fake_collector.span("execute_tool Write");
    assert_attributes(&write, &[("error.type", "denied"), ("autonoe.denied_by", "policy")]);
    assert_eq!(write.status.expect("a status").code(), StatusCode::Error);
}

fn assert_metrics(fake_collector: &FakeCollector) {
    let of = |name: &str, key: &str, value: &str| {
        let points = fake_collector.points(name);
        let found = points.iter().find(|point| point.attribute(key).as_deref() == Some(value));
        found.unwrap_or_else(|| panic!("no {name} has {key} = {value}")).total()
    };
    let tokens = fake_collector.points("gen_ai.client.token.usage");
    assert_eq!(tokens.len(), 4);
    let sum = |kind: &str| -> f64 {
        let of_kind = tokens.iter().filter(|p| p.attribute("gen_ai.token.type").as_deref() == Some(kind));
        of_kind.map(|point| point.total().1).sum()
    };
    assert_eq!((sum("input"), sum("output")), (320.0, 50.0));
    assert_eq!(of("gen_ai.client.operation.duration", "gen_ai.request.model", "claude-sonnet-5").0, 1);
    assert_eq!(of("gen_ai.client.operation.duration", "gen_ai.provider.name", "anthropic").0, 1);
    assert_eq!(
        of("gen_ai.client.operation.time_to_first_chunk", "gen_ai.request.model", "claude-sonnet-5").0,
        1
    );
    assert_eq!(of("autonoe.cost", "gen_ai.request.model", "claude-sonnet-5").1, 0.5);
    assert_eq!(of("autonoe.cost", "gen_ai.request.model", "claude-opus-5").1, 0.25);
    assert_eq!(of("autonoe.tool.calls", "gen_ai.tool.name", "Bash").1, 1.0);
    assert_eq!(of("autonoe.tool.calls", "error.type", "denied").1, 1.0);
    assert_eq!(of("autonoe.errors", "error.type", "denied").1, 1.0);
    assert_eq!(of("gen_ai.execute_tool.duration", "gen_ai.tool.name", "Write").0, 1);
    assert_eq!(of("gen_ai.invoke_agent.duration", "gen_ai.agent.name", "native").0, 1);
    assert_eq!(of("gen_ai.workflow.duration", "gen_ai.workflow.name", "run").0, 1);
}

#[tokio::test]
async fn a_run_arrives_as_protocol_buffers() {
    assert_exported_completely(Protocol::HttpProtobuf).await;
}

#[tokio::test]
async fn a_run_arrives_as_json() {
    let fake_collector = assert_exported_completely(Protocol::HttpJson).await;
    let body = fake_collector.received(|received| {
        received.bodies.iter().find(|body| body.starts_with(b"{\"resourceSpans\"")).cloned()
    });
    let body: serde_json::Value = serde_json::from_slice(&body.expect("spans")).expect("json");
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], TRACE.to_string(), "ids are hexadecimal");
    assert!(span["startTimeUnixNano"].is_string(), "64-bit numbers are strings");
    assert_eq!(span["kind"], 3, "enums are numbers");
}

#[tokio::test]
async fn a_run_arrives_over_grpc() {
    assert_exported_completely(Protocol::Grpc).await;
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    let mut settings = fake_collector.settings();
    settings.metrics = None;
    let collector = settings.traces.as_mut().expect("on");
    collector.endpoint.set_host(Some("collector.invalid")).expect("a host");
    collector.proxy = Some(Proxy { url: fake_collector.base.to_string(), direct: "elsewhere".into() });
    let telemetry = export(settings, sample_run).await;
    assert_eq!((telemetry.loss_warning(), fake_collector.spans().len()), (None, 6));
    assert!(fake_collector.received(|received| {
        received.headers.iter().any(|header| header.starts_with("host: collector.invalid"))
    }));

    let mut settings = fake_collector.settings();
    settings.metrics = None;
    let nowhere = Proxy { url: "http://127.0.0.1:1".into(), direct: String::new() };
    settings.traces.as_mut().expect("on").proxy = Some(nowhere);
    assert_eq!(
        export(settings, sample_run).await.loss_warning(),
        None,
        "a loopback address bypasses the proxy"
    );
}

#[tokio::test]
async fn faults_become_error_types_and_open_calls_end_with_their_session() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(fake_collector.settings(), |sink| {
        sink.on(&run(), &run_started("sync", 0).into());
        let failed = AgentEvent::ModelCallEnded { fault: Some(timeout()) };
        show_session(sink, 1, &[AgentEvent::ModelCallStarted { model: "gpt-9".into() }, failed]);
        let outcome = SessionEnd::ExecutionError { fault: timeout() };
        sink.on(&run().session(1), &sample_events::ended(1, outcome));
        show_session(sink, 2, &[sample_events::tool("a", "Bash", "sleep 9")]);
        sink.on(&run().session(2), &sample_events::ended(2, SessionEnd::Interrupted));
        sink.on(&run(), &RunEvent::Outcome(sample_events::report(RunOutcome::Interrupted)).into());
    })
    .await;
    let chat = fake_collector.span("chat gpt-9");
    assert_attributes(&chat, &[("error.type", "timeout"), ("gen_ai.provider.name", "openai")]);
    let status = chat.status.expect("a status");
    assert_eq!((status.code(), status.message.as_str()), (StatusCode::Error, "timeout"));
    assert_attributes(&fake_collector.span("execute_tool Bash"), &[("error.type", "cut_off")]);
    let sessions = fake_collector.spans().into_iter().filter(|span| span.name == "invoke_agent native");
    let outcomes: Vec<_> =
        sessions.map(|span| (get(&span, "autonoe.outcome"), get(&span, "error.type"))).collect();
    let expected = [("execution_error", Some("timeout")), ("interrupted", None)];
    assert_eq!(outcomes, expected.map(|(a, b)| (Some(a.to_owned()), b.map(str::to_owned))));
    let run_span = fake_collector.span("invoke_workflow sync");
    assert_eq!(
        (run_span.status.clone(), get(&run_span, "autonoe.exit_code").as_deref()),
        (None, Some("130"))
    );
}

#[tokio::test]
async fn usage_without_model_calls_is_attributed_to_the_session() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(fake_collector.settings(), |sink| {
        show_session(
            sink,
            1,
            &[AgentEvent::Usage(usage(100, 20, Some(0.5))), AgentEvent::Usage(usage(10, 2, None))],
        );
        sink.on(&run().session(1), &sample_events::ended(1, SessionEnd::Completed));
    })
    .await;
    let session = fake_collector.span("invoke_agent native");
    assert_attributes(
        &session,
        &[("gen_ai.usage.input_tokens", "130"), ("gen_ai.usage.output_tokens", "22")],
    );
    assert_eq!(get(&session, "autonoe.cost_usd"), None, "an unknown price makes the sum unknown");
    let tokens = fake_collector.points("gen_ai.client.token.usage");
    assert!(tokens.iter().all(|p| p.attribute("gen_ai.operation.name").as_deref() == Some("invoke_agent")));
    assert_eq!(tokens.iter().map(|point| point.total().1).sum::<f64>(), 152.0);
}

#[tokio::test]
async fn the_end_of_an_unknown_call_ends_no_span() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(fake_collector.settings(), |sink| {
        let strays = [
            AgentEvent::ModelCallEnded { fault: None },
            sample_events::tool_result("x", "Bash", "late", true, Some("policy")),
        ];
        show_session(sink, 1, &strays);
        sink.on(&run().session(1), &sample_events::ended(1, SessionEnd::Completed));
        sink.on(&run().session(1), &sample_events::ended(1, SessionEnd::Interrupted));
    })
    .await;
    let session = fake_collector.span("invoke_agent native");
    assert_attributes(&session, &[("autonoe.outcome", "completed")]);
    assert_eq!((get(&session, "error.type"), get(&session, "autonoe.denied_by")), (None, None));
}

#[tokio::test]
async fn open_spans_are_sent_at_shutdown() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(fake_collector.settings(), |sink| {
        sink.on(&run(), &run_started("run", 0).into());
        show_session(sink, 1, &[AgentEvent::ModelCallStarted { model: "m".into() }]);
    })
    .await;
    assert_eq!(fake_collector.spans().len(), 3);
}

#[tokio::test]
async fn metrics_are_sent_at_the_interval() {
    let fake_collector = FakeCollector::start(Protocol::Grpc, CollectorBehavior::Accepts).await;
    let settings =
        TelemetrySettings { metric_interval: Duration::from_millis(20), ..fake_collector.settings() };
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    sample_events::many_sessions(telemetry.sink().as_ref(), 1);
    while fake_collector.received(|received| received.metrics.len()) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(
        fake_collector.points("gen_ai.invoke_agent.duration")[0].total().0,
        1,
        "metrics are cumulative"
    );
    telemetry.shutdown(LIMIT).await;
}

#[tokio::test]
async fn a_trace_that_is_not_sampled_is_still_counted() {
    for sampler in [Sampler::AlwaysOff, Sampler::Ratio(0.0)] {
        let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
        let telemetry = export(TelemetrySettings { sampler, ..fake_collector.settings() }, sample_run).await;
        assert_eq!(fake_collector.spans(), []);
        assert_eq!(telemetry.dropped(), 0);
        assert_metrics(&fake_collector);
    }
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    let sampler = Sampler::Ratio(1.0);
    export(TelemetrySettings { sampler, ..fake_collector.settings() }, sample_run).await;
    assert_eq!(fake_collector.spans().len(), 6);
}

#[test]
fn a_ratio_samples_its_fraction_of_traces() {
    let spread = |n: u64| u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let sampled = (0..10_000).filter(|n| Sampler::Ratio(0.25).samples(spread(*n))).count();
    assert!((2_300..2_700).contains(&sampled), "{sampled}");
}

#[tokio::test]
async fn each_signal_can_be_turned_off() {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(TelemetrySettings { metrics: None, ..fake_collector.settings() }, sample_run).await;
    assert_eq!(fake_collector.received(|received| (received.traces.len(), received.metrics.len())), (1, 0));

    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    export(TelemetrySettings { traces: None, ..fake_collector.settings() }, sample_run).await;
    assert_eq!(fake_collector.received(|received| (received.traces.len(), received.metrics.len())), (0, 1));
}

#[test]
fn nothing_is_started_when_telemetry_is_off() {
    let off = Telemetry::from_settings(TelemetrySettings::default());
    assert!(off.expect("no runtime is needed").is_none());
}

#[test]
fn starting_without_a_runtime_is_a_fault() {
    let base = "http://localhost:4318".parse().expect("an address");
    let on = Telemetry::from_settings(crate::fake_collector::settings(&base, Protocol::HttpJson));
    assert_eq!(on.expect_err("no runtime").code, "telemetry");
}
