//! SubStep契約

use serde_json::{Value, json};

use crate::run_fixture::{FinishedRun, RunFixture, build_agent, definition, says};

async fn run_agent(steps: Value, fixture: &RunFixture) -> FinishedRun {
    let prompts = [("work.md", "Parent."), ("one.md", "One."), ("two.md", "Two."), ("after.md", "After.")];
    let (_dir, definition) = definition(json!({}), json!({ "steps": steps }), &prompts);
    fixture.run(build_agent(definition, &[]).unwrap()).await
}

fn steps(check: Value) -> Value {
    json!({
        "work": { "prompt": "work.md", "subSteps": ["one", "two"], "sequential": true, "next": "after" },
        "one": { "type": "subStep", "prompt": "one.md" },
        "two": { "type": "subStep", "prompt": "two.md", "check": check },
        "after": { "prompt": "after.md" },
    })
}

/// SubStep契約: `subSteps を順番に実行`, `親ステップの完了: すべての subSteps 完了で完了`
#[tokio::test]
async fn sub_steps_run_in_order_and_the_parent_passes_when_all_do() {
    let fixture = RunFixture::replying(vec![says("YES")]);
    let finished = run_agent(steps(json!({ "type": "keyword", "keywords": ["YES"] })), &fixture).await;
    assert!(finished.result.success);
    let steps: Vec<String> = fixture.requests().into_iter().map(|request| request.step).collect();
    assert_eq!(steps, ["work", "one", "two", "after"]);
    assert_eq!(finished.path(), ["one", "two", "work", "after"]);
}

/// SubStep契約: `親ステップの失敗: いずれかの subSteps 失敗で失敗`
#[tokio::test]
async fn the_parent_fails_when_a_sub_step_fails() {
    let fixture = RunFixture::replying(vec![says("no")]);
    let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 1 } } });
    let finished = run_agent(steps(check), &fixture).await;
    assert_eq!(finished.code(), "step_retry_exhausted");
    let message = &finished.report.outcome.fault().unwrap().message;
    assert!(message.contains("'work'") && message.contains("'two'"), "{message}");
    assert!(fixture.requests().iter().all(|request| request.step != "after"));
}

#[tokio::test]
async fn a_skipped_sub_step_does_not_fail_the_parent() {
    let fixture = RunFixture::replying(vec![says("no")]);
    let check = json!({ "type": "keyword", "keywords": ["YES"],
        "onFail": { "retry": { "maxRetries": 0, "onExhausted": "skip" } } });
    let finished = run_agent(steps(check), &fixture).await;
    assert!(finished.result.success);
    assert_eq!(finished.path(), ["one", "two", "work", "after"]);
}

#[tokio::test]
async fn a_failed_parent_is_retried_with_all_sub_steps() {
    let steps = json!({
        "work": { "subSteps": ["one", "two"], "check": {
            "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 1 } },
        } },
        "one": { "type": "subStep", "prompt": "one.md" },
        "two": { "type": "subStep", "prompt": "two.md" },
    });
    let fixture = RunFixture::new(|number, _| says(if number == 3 { "YES" } else { "no" }));
    let finished = run_agent(steps, &fixture).await;
    assert!(finished.result.success);
    let steps: Vec<String> = fixture.requests().into_iter().map(|request| request.step).collect();
    assert_eq!(steps, ["one", "two", "one", "two"]);
}
