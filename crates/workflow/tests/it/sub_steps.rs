//! SubStep契約

use serde_json::{Value, json};

use crate::stage::{Played, Stage, created, definition, says};

async fn play(steps: Value, stage: &Stage) -> Played {
    let prompts = [("work.md", "Parent."), ("one.md", "One."), ("two.md", "Two."), ("after.md", "After.")];
    let (_place, definition) = definition(json!({}), json!({ "steps": steps }), &prompts);
    stage.play(created(definition, &[]).unwrap()).await
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
async fn parts_are_run_in_order_and_the_whole_is_done_when_all_are() {
    let stage = Stage::saying(vec![says("YES")]);
    let played = play(steps(json!({ "type": "keyword", "keywords": ["YES"] })), &stage).await;
    assert!(played.result.success);
    let asked: Vec<String> = stage.asked().into_iter().map(|asked| asked.step).collect();
    assert_eq!(asked, ["work", "one", "two", "after"]);
    assert_eq!(played.path(), ["one", "two", "work", "after"]);
}

/// SubStep契約: `親ステップの失敗: いずれかの subSteps 失敗で失敗`
#[tokio::test]
async fn the_whole_fails_when_one_part_does() {
    let stage = Stage::saying(vec![says("no")]);
    let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 1 } } });
    let played = play(steps(check), &stage).await;
    assert_eq!(played.code(), "step_retry_exhausted");
    let message = &played.report.outcome.fault().unwrap().message;
    assert!(message.contains("'work'") && message.contains("'two'"), "{message}");
    assert!(stage.asked().iter().all(|asked| asked.step != "after"));
}

#[tokio::test]
async fn a_part_that_may_be_skipped_does_not_fail_the_whole() {
    let stage = Stage::saying(vec![says("no")]);
    let check = json!({ "type": "keyword", "keywords": ["YES"],
        "onFail": { "retry": { "maxRetries": 0, "onExhausted": "skip" } } });
    let played = play(steps(check), &stage).await;
    assert!(played.result.success);
    assert_eq!(played.path(), ["one", "two", "work", "after"]);
}

#[tokio::test]
async fn a_whole_that_does_not_pass_is_tried_again_with_all_its_parts() {
    let steps = json!({
        "work": { "subSteps": ["one", "two"], "check": {
            "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 1 } },
        } },
        "one": { "type": "subStep", "prompt": "one.md" },
        "two": { "type": "subStep", "prompt": "two.md" },
    });
    let stage = Stage::new(|number, _| says(if number == 3 { "YES" } else { "no" }));
    let played = play(steps, &stage).await;
    assert!(played.result.success);
    let asked: Vec<String> = stage.asked().into_iter().map(|asked| asked.step).collect();
    assert_eq!(asked, ["one", "two", "one", "two"]);
}
