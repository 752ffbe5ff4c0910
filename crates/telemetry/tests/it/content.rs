//! Content goes out only for those who ask for it, and without secrets.

use autonoe_core::event::AgentEvent;
use autonoe_core::outcome::SessionEnd;
use autonoe_telemetry::{Protocol, Telemetry, TelemetrySettings};

use crate::arrives::LIMIT;
use crate::receiver::{Manner, Receiver, attribute};
use crate::script::{self, WORDS, run, show_session, timeout, whole_run};

async fn received(capture_content: bool, show: impl FnOnce(&dyn autonoe_core::sink::Sink)) -> Receiver {
    let receiver = Receiver::start(Protocol::HttpProtobuf, Manner::Takes).await;
    let secrets = vec!["hunter2hunter2".to_owned()];
    let settings = TelemetrySettings { capture_content, secrets, ..receiver.settings() };
    let telemetry = Telemetry::from_settings(settings).expect("settings").expect("on");
    show(telemetry.sink().as_ref());
    telemetry.shutdown(LIMIT).await;
    receiver
}

fn with_a_fault(sink: &dyn autonoe_core::sink::Sink) {
    whole_run(sink);
    show_session(
        sink,
        4,
        &[AgentEvent::ModelAsked { model: "m".into() }, AgentEvent::ModelDone { fault: Some(timeout()) }],
    );
    sink.on(&run().session(4), &script::ended(4, SessionEnd::ExecutionError { fault: timeout() }));
}

#[tokio::test]
async fn content_stays_here_unless_it_is_asked_for() {
    let receiver = received(false, with_a_fault).await;
    receiver.got(|got| {
        assert!(!got.bodies.is_empty());
        for body in &got.bodies {
            let body = String::from_utf8_lossy(body);
            for word in WORDS {
                assert!(!body.contains(word), "{word}");
            }
        }
    });
}

#[tokio::test]
async fn content_that_is_asked_for_comes_without_secrets() {
    let receiver = received(true, with_a_fault).await;
    let get = |span: &str, key: &str| attribute(&receiver.span(span).attributes, key).unwrap_or_default();
    assert_eq!(get("execute_tool Bash", "gen_ai.tool.call.arguments"), r#"{"command":"cat notes.txt"}"#);
    assert_eq!(get("execute_tool Bash", "gen_ai.tool.call.result"), "the notes say [redacted]");
    let said: serde_json::Value =
        serde_json::from_str(&get("chat claude-sonnet-5", "gen_ai.output.messages")).expect("json");
    assert_eq!(said[0]["role"], "assistant");
    assert_eq!(said[0]["parts"][0]["type"], "reasoning");
    assert_eq!(said[0]["parts"][1]["content"], "I will look first");
    let status = receiver.span("chat m").status.expect("a status");
    assert_eq!(status.message, "timeout: The provider said: the notes say too late.");
    let sessions = receiver.spans().into_iter().filter(|span| span.name == "invoke_agent native");
    let told: Vec<_> =
        sessions.filter_map(|span| attribute(&span.attributes, "gen_ai.input.messages")).collect();
    assert!(told[0].contains("build the parser"));
    receiver.got(|got| {
        assert!(got.bodies.iter().all(|body| !String::from_utf8_lossy(body).contains("hunter2hunter2")));
    });
}

#[tokio::test]
async fn long_content_is_cut_and_says_by_how_much() {
    let receiver = received(true, |sink| {
        show_session(
            sink,
            1,
            &[script::tool("a", "Bash", "x"), script::answer("a", "Bash", &"ä".repeat(20_000), false, None)],
        );
    })
    .await;
    let span = receiver.span("execute_tool Bash");
    let arguments = attribute(&span.attributes, "gen_ai.tool.call.arguments").expect("arguments");
    let result = attribute(&span.attributes, "gen_ai.tool.call.result").expect("a result");
    let kept = arguments.chars().count() + result.chars().count();
    assert_eq!(kept, 16_384);
    let cut = attribute(&span.attributes, "autonoe.content.characters_cut").expect("said");
    assert_eq!(cut, (20_000 + arguments.len() - kept).to_string());
}
