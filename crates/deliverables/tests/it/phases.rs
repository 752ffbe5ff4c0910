//! Which tools exist in which phase, and the answer to a call of any other.

use autonoe_core::instruction::DeliverableTool::{Create, Deprecate, List, Review, SetStatus, Verify};
use autonoe_core::instruction::{DeliverableTool, Phase};
use autonoe_deliverables::{MCP_PREFIX, answer_message, tools_for};
use autonoe_tools::ToolContext;
use serde_json::{Value, json};

use crate::support::{ServiceFixture, deliverable};

const OFFERED: [(Phase, &[DeliverableTool]); 5] = [
    (Phase::Initializer, &[Create]),
    (Phase::Coding, &[SetStatus, List]),
    (Phase::Sync, &[Create, Deprecate, List]),
    (Phase::Verify, &[SetStatus, Verify, List]),
    (Phase::Review, &[Review, List]),
];

fn arguments(tool: DeliverableTool) -> Value {
    match tool {
        Create => json!({ "deliverables": [deliverable("B")] }),
        SetStatus => json!({ "deliverableId": "A", "status": "passed" }),
        Deprecate | Verify => json!({ "deliverableId": "A" }),
        List => json!({}),
        Review => json!({ "deliverableId": "A", "holds": true, "reason": "I have checked it." }),
    }
}

#[tokio::test]
async fn each_phase_offers_only_its_own_tools() {
    for (phase, offered) in OFFERED {
        for tool in DeliverableTool::ALL {
            let fixture = ServiceFixture::with(phase, &["A"]).await;
            if tool == Review && offered.contains(&tool) {
                // It is offered, but only a run accepts reviews.
                let (message, code) = fixture.refused(tool.name(), arguments(tool)).await;
                assert_eq!(
                    (message.as_str(), code.as_str()),
                    ("Reviews are only accepted during a run", "VALIDATION_ERROR")
                );
                continue;
            }
            if offered.contains(&tool) {
                fixture.done(tool.name(), arguments(tool)).await;
                continue;
            }
            let (message, code) = fixture.refused(tool.name(), arguments(tool)).await;
            assert_eq!(code, "NOT_AVAILABLE", "{tool:?} in {phase}");
            let names: Vec<&str> = offered.iter().map(|tool| tool.name()).collect();
            let wanted = format!(
                "Tool {} is not available in the {phase} phase; available: {}",
                tool.name(),
                names.join(", ")
            );
            assert_eq!(message, wanted);
        }
    }
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_not_available_in_any_phase() {
    for phase in Phase::ALL {
        let fixture = ServiceFixture::with(phase, &["A"]).await;
        for tool in ["", "delete", "Create", "mcp__autonoe__list", "set-status"] {
            assert_eq!(fixture.refused(tool, json!({})).await.1, "NOT_AVAILABLE", "{tool:?} in {phase}");
        }
    }
}

#[tokio::test]
async fn entering_a_phase_changes_the_tools_at_once() {
    let fixture = ServiceFixture::with(Phase::Coding, &["A"]).await;
    assert_eq!(fixture.refused("verify", arguments(Verify)).await.1, "NOT_AVAILABLE");
    fixture.service.enter(Phase::Verify);
    fixture.done("verify", arguments(Verify)).await;
    fixture.service.enter(Phase::Coding);
    assert_eq!(fixture.refused("verify", arguments(Verify)).await.1, "NOT_AVAILABLE");
}

#[tokio::test]
async fn the_native_agent_gets_the_same_tools_under_their_mcp_names() {
    assert_eq!(MCP_PREFIX, "mcp__autonoe__");
    for (phase, offered) in OFFERED {
        let fixture = ServiceFixture::with(phase, &["A"]).await;
        let tools = tools_for(phase, &fixture.service);
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name).collect();
        let wanted: Vec<String> =
            offered.iter().map(|tool| format!("mcp__autonoe__{}", tool.name())).collect();
        assert_eq!(names, wanted, "{phase}");
        for (tool, which) in tools.iter().zip(offered) {
            let output = tool.call(arguments(*which), &ToolContext::default()).await;
            // Reviews are only accepted during a run.
            assert_eq!(output.is_error(), *which == Review, "{which:?} in {phase}: {}", output.output);
            let output = tool.call(json!({ "filter": 1, "status": 1 }), &ToolContext::default()).await;
            assert!(output.is_error(), "{which:?} in {phase}: {}", output.output);
            assert!(output.output.contains("VALIDATION_ERROR"), "{}", output.output);
        }
    }
}

#[tokio::test]
async fn the_service_knows_whether_a_client_has_requested_the_tools_of_a_phase() {
    let fixture = ServiceFixture::with(Phase::Coding, &["A"]).await;
    let service = &fixture.service;
    let ask =
        |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "list" } });
    for method in ["tools/list", "tools/call"] {
        service.enter(Phase::Coding);
        assert!(!service.has_been_loaded(), "only in an earlier phase, if at all");
        answer_message(service, &ask("initialize")).await;
        answer_message(service, &ask("ping")).await;
        assert!(!service.has_been_loaded(), "only initialized so far");
        let request = ask(method);
        let (_, ()) = tokio::join!(answer_message(service, &request), service.loaded());
        assert!(service.has_been_loaded(), "{method}");
    }
    service.enter(Phase::Step);
    assert!(service.has_been_loaded(), "there are no tools");
    service.loaded().await;
}
