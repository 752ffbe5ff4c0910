//! The edges of the graph, reachable steps, and steps without an exit.

use serde_json::json;

use super::{Edge, EdgeKind, edges, reachable, steps_without_exit};
use crate::samples::{good, of_steps};

fn outgoing(edges: &[Edge], from: &str) -> Vec<(String, String, EdgeKind)> {
    let to = |edge: &Edge| edge.to.clone().unwrap_or_else(|| "the end".to_owned());
    let of = edges.iter().filter(|edge| edge.from == from);
    of.map(|edge| (to(edge), edge.label.clone(), edge.kind)).collect()
}

fn edge(to: &str, label: &str, kind: EdgeKind) -> (String, String, EdgeKind) {
    (to.to_owned(), label.to_owned(), kind)
}

#[test]
fn every_transition_of_a_step_has_an_edge_with_its_label() {
    let edges = edges(&good());
    assert_eq!(outgoing(&edges, "plan"), [edge("build", "", EdgeKind::Next)]);
    assert_eq!(
        outgoing(&edges, "build"),
        [
            edge("polish", "pass", EdgeKind::Pass),
            edge("build", "fail: 2 retries", EdgeKind::Retry),
            edge("repair", "after 2 retries", EdgeKind::Fallback),
            edge("help", "escalates", EdgeKind::Escalation),
        ]
    );
    assert_eq!(
        outgoing(&edges, "review"),
        [
            edge("build", "verdict = bad", EdgeKind::Branch),
            edge("the end", "verdict = good", EdgeKind::Branch)
        ]
    );
}

/// SubStep契約: subSteps を順番に実行
#[test]
fn sub_steps_are_chained_and_the_last_one_has_the_exits_of_its_parent() {
    let edges = edges(&good());
    assert_eq!(outgoing(&edges, "polish"), [edge("format", "first", EdgeKind::SubStep)]);
    assert_eq!(outgoing(&edges, "format"), [edge("lint", "", EdgeKind::SubStep)]);
    assert_eq!(
        outgoing(&edges, "lint"),
        [edge("lint", "fail: 3 retries", EdgeKind::Retry), edge("review", "", EdgeKind::Next)]
    );
}

/// エスカレーション契約: returnFlow
#[test]
fn a_step_that_was_escalated_to_returns_instead_of_ending() {
    assert_eq!(outgoing(&edges(&good()), "help"), [edge("build", "returns: resume", EdgeKind::Return)]);
    let escalating = |flow: &str, to: &str| {
        of_steps(
            json!({}),
            json!({
                "a": { "prompt": "plan.md", "next": "b" },
                "b": { "prompt": "plan.md", "escalation": { "escalateTo": to, "returnFlow": flow } },
                "c": { "prompt": "plan.md" },
            }),
        )
    };
    assert_eq!(
        outgoing(&edges(&escalating("abort", "c")), "c"),
        [edge("the end", "returns: abort", EdgeKind::Return)]
    );
    assert_eq!(
        outgoing(&edges(&escalating("restart", "c")), "c"),
        [edge("a", "returns: restart", EdgeKind::Return)]
    );
    let by_webhook = edges(&escalating("abort", "https://example.com/x"));
    assert!(outgoing(&by_webhook, "b").contains(&edge("the end", "escalated: abort", EdgeKind::Abort)));
    assert!(
        outgoing(&by_webhook, "c").contains(&edge("the end", "", EdgeKind::Next)),
        "nothing escalates to c"
    );
}

#[test]
fn a_transition_can_complete_the_agent_or_skip_a_step() {
    let definition = of_steps(
        json!({}),
        json!({
            "a": {
                "prompt": "plan.md",
                "next": "b",
                "check": {
                    "type": "keyword", "keywords": ["X"],
                    "onPass": { "complete": true },
                    "onFail": { "retry": { "maxRetries": 1, "onExhausted": "skip" } },
                },
            },
            "b": { "prompt": "plan.md", "check": { "type": "keyword", "keywords": ["X"], "onFail": { "retry": false } } },
        }),
    );
    let edges = edges(&definition);
    assert_eq!(
        outgoing(&edges, "a"),
        [
            edge("the end", "pass: complete", EdgeKind::Complete),
            edge("a", "fail: 1 retry", EdgeKind::Retry),
            edge("b", "after 1 retry: skip", EdgeKind::Skip),
        ]
    );
    assert_eq!(outgoing(&edges, "b"), [edge("the end", "pass", EdgeKind::Next)]);
}

#[test]
fn a_step_without_incoming_edges_is_unreachable() {
    let definition = of_steps(
        json!({}),
        json!({
            "a": { "prompt": "plan.md", "next": "b" },
            "b": { "prompt": "plan.md" },
            "c": { "prompt": "plan.md", "next": "a" },
        }),
    );
    assert_eq!(reachable(&definition).into_iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(reachable(&good()).len(), good().steps.steps.len());
}

/// StepTransitionContract: ループ（A→B→A）は許可するが、訪問回数を記録する
#[test]
fn a_cycle_is_allowed_and_its_exit_is_found() {
    assert!(steps_without_exit(&good()).is_empty());
    let cycle = |b: serde_json::Value| {
        of_steps(json!({}), json!({ "a": { "prompt": "plan.md", "next": "b" }, "b": b }))
    };
    assert_eq!(steps_without_exit(&cycle(json!({ "prompt": "plan.md", "next": "a" }))), ["a", "b"]);
    let checked = json!({ "prompt": "plan.md", "check": { "type": "keyword", "keywords": ["X"], "onPass": { "next": "a" } } });
    assert_eq!(steps_without_exit(&cycle(checked)), ["a", "b"], "a retry is not an exit");
    let complete = json!({ "prompt": "plan.md", "check": { "type": "keyword", "keywords": ["X"],
        "onPass": { "complete": true }, "onFail": { "next": "a" } } });
    assert!(steps_without_exit(&cycle(complete)).is_empty());
    let escalating =
        json!({ "prompt": "plan.md", "next": "a", "escalation": { "escalateTo": "https://example.com" } });
    assert_eq!(steps_without_exit(&cycle(escalating)), ["a", "b"], "an escalation is not an exit");
}
