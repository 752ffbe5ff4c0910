//! エスカレーション契約

use autonoe_core::event::RunEvent;
use serde_json::{Value, json};

use crate::stage::{Asked, Played, Reply, Stage, created, definition, says};

fn steps(escalation: Value) -> Value {
    json!({ "steps": {
        "first": { "prompt": "work.md", "next": "work" },
        "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 0 } } },
            "escalation": escalation,
            "next": "after",
        },
        "helper": { "prompt": "work.md" },
        "after": { "prompt": "work.md" },
    }, "entryStep": "first" })
}

async fn play(
    escalation: Value,
    reply: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static,
) -> (Played, Stage) {
    let mut steps = steps(escalation.clone());
    if escalation["escalateTo"] != "helper" {
        steps["steps"].as_object_mut().unwrap().remove("helper");
    }
    let (_place, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let stage = Stage::new(reply);
    (stage.play(created(definition, &[]).unwrap()).await, stage)
}

/// Bad at first; good once somebody has helped, or it was told once.
fn good_after(tries: usize) -> impl Fn(usize, &Asked) -> Reply + Send + Sync {
    let count = std::sync::atomic::AtomicUsize::new(0);
    move |_, asked| {
        if asked.step == "work" {
            let before = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return says(if before >= tries { "GOOD" } else { "bad" });
        }
        says("ok")
    }
}

/// エスカレーション契約: `in_agent: 別のステップにジャンプ`, `resume: エスカレーション後、元のステップに戻る`
#[tokio::test]
async fn another_step_helps_and_the_one_that_called_goes_on() {
    for escalation in [
        json!({ "escalateTo": "helper" }),
        json!({ "escalateTo": "helper", "notificationMethod": "in_agent", "returnFlow": "resume" }),
    ] {
        let (played, stage) = play(escalation, good_after(1)).await;
        assert!(played.result.success, "{:?}", played.report.outcome);
        assert_eq!(played.path(), ["first", "helper", "work", "after"]);
        assert!(
            stage
                .told()
                .iter()
                .any(|event| matches!(event, RunEvent::Escalated { to, .. } if to == "helper"))
        );
    }
}

#[tokio::test]
async fn one_who_helps_may_call_for_help_too() {
    let fails = json!({ "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": false } });
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "check": fails, "escalation": { "escalateTo": "helper" } },
        "helper": { "prompt": "work.md", "check": fails, "escalation": { "escalateTo": "expert" } },
        "expert": { "prompt": "work.md" },
    } });
    let (_place, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let stage = Stage::new(|number, _| says(if number >= 3 { "GOOD" } else { "bad" }));
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert!(played.result.success, "{:?}", played.report.outcome);
    assert_eq!(played.path(), ["expert", "helper", "work"]);
    assert_eq!(stage.told(), stage.noted(), "whatever is told is on record");
}

/// エスカレーション契約: `restart: エスカレーション後、最初から再実行`
#[tokio::test]
async fn the_agent_starts_over_after_help() {
    let (played, _) = play(json!({ "escalateTo": "helper", "returnFlow": "restart" }), good_after(1)).await;
    assert_eq!(played.path(), ["first", "helper", "first", "work", "after"]);
}

/// エスカレーション契約: `abort: エスカレーション後、エージェント終了`
#[tokio::test]
async fn the_agent_ends_after_help() {
    let (played, _) = play(json!({ "escalateTo": "helper", "returnFlow": "abort" }), good_after(1)).await;
    assert_eq!((played.code(), played.report.exit_code), ("escalated", 7));
    assert_eq!(played.path(), ["first", "helper"]);
}

/// エスカレーション契約: `webhook: 外部サービスに通知`
#[tokio::test]
async fn a_service_outside_is_told_and_the_agent_ends_or_goes_on() {
    let address = "https://example.org/hook?token=x";
    let (played, stage) = play(json!({ "escalateTo": address }), good_after(1)).await;
    assert_eq!(played.code(), "escalated", "who has only told somebody ends");
    let notices = stage.outside().notices.lock().unwrap().clone();
    assert_eq!(notices.len(), 1);
    assert_eq!((notices[0].url.as_str(), &notices[0].body["step"]), (address, &json!("work")));
    assert!(!played.report.outcome.fault().unwrap().message.contains("token"));

    let (played, stage) = play(json!({ "escalateTo": address, "returnFlow": "resume" }), good_after(2)).await;
    assert!(played.result.success);
    assert_eq!(stage.outside().notices.lock().unwrap().len(), 2);
}

/// エスカレーション契約: `log: ログ出力のみ`
#[tokio::test]
async fn what_is_only_logged_is_told_to_whoever_reads_the_log() {
    let (played, stage) =
        play(json!({ "escalateTo": "the team", "returnFlow": "resume" }), good_after(1)).await;
    assert!(played.result.success);
    assert!(
        stage.told().iter().any(|event| matches!(event, RunEvent::Escalated { to, .. } if to == "the team"))
    );
    assert!(stage.outside().notices.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_step_calls_for_help_so_often_and_no_more() {
    let escalation = json!({ "escalateTo": "helper", "maxTimes": 2 });
    let (played, stage) = play(escalation, |_, _| says("bad")).await;
    assert_eq!(played.code(), "step_retry_exhausted");
    let calls = stage.told().iter().filter(|event| matches!(event, RunEvent::Escalated { .. })).count();
    assert_eq!(calls, 2);
}

/// A webhook that never answers is a fault, and the run can be resumed: then it is told again.
#[tokio::test]
async fn a_service_that_cannot_be_told_ends_the_run_until_it_can() {
    let (_place, definition) = definition(
        json!({}),
        {
            let mut steps = steps(json!({ "escalateTo": "https://example.org/", "returnFlow": "resume" }));
            steps["steps"].as_object_mut().unwrap().remove("helper");
            steps
        },
        &[("work.md", "Work.")],
    );
    let stage = Stage::new(good_after(1));
    *stage.outside().refuses.lock().unwrap() =
        Some(autonoe_workflow::faults::NOT_NOTIFIED.fault("It does not answer."));
    let played = stage.play(created(definition.clone(), &[]).unwrap()).await;
    assert_eq!(played.code(), "not_notified");
    assert_eq!(stage.asked().len(), 2);
    *stage.outside().refuses.lock().unwrap() = None;
    let played = stage.go(created(definition, &[]).unwrap(), true).await.unwrap();
    assert!(played.result.success, "{:?}", played.report.outcome);
    assert_eq!(stage.asked().len(), 4, "the step that had failed was not held again before it was told");
}
