//! Where steps lead, how they are tried again, and whom they call for help.

use serde_json::{Value, json};

use super::{Row, errors, fine, warnings};
use crate::samples::patched;

fn build(over: Value, path: &'static str, words: &'static str) -> Row {
    (json!({}), json!({ "steps": { "build": over } }), "steps.json", path, words)
}

fn on_pass(over: Value, path: &'static str, words: &'static str) -> Row {
    build(json!({ "check": { "onPass": over } }), path, words)
}

fn on_fail(over: Value, path: &'static str, words: &'static str) -> Row {
    build(json!({ "check": { "onFail": over } }), path, words)
}

/// StepTransitionContract: next で指定されたステップは registry.steps に存在すること
#[test]
fn every_step_that_is_led_to_exists() {
    errors(vec![
        build(json!({ "next": "x" }), "$.steps.build.next", "no step of this name"),
        on_pass(json!({ "next": "x" }), "$.steps.build.check.onPass.next", "no step of this name"),
        on_fail(
            json!({ "retry": null, "next": "x" }),
            "$.steps.build.check.onFail.next",
            "no step of this name",
        ),
        on_fail(
            json!({ "retry": { "fallbackStep": "x" } }),
            "$.steps.build.check.onFail.retry.fallbackStep",
            "no step of this name",
        ),
    ]);
}

#[test]
fn a_transition_leads_to_exactly_one_place() {
    errors(vec![
        on_pass(json!({ "next": null }), "$.steps.build.check.onPass", "leads nowhere"),
        on_pass(json!({ "complete": true }), "$.steps.build.check.onPass", "more than one place"),
        on_fail(json!({ "next": "plan" }), "$.steps.build.check.onFail", "more than one place"),
        on_pass(
            json!({ "next": null, "retry": true }),
            "$.steps.build.check.onPass.retry",
            "is not tried again",
        ),
    ]);
}

/// Retry Policy契約: fallbackStep: onExhausted="fallback" のとき必須
#[test]
fn a_fallback_needs_its_step() {
    errors(vec![
        on_fail(
            json!({ "retry": { "fallbackStep": null } }),
            "$.steps.build.check.onFail.retry.fallbackStep",
            "needs the step",
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
    warnings(vec![(json!({}), steps, "steps.json", path, "never gone to")]);
}

#[test]
fn a_failed_check_may_end_the_step_at_once() {
    let mut steps = json!({ "steps": { "build": { "check": { "onFail": null } } } });
    steps["steps"]["plan"] =
        json!({ "check": { "type": "keyword", "keywords": ["X"], "onFail": { "next": "repair" } } });
    fine(&patched(json!({}), steps.clone()));
    steps["steps"]["repair"] =
        json!({ "check": { "type": "keyword", "keywords": ["X"], "onFail": { "retry": false } } });
    fine(&patched(json!({}), steps));
}

/// エスカレーション契約: in_agent: 別のステップにジャンプ; webhook: 外部サービスに通知
#[test]
fn who_is_called_for_help_can_be_called() {
    let call = |over: Value, words| {
        let mut steps = json!({ "steps": { "build": { "escalation": over } } });
        steps["steps"]["help"] = Value::Null;
        (json!({}), steps, "steps.json", "$.steps.build.escalation.escalateTo", words)
    };
    errors(vec![
        call(json!({ "escalateTo": "build" }), "cannot call itself"),
        call(json!({ "escalateTo": "nobody", "notificationMethod": "in_agent" }), "no step of this name"),
        call(json!({ "escalateTo": "plan", "notificationMethod": "webhook" }), "relative URL"),
        call(json!({ "escalateTo": "http://example.com/x" }), "must be reached by https"),
        call(json!({ "escalateTo": "http://localhost.example.com/x" }), "must be reached by https"),
        call(json!({ "escalateTo": "ftp://example.com/x" }), "ftp is not https"),
        call(json!({ "escalateTo": "https://" }), "empty host"),
        call(json!({ "escalateTo": "https://a:b@example.com" }), "a name or a password"),
        call(json!({ "escalateTo": " " }), "nobody is named"),
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
        fine(&patched(json!({}), steps));
    }
}
