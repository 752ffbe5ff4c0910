//! How an agent ends that is not done.

use autonoe_core::outcome::RunOutcome;
use serde_json::json;

use crate::stage::{Stage, created, definition, says};

#[tokio::test]
async fn iterations_that_are_used_up_are_a_limit_and_no_success() {
    let agent =
        json!({ "maxIterations": 4, "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let (_place, definition) =
        definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &[("work.md", "Work.")]);
    let stage = Stage::saying(vec![says("no")]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert_eq!(played.report.outcome, RunOutcome::MaxIterations { limit: 4 });
    assert_eq!((played.result.success, played.report.exit_code, stage.asked().len()), (false, 4, 4));
}

/// `type StepType`: `normal: 通常のプロンプト実行ステップ`
#[tokio::test]
async fn without_a_condition_an_agent_is_done_when_its_steps_are_through() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "next": "after" },
        "after": { "prompt": "work.md" },
    } });
    let (_place, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let stage = Stage::saying(vec![says("ok")]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert!(
        matches!(&played.report.outcome, RunOutcome::ConditionMet { reason } if reason.contains("through"))
    );
    assert_eq!((played.report.exit_code, stage.asked().len()), (0, 2));
}

#[tokio::test]
async fn steps_that_are_through_begin_again_while_the_condition_does_not_hold() {
    let agent = json!({ "completion": { "type": "iterationBudget", "maxIterations": 5 } });
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "next": "after" },
        "after": { "prompt": "work.md" },
    } });
    let (_place, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let stage = Stage::saying(vec![says("ok")]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    let asked: Vec<String> = stage.asked().into_iter().map(|asked| asked.step).collect();
    assert_eq!(asked, ["work", "after", "work", "after", "work"]);
    assert!(played.result.success);
}

#[tokio::test]
async fn the_report_says_where_it_is_and_what_holds() {
    let agent =
        json!({ "maxIterations": 1, "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "next": "after" }, "after": { "prompt": "work.md" } } });
    let (_place, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let played = Stage::saying(vec![says("no")]).play(created(definition, &[]).unwrap()).await;
    let report = serde_json::to_value(&played.report).unwrap();
    assert_eq!(report["agent"]["name"], "worker");
    assert_eq!(report["agent"]["path"], json!(["work"]));
    assert_eq!(report["agent"]["conditions"], json!({ "keywordSignal": false }));
}
