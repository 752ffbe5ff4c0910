//! Content is sent only if the user opted in, and without secrets.

use autonoe_core::event::AgentEvent;
use autonoe_core::outcome::SessionEnd;
use autonoe_telemetry::{Protocol, Telemetry, TelemetrySettings};

use crate::exported_run::LIMIT;
use crate::fake_collector::{CollectorBehavior, FakeCollector, attribute};
use crate::sample_events::{self, CONTENT, run, sample_run, show_session, timeout};

async fn export(capture_content: bool, show: impl FnOnce(&dyn autonoe_core::sink::Sink)) -> FakeCollector {
    let fake_collector = FakeCollector::start(Protocol::HttpProtobuf, CollectorBehavior::Accepts).await;
    let secrets = vec!["hunter2hunter2".to_owned()].into();
    let settings = TelemetrySettings { capture_content, secrets, ..fake_collector.settings() };
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    show(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    fake_collector
}

fn run_with_a_fault(sink: &dyn autonoe_core::sink::Sink) {
    sample_run(sink);
    show_session(
        sink,
        4,
        &[
            AgentEvent::ModelCallStarted { model: "m".into() },
            AgentEvent::ModelCallEnded { fault: Some(timeout()) },
        ],
    );
    sink.on(&run().session(4), &sample_events::ended(4, SessionEnd::ExecutionError { fault: timeout() }));
}

#[tokio::test]
async fn content_is_not_sent_by_default() {
    let fake_collector = export(false, run_with_a_fault).await;
    fake_collector.received(|received| {
        assert!(!received.bodies.is_empty());
        for body in &received.bodies {
            let body = String::from_utf8_lossy(body);
            for word in CONTENT {
                assert!(!body.contains(word), "{word}");
            }
        }
    });
}

#[tokio::test]
async fn captured_content_is_redacted() {
    let fake_collector = export(true, run_with_a_fault).await;
    let get =
        |span: &str, key: &str| attribute(&fake_collector.span(span).attributes, key).unwrap_or_default();
    assert_eq!(get("execute_tool Bash", "gen_ai.tool.call.arguments"), r#"{"command":"cat notes.txt"}"#);
    assert_eq!(get("execute_tool Bash", "gen_ai.tool.call.result"), "the notes say [redacted]");
    let messages: serde_json::Value =
        serde_json::from_str(&get("chat claude-sonnet-5", "gen_ai.output.messages")).expect("json");
    assert_eq!(messages[0]["role"], "assistant");
    assert_eq!(messages[0]["parts"][0]["type"], "reasoning");
    assert_eq!(messages[0]["parts"][1]["content"], "I will look first");
    let status = fake_collector.span("chat m").status.expect("a status");
    assert_eq!(status.message, "timeout: The provider said: the notes say too late.");
    let sessions = fake_collector.spans().into_iter().filter(|span| span.name == "invoke_agent native");
    let instructions: Vec<_> =
        sessions.filter_map(|span| attribute(&span.attributes, "gen_ai.input.messages")).collect();
    assert!(instructions[0].contains("build the parser"));
    fake_collector.received(|received| {
        assert!(received.bodies.iter().all(|body| !String::from_utf8_lossy(body).contains("hunter2hunter2")));
    });
}

#[tokio::test]
async fn long_content_is_cut_and_the_cut_characters_are_counted() {
    let fake_collector = export(true, |sink| {
        show_session(
            sink,
            1,
            &[
                sample_events::tool("a", "Bash", "x"),
                sample_events::tool_result("a", "Bash", &"ä".repeat(20_000), false, None),
            ],
        );
    })
    .await;
    let span = fake_collector.span("execute_tool Bash");
    let arguments = attribute(&span.attributes, "gen_ai.tool.call.arguments").expect("arguments");
    let result = attribute(&span.attributes, "gen_ai.tool.call.result").expect("a result");
    let kept = arguments.chars().count() + result.chars().count();
    assert_eq!(kept, 16_384);
    let cut = attribute(&span.attributes, "autonoe.content.characters_cut").expect("an attribute");
    assert_eq!(cut, (20_000 + arguments.len() - kept).to_string());
}
