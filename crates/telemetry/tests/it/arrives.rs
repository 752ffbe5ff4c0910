//! A run arrives whole: as the right tree, with the right attributes and numbers, over each protocol.

use std::collections::HashSet;
use std::time::Duration;

use autonoe_core::event::{AgentEvent, RunEvent};
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_telemetry::{Header, Protocol, Proxy, Sampler, Telemetry, TelemetrySettings};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

use crate::receiver::{Manner, Receiver, attribute};
use crate::script::{self, TRACE, run, show_session, timeout, usage, whole_run};

/// Far more than a flush takes.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Shows a run to a telemetry with these settings and ends it.
async fn shown(settings: TelemetrySettings, show: impl FnOnce(&dyn autonoe_core::sink::Sink)) -> Telemetry {
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    show(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    telemetry
}

fn get(span: &Span, key: &str) -> Option<String> {
    attribute(&span.attributes, key)
}

fn has(span: &Span, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(get(span, key).as_deref(), Some(*value), "{key} of {}", span.name);
    }
}

async fn arrives_whole(protocol: Protocol) -> Receiver {
    let receiver = Receiver::start(protocol, Manner::Takes).await;
    let mut settings = receiver.settings();
    for collector in settings.traces.iter_mut().chain(&mut settings.metrics) {
        collector.headers.push(Header { name: "x-key".into(), value: "abc123".into() });
    }
    settings.service_name = "night shift".into();
    settings.resource.push(("deployment.environment.name".into(), "test".into()));
    let telemetry = shown(settings, whole_run).await;
    assert_eq!(telemetry.complaint(), None);
    assert_eq!(telemetry.dropped(), 0);

    the_tree_is_right(&receiver);
    the_attributes_are_right(&receiver);
    the_numbers_are_right(&receiver);
    receiver.got(|got| {
        assert_eq!(got.headers.iter().filter(|header| *header == "x-key: abc123").count(), 2);
        let resource = got.traces[0].resource_spans[0].resource.clone().expect("a resource");
        assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("night shift"));
        assert_eq!(attribute(&resource.attributes, "deployment.environment.name").as_deref(), Some("test"));
        let same = got.metrics[0].resource_metrics[0].resource.clone().expect("a resource");
        assert_eq!(attribute(&same.attributes, "service.name").as_deref(), Some("night shift"));
    });
    receiver
}

fn the_tree_is_right(receiver: &Receiver) {
    let spans = receiver.spans();
    assert_eq!(spans.len(), 6);
    let ids: HashSet<_> = spans.iter().map(|span| span.span_id.clone()).collect();
    assert_eq!(ids.len(), 6);
    assert!(spans.iter().all(|span| span.trace_id == TRACE.0.to_be_bytes()));
    assert!(spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));

    let whole = receiver.span("invoke_workflow run");
    assert_eq!(whole.span_id, run().span_id.0.to_be_bytes());
    assert!(whole.parent_span_id.is_empty());
    let session = receiver.span("invoke_agent native");
    assert_eq!(session.span_id, run().session(3).span_id.0.to_be_bytes());
    assert_eq!(session.parent_span_id, whole.span_id);
    for call in ["chat claude-sonnet-5", "chat claude-opus-5", "execute_tool Bash", "execute_tool Write"] {
        let call = receiver.span(call);
        assert_eq!(call.parent_span_id, session.span_id, "{}", call.name);
        assert!(call.start_time_unix_nano >= session.start_time_unix_nano);
        assert!(call.end_time_unix_nano <= session.end_time_unix_nano);
    }
}

