//! エスカレーション契約

use autonoe_core::event::RunEvent;
use serde_json::{Value, json};

use crate::run_fixture::{
    FinishedRun, RunFixture, ScriptedReply, SessionRequest, build_agent, definition, says,
};

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

async fn run_agent(
    escalation: Value,
    reply: impl Fn(usize, &SessionRequest) -> ScriptedReply + Send + Sync + 'static,
) -> (FinishedRun, RunFixture) {
    let mut steps = steps(escalation.clone());
    if escalation["escalateTo"] != "helper" {
        steps["steps"].as_object_mut().unwrap().remove("helper");
    }
    let (_dir, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let fixture = RunFixture::new(reply);
    (fixture.run(build_agent(definition, &[]).unwrap()).await, fixture)
}

/// The step `work` fails this many times, then succeeds.
fn good_after(tries: usize) -> impl Fn(usize, &SessionRequest) -> ScriptedReply + Send + Sync {
    let count = std::sync::atomic::AtomicUsize::new(0);
    move |_, request| {
        if request.step == "work" {
            let before = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return says(if before >= tries { "GOOD" } else { "bad" });
        }
        says("ok")
    }
}

/// エスカレーション契約: `in_agent: 別のステップにジャンプ`, `resume: エスカレーション後、元のステップに戻る`
#[tokio::test]
async fn another_step_helps_and_the_escalating_step_resumes() {
    for escalation in [
        json!({ "escalateTo": "helper" }),
        json!({ "escalateTo": "helper", "notificationMethod": "in_agent", "returnFlow": "resume" }),
    ] {
        let (finished, fixture) = run_agent(escalation, good_after(1)).await;
        assert!(finished.result.success, "{:?}", finished.report.outcome);
        assert_eq!(finished.path(), ["first", "helper", "work", "after"]);
        assert!(
            fixture
                .events()
                .iter()
                .any(|event| matches!(event, RunEvent::Escalated { to, .. } if to == "helper"))
        );
    }
}

#[tokio::test]
async fn a_helping_step_may_escalate_too() {
    let fails = json!({ "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": false } });
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "check": fails, "escalation": { "escalateTo": "helper" } },
        "helper": { "prompt": "work.md", "check": fails, "escalation": { "escalateTo": "expert" } },
        "expert": { "prompt": "work.md" },
    } });
    let (_dir, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let fixture = RunFixture::new(|number, _| says(if number >= 3 { "GOOD" } else { "bad" }));
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(finished.result.success, "{:?}", finished.report.outcome);
    assert_eq!(finished.path(), ["expert", "helper", "work"]);
    assert_eq!(fixture.events(), fixture.recorded_events(), "every published event is on record");
}

/// エスカレーション契約: `restart: エスカレーション後、最初から再実行`
#[tokio::test]
async fn the_agent_starts_over_after_help() {
    let (finished, _) =
        run_agent(json!({ "escalateTo": "helper", "returnFlow": "restart" }), good_after(1)).await;
    assert_eq!(finished.path(), ["first", "helper", "first", "work", "after"]);
}

/// エスカレーション契約: `abort: エスカレーション後、エージェント終了`
#[tokio::test]
async fn the_agent_ends_after_help() {
    let (finished, _) =
        run_agent(json!({ "escalateTo": "helper", "returnFlow": "abort" }), good_after(1)).await;
    assert_eq!((finished.code(), finished.report.exit_code), ("escalated", 7));
    assert_eq!(finished.path(), ["first", "helper"]);
}

/// エスカレーション契約: `webhook: 外部サービスに通知`
#[tokio::test]
async fn a_webhook_is_notified_and_the_agent_ends_or_resumes() {
    let address = "https://example.org/hook?token=x";
    let (finished, fixture) = run_agent(json!({ "escalateTo": address }), good_after(1)).await;
    assert_eq!(finished.code(), "escalated", "a notification ends the agent by default");
    let messages = fixture.host().messages.lock().unwrap().clone();
    assert_eq!(messages.len(), 1);
    assert_eq!((messages[0].url.as_str(), &messages[0].body["step"]), (address, &json!("work")));
    assert!(!finished.report.outcome.fault().unwrap().message.contains("token"));

    let (finished, fixture) =
        run_agent(json!({ "escalateTo": address, "returnFlow": "resume" }), good_after(2)).await;
    assert!(finished.result.success);
    assert_eq!(fixture.host().messages.lock().unwrap().len(), 2);
}

/// エスカレーション契約: `log: ログ出力のみ`
#[tokio::test]
async fn an_escalation_to_the_log_is_an_event() {
    let (finished, fixture) =
        run_agent(json!({ "escalateTo": "the team", "returnFlow": "resume" }), good_after(1)).await;
    assert!(finished.result.success);
    assert!(
        fixture
            .events()
            .iter()
            .any(|event| matches!(event, RunEvent::Escalated { to, .. } if to == "the team"))
    );
    assert!(fixture.host().messages.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_number_of_escalations_is_limited() {
    let escalation = json!({ "escalateTo": "helper", "maxTimes": 2 });
    let (finished, fixture) = run_agent(escalation, |_, _| says("bad")).await;
    assert_eq!(finished.code(), "step_retry_exhausted");
    let calls = fixture.events().iter().filter(|event| matches!(event, RunEvent::Escalated { .. })).count();
    assert_eq!(calls, 2);
}

/// A webhook that does not answer is a fault, and the run can be resumed: then the webhook is notified again.
#[tokio::test]
async fn a_webhook_that_cannot_be_notified_ends_the_run_and_is_retried_on_resume() {
    let (_dir, definition) = definition(
        json!({}),
        {
            let mut steps = steps(json!({ "escalateTo": "https://example.org/", "returnFlow": "resume" }));
            steps["steps"].as_object_mut().unwrap().remove("helper");
            steps
        },
        &[("work.md", "Work.")],
    );
    let fixture = RunFixture::new(good_after(1));
    *fixture.host().notify_fault.lock().unwrap() =
        Some(autonoe_workflow::faults::NOT_NOTIFIED.fault("It does not answer."));
    let finished = fixture.run(build_agent(definition.clone(), &[]).unwrap()).await;
    assert_eq!(finished.code(), "not_notified");
    assert_eq!(fixture.requests().len(), 2);
    *fixture.host().notify_fault.lock().unwrap() = None;
    let finished = fixture.run_or_resume(build_agent(definition, &[]).unwrap(), true).await.unwrap();
    assert!(finished.result.success, "{:?}", finished.report.outcome);
    assert_eq!(
        fixture.requests().len(),
        4,
        "the failed step does not run again before the webhook is notified"
    );
}
