//! The ways of a graph, what can be reached by them, and where none leads out.

use serde_json::json;

use super::{Edge, EdgeKind, edges, reachable, steps_without_exit};
use crate::samples::{good, of_steps};

fn ways(edges: &[Edge], from: &str) -> Vec<(String, String, EdgeKind)> {
    let to = |edge: &Edge| edge.to.clone().unwrap_or_else(|| "the end".to_owned());
    let of = edges.iter().filter(|edge| edge.from == from);
    of.map(|edge| (to(edge), edge.label.clone(), edge.kind)).collect()
}

fn way(to: &str, label: &str, kind: EdgeKind) -> (String, String, EdgeKind) {
    (to.to_owned(), label.to_owned(), kind)
}

#[test]
fn every_way_of_a_step_is_there_with_when_it_is_gone() {
    let edges = edges(&good());
    assert_eq!(ways(&edges, "plan"), [way("build", "", EdgeKind::Next)]);
    assert_eq!(
        ways(&edges, "build"),
        [
            way("polish", "pass", EdgeKind::Pass),
            way("build", "fail: 2 retries", EdgeKind::Retry),
            way("repair", "after 2 retries", EdgeKind::Fallback),
            way("help", "calls for help", EdgeKind::Escalation),
        ]
    );
    assert_eq!(
        ways(&edges, "review"),
        [way("build", "verdict = bad", EdgeKind::Branch), way("the end", "verdict = good", EdgeKind::Branch)]
    );
}

/// SubStep契約: subSteps を順番に実行
#[test]
fn sub_steps_lead_from_one_to_the_next_and_the_last_on_as_their_parent_does() {
    let edges = edges(&good());
    assert_eq!(ways(&edges, "polish"), [way("format", "first", EdgeKind::SubStep)]);
    assert_eq!(ways(&edges, "format"), [way("lint", "", EdgeKind::SubStep)]);
    assert_eq!(
        ways(&edges, "lint"),
        [way("lint", "fail: 3 retries", EdgeKind::Retry), way("review", "", EdgeKind::Next)]
    );
}

/// エスカレーション契約: returnFlow
#[test]
fn who_was_called_for_help_leads_back_and_not_to_the_end() {
    assert_eq!(ways(&edges(&good()), "help"), [way("build", "helped: resume", EdgeKind::Return)]);
    let called = |flow: &str, to: &str| {
        of_steps(
            json!({}),
            json!({
                "a": { "prompt": "plan.md", "next": "b" },
                "b": { "prompt": "plan.md", "escalation": { "escalateTo": to, "returnFlow": flow } },
                "c": { "prompt": "plan.md" },
            }),
        )
    };
    assert_eq!(ways(&edges(&called("abort", "c")), "c"), [way("the end", "helped: abort", EdgeKind::Return)]);
    assert_eq!(ways(&edges(&called("restart", "c")), "c"), [way("a", "helped: restart", EdgeKind::Return)]);
    let by_webhook = edges(&called("abort", "https://example.com/x"));
    assert!(ways(&by_webhook, "b").contains(&way("the end", "called for help: abort", EdgeKind::Abort)));
    assert!(ways(&by_webhook, "c").contains(&way("the end", "", EdgeKind::Next)), "c is not called");
}

#[test]
fn a_transition_can_end_everything_or_leave_a_step_as_it_is() {
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
        ways(&edges, "a"),
        [
            way("the end", "pass: complete", EdgeKind::Complete),
            way("a", "fail: 1 retry", EdgeKind::Retry),
            way("b", "after 1 retry: skip", EdgeKind::Skip),
        ]
    );
    assert_eq!(ways(&edges, "b"), [way("the end", "pass", EdgeKind::Next)]);
}

#[test]
fn what_no_way_leads_to_cannot_be_reached() {
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
fn a_cycle_is_allowed_and_has_an_exit_or_not() {
    assert!(steps_without_exit(&good()).is_empty());
    let cycle = |b: serde_json::Value| {
        of_steps(json!({}), json!({ "a": { "prompt": "plan.md", "next": "b" }, "b": b }))
    };
    assert_eq!(steps_without_exit(&cycle(json!({ "prompt": "plan.md", "next": "a" }))), ["a", "b"]);
    let checked = json!({ "prompt": "plan.md", "check": { "type": "keyword", "keywords": ["X"], "onPass": { "next": "a" } } });
    assert_eq!(steps_without_exit(&cycle(checked)), ["a", "b"], "neither a retry nor its end is a way out");
    let complete = json!({ "prompt": "plan.md", "check": { "type": "keyword", "keywords": ["X"],
        "onPass": { "complete": true }, "onFail": { "next": "a" } } });
    assert!(steps_without_exit(&cycle(complete)).is_empty());
    let called =
        json!({ "prompt": "plan.md", "next": "a", "escalation": { "escalateTo": "https://example.com" } });
    assert_eq!(steps_without_exit(&cycle(called)), ["a", "b"], "a call for help is no way out");
}