fn the_attributes_are_right(receiver: &Receiver) {
    let whole = receiver.span("invoke_workflow run");
    assert_eq!(whole.kind(), SpanKind::Internal);
    has(
        &whole,
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
    let session = receiver.span("invoke_agent native");
    assert_eq!(session.kind(), SpanKind::Internal);
    assert_eq!(session.status, None);
    has(
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
    let chat = receiver.span("chat claude-sonnet-5");
    assert_eq!(chat.kind(), SpanKind::Client);
    has(
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
    assert!(get(&receiver.span("chat claude-opus-5"), "gen_ai.response.time_to_first_chunk").is_none());
    let bash = receiver.span("execute_tool Bash");
    assert_eq!(bash.status, None);
    has(
        &bash,
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "Bash"),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.tool.call.id", "a"),
        ],
    );
    let write = receiver.span("execute_tool Write");
    has(&write, &[("error.type", "denied"), ("autonoe.denied_by", "policy")]);
    assert_eq!(write.status.expect("a status").code(), StatusCode::Error);
}

fn the_numbers_are_right(receiver: &Receiver) {
    let of = |name: &str, key: &str, value: &str| {
        let points = receiver.points(name);
        let found = points.iter().find(|point| point.attribute(key).as_deref() == Some(value));
        found.unwrap_or_else(|| panic!("no {name} has {key} = {value}")).total()
    };
    let tokens = receiver.points("gen_ai.client.token.usage");
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
    arrives_whole(Protocol::HttpProtobuf).await;
}

#[tokio::test]
async fn a_run_arrives_as_json() {
    let receiver = arrives_whole(Protocol::HttpJson).await;
    let body =
        receiver.got(|got| got.bodies.iter().find(|body| body.starts_with(b"{\"resourceSpans\"")).cloned());
    let body: serde_json::Value = serde_json::from_slice(&body.expect("spans")).expect("json");
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"], TRACE.to_string(), "ids are hexadecimal");
    assert!(span["startTimeUnixNano"].is_string(), "long numbers are texts");
    assert_eq!(span["kind"], 3, "choices are numbers");
}

#[tokio::test]
async fn a_run_arrives_over_grpc() {
    arrives_whole(Protocol::Grpc).await;
}

#[tokio::test]
async fn a_proxy_is_used_where_one_is_named() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    let mut settings = receiver.settings();
    settings.metrics = None;
    let collector = settings.traces.as_mut().expect("on");
    collector.endpoint.set_host(Some("collector.invalid")).expect("a host");
    collector.proxy = Some(Proxy { url: receiver.base.to_string(), direct: "elsewhere".into() });
    let telemetry = shown(settings, whole_run).await;
    assert_eq!((telemetry.complaint(), receiver.spans().len()), (None, 6));
    assert!(
        receiver.got(|got| got.headers.iter().any(|header| header.starts_with("host: collector.invalid")))
    );

    let mut settings = receiver.settings();
    settings.metrics = None;
    let nowhere = Proxy { url: "http://127.0.0.1:1".into(), direct: String::new() };
    settings.traces.as_mut().expect("on").proxy = Some(nowhere);
    assert_eq!(shown(settings, whole_run).await.complaint(), None, "nobody goes out to reach this machine");
}

#[tokio::test]
async fn faults_are_named_and_what_was_cut_off_is_ended() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(receiver.settings(), |sink| {
        sink.on(&run(), &RunEvent::RunStarted { command: "sync".into(), sessions_before: 0 }.into());
        let failed = AgentEvent::ModelDone { fault: Some(timeout()) };
        show_session(sink, 1, &[AgentEvent::ModelAsked { model: "gpt-9".into() }, failed]);
        let outcome = SessionEnd::ExecutionError { fault: timeout() };
        sink.on(&run().session(1), &script::ended(1, outcome));
        show_session(sink, 2, &[script::tool("a", "Bash", "sleep 9")]);
        sink.on(&run().session(2), &script::ended(2, SessionEnd::Interrupted));
        sink.on(&run(), &RunEvent::Outcome(script::report(RunOutcome::Interrupted)).into());
    })
    .await;
    let chat = receiver.span("chat gpt-9");
    has(&chat, &[("error.type", "timeout"), ("gen_ai.provider.name", "openai")]);
    let status = chat.status.expect("a status");
    assert_eq!((status.code(), status.message.as_str()), (StatusCode::Error, "timeout"));
    has(&receiver.span("execute_tool Bash"), &[("error.type", "cut_off")]);
    let sessions = receiver.spans().into_iter().filter(|span| span.name == "invoke_agent native");
    let outcomes: Vec<_> =
        sessions.map(|span| (get(&span, "autonoe.outcome"), get(&span, "error.type"))).collect();
    let expected = [("execution_error", Some("timeout")), ("interrupted", None)];
    assert_eq!(outcomes, expected.map(|(a, b)| (Some(a.to_owned()), b.map(str::to_owned))));
    let whole = receiver.span("invoke_workflow sync");
    assert_eq!((whole.status.clone(), get(&whole, "autonoe.exit_code").as_deref()), (None, Some("130")));
}

