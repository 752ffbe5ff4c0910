//! Transitions, retries and escalations.

use serde_json::{Value, json};

use super::{ProblemRow, assert_valid, errors, warnings};
use crate::samples::patched;

fn build(over: Value, path: &'static str, words: &'static str) -> ProblemRow {
    (json!({}), json!({ "steps": { "build": over } }), "steps.json", path, words)
}

fn on_pass(over: Value, path: &'static str, words: &'static str) -> ProblemRow {
    build(json!({ "check": { "onPass": over } }), path, words)
}

fn on_fail(over: Value, path: &'static str, words: &'static str) -> ProblemRow {
    build(json!({ "check": { "onFail": over } }), path, words)
}

/// StepTransitionContract: next で指定されたステップは registry.steps に存在すること
#[test]
fn every_target_exists() {
    errors(vec![
        build(json!({ "next": "x" }), "$.steps.build.next", "no step with this name"),
        on_pass(json!({ "next": "x" }), "$.steps.build.check.onPass.next", "no step with this name"),
        on_fail(
            json!({ "retry": null, "next": "x" }),
            "$.steps.build.check.onFail.next",
            "no step with this name",
        ),
        on_fail(
            json!({ "retry": { "fallbackStep": "x" } }),
            "$.steps.build.check.onFail.retry.fallbackStep",
            "no step with this name",
        ),
    ]);
}

#[test]
fn a_transition_has_exactly_one_target() {
    errors(vec![
        on_pass(json!({ "next": null }), "$.steps.build.check.onPass", "has no target"),
        on_pass(json!({ "complete": true }), "$.steps.build.check.onPass", "more than one target"),
        on_fail(json!({ "next": "plan" }), "$.steps.build.check.onFail", "more than one target"),
        on_pass(json!({ "next": null, "retry": true }), "$.steps.build.check.onPass.retry", "is not retried"),
    ]);
}

/// Retry Policy契約: fallbackStep: onExhausted="fallback" のとき必須
#[test]
fn a_fallback_needs_its_step() {
    errors(vec![
        on_fail(
            json!({ "retry": { "fallbackStep": null } }),
            "$.steps.build.check.onFail.retry.fallbackStep",
            "needs a step",
        ),
        on_fail(
            json!({ "retry": { "maxRetries": 1001 } }),
            "$.steps.build.check.onFail.retry.maxRetries",
            "from 0 to 1000",
        ),
    ]);
    let lead = json!({ "plan": { "check": { "type": "keyword", "keywords": ["X"], "onFail": { "next": "repair" } } } });
    let mut steps = json!({ "steps": lead });
    steps["steps"]["build"] = json!({ "check": { "onFail": { "retry": { "onExhausted": "skip" } } } });
    let path = "$.steps.build.check.onFail.retry.fallbackStep";
    warnings(vec![(json!({}), steps, "steps.json", path, "never used")]);
}

#[test]
fn a_failed_check_may_end_the_step_at_once() {
    let mut steps = json!({ "steps": { "build": { "check": { "onFail": null } } } });
    steps["steps"]["plan"] =
        json!({ "check": { "type": "keyword", "keywords": ["X"], "onFail": { "next": "repair" } } });
    assert_valid(&patched(json!({}), steps.clone()));
    steps["steps"]["repair"] =
        json!({ "check": { "type": "keyword", "keywords": ["X"], "onFail": { "retry": false } } });
    assert_valid(&patched(json!({}), steps));
}

/// エスカレーション契約: in_agent: 別のステップにジャンプ; webhook: 外部サービスに通知
#[test]
fn the_target_of_an_escalation_is_valid() {
    let escalate = |over: Value, words| {
        let mut steps = json!({ "steps": { "build": { "escalation": over } } });
        steps["steps"]["help"] = Value::Null;
        (json!({}), steps, "steps.json", "$.steps.build.escalation.escalateTo", words)
    };
    errors(vec![
        escalate(json!({ "escalateTo": "build" }), "cannot escalate to itself"),
        escalate(
            json!({ "escalateTo": "nobody", "notificationMethod": "in_agent" }),
            "no step with this name",
        ),
        escalate(json!({ "escalateTo": "plan", "notificationMethod": "webhook" }), "relative URL"),
        escalate(json!({ "escalateTo": "http://example.com/x" }), "must use https"),
        escalate(json!({ "escalateTo": "http://localhost.example.com/x" }), "must use https"),
        escalate(json!({ "escalateTo": "ftp://example.com/x" }), "ftp is not https"),
        escalate(json!({ "escalateTo": "https://" }), "empty host"),
        escalate(json!({ "escalateTo": "https://a:b@example.com" }), "a user name or a password"),
        escalate(json!({ "escalateTo": " " }), "the target is blank"),
    ]);
    let many = json!({ "escalation": { "maxTimes": 101 } });
    errors(vec![build(many, "$.steps.build.escalation.maxTimes", "from 1 to 100")]);
    for to in [
        "https://example.com/x",
        "http://localhost:8080/x",
        "http://127.0.0.1/x",
        "http://[::1]/x",
        "the team",
    ] {
        let mut steps = json!({ "steps": { "build": { "escalation": { "escalateTo": to } } } });
        steps["steps"]["help"] = Value::Null;
        assert_valid(&patched(json!({}), steps));
    }
}
