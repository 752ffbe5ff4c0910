//! Answers of the MCP server, message by message.

use autonoe_core::instruction::Phase;
use autonoe_deliverables::{answer_message, spec};
use serde_json::{Value, json};

use crate::support::ServiceFixture;

async fn ask(fixture: &ServiceFixture, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": "an id", "method": method, "params": params });
    let answer = answer_message(&fixture.service, &message).await.expect("an answer");
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("an id")));
    answer
}

#[tokio::test]
async fn the_requested_version_is_used_if_it_is_supported() {
    let fixture = ServiceFixture::new(Phase::Coding).await;
    for (requested, used) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2999-01-01"), "2025-11-25"),
        (Value::Null, "2025-11-25"),
    ] {
        let result =
            ask(&fixture, "initialize", json!({ "protocolVersion": requested })).await["result"].take();
        assert_eq!(result["protocolVersion"], used, "{requested}");
        assert_eq!(result["serverInfo"]["name"], "autonoe");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
    }
}

#[tokio::test]
async fn the_services_own_phase_decides_which_tools_are_listed() {
    let fixture = ServiceFixture::new(Phase::Coding).await;
    for phase in Phase::ALL {
        fixture.service.enter(phase);
        let listed = ask(&fixture, "tools/list", json!({ "phase": "sync" })).await["result"]["tools"].take();
        let expected: Vec<Value> = phase
            .tools()
            .iter()
            .map(|tool| spec(*tool, phase))
            .map(|spec| json!({ "name": spec.name, "description": spec.description, "inputSchema": spec.input_schema }))
            .collect();
        assert_eq!(listed, json!(expected), "{phase}");
    }
}

#[tokio::test]
async fn notifications_get_no_answer_and_unknown_methods_an_error() {
    let fixture = ServiceFixture::new(Phase::Coding).await;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(answer_message(&fixture.service, &initialized).await, None);
    assert_eq!(ask(&fixture, "ping", Value::Null).await["result"], json!({}));
    for method in ["resources/list", "server/discover", ""] {
        let answer = ask(&fixture, method, json!({})).await;
        assert_eq!((&answer["error"]["code"], answer.get("result")), (&json!(-32601), None), "{answer}");
    }
}