#[tokio::test]
async fn agents_whose_calls_are_not_seen_report_for_the_whole_session() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(receiver.settings(), |sink| {
        show_session(
            sink,
            1,
            &[AgentEvent::Usage(usage(100, 20, Some(0.5))), AgentEvent::Usage(usage(10, 2, None))],
        );
        sink.on(&run().session(1), &script::ended(1, SessionEnd::Completed));
    })
    .await;
    let session = receiver.span("invoke_agent native");
    has(&session, &[("gen_ai.usage.input_tokens", "130"), ("gen_ai.usage.output_tokens", "22")]);
    assert_eq!(get(&session, "autonoe.cost_usd"), None, "an unknown price makes the sum unknown");
    let tokens = receiver.points("gen_ai.client.token.usage");
    assert!(tokens.iter().all(|p| p.attribute("gen_ai.operation.name").as_deref() == Some("invoke_agent")));
    assert_eq!(tokens.iter().map(|point| point.total().1).sum::<f64>(), 152.0);
}

#[tokio::test]
async fn the_end_of_a_call_that_was_not_seen_ends_nothing() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(receiver.settings(), |sink| {
        let strays = [
            AgentEvent::ModelDone { fault: None },
            script::answer("x", "Bash", "late", true, Some("policy")),
        ];
        show_session(sink, 1, &strays);
        sink.on(&run().session(1), &script::ended(1, SessionEnd::Completed));
        sink.on(&run().session(1), &script::ended(1, SessionEnd::Interrupted));
    })
    .await;
    let session = receiver.span("invoke_agent native");
    has(&session, &[("autonoe.outcome", "completed")]);
    assert_eq!((get(&session, "error.type"), get(&session, "autonoe.denied_by")), (None, None));
}

#[tokio::test]
async fn what_is_open_at_the_end_is_sent_too() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(receiver.settings(), |sink| {
        sink.on(&run(), &RunEvent::RunStarted { command: "run".into(), sessions_before: 0 }.into());
        show_session(sink, 1, &[AgentEvent::ModelAsked { model: "m".into() }]);
    })
    .await;
    assert_eq!(receiver.spans().len(), 3);
}

#[tokio::test]
async fn metrics_are_sent_now_and_then() {
    let receiver = Receiver::start(Protocol::Grpc, Manner::Takes).await;
    let settings = TelemetrySettings { metric_interval: Duration::from_millis(20), ..receiver.settings() };
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    script::many_sessions(telemetry.sink().as_ref(), 1);
    while receiver.got(|got| got.metrics.len()) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(receiver.points("gen_ai.invoke_agent.duration")[0].total().0, 1, "totals, not differences");
    telemetry.shutdown(LIMIT).await;
}

#[tokio::test]
async fn a_trace_that_is_not_sampled_is_still_counted() {
    for sampler in [Sampler::AlwaysOff, Sampler::Ratio(0.0)] {
        let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
        let telemetry = shown(TelemetrySettings { sampler, ..receiver.settings() }, whole_run).await;
        assert_eq!(receiver.spans(), []);
        assert_eq!(telemetry.dropped(), 0);
        the_numbers_are_right(&receiver);
    }
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    let sampler = Sampler::Ratio(1.0);
    shown(TelemetrySettings { sampler, ..receiver.settings() }, whole_run).await;
    assert_eq!(receiver.spans().len(), 6);
}

#[test]
fn a_ratio_takes_its_part_of_all_traces() {
    let spread = |n: u64| u128::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let taken = (0..10_000).filter(|n| Sampler::Ratio(0.25).takes(spread(*n))).count();
    assert!((2_300..2_700).contains(&taken), "{taken}");
}

#[tokio::test]
async fn each_signal_can_be_off() {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(TelemetrySettings { metrics: None, ..receiver.settings() }, whole_run).await;
    assert_eq!(receiver.got(|got| (got.traces.len(), got.metrics.len())), (1, 0));

    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    shown(TelemetrySettings { traces: None, ..receiver.settings() }, whole_run).await;
    assert_eq!(receiver.got(|got| (got.traces.len(), got.metrics.len())), (0, 1));
}

#[test]
fn nothing_is_started_when_it_is_off() {
    let off = Telemetry::from_settings(TelemetrySettings::default());
    assert!(off.expect("no runtime is needed").is_none());
}

#[test]
fn without_a_runtime_it_is_a_fault() {
    let base = "http://localhost:4318".parse().expect("an address");
    let on = Telemetry::from_settings(crate::receiver::settings(&base, Protocol::HttpJson));
    assert_eq!(on.expect_err("no runtime").code, "telemetry");
}
