//! How a run ends, and what its report contains.

use autonoe_core::outcome::RunOutcome;
use serde_json::json;

use crate::run_fixture::{RunFixture, build_agent, definition, says};

#[tokio::test]
async fn running_out_of_iterations_is_a_limit_and_not_a_success() {
    let agent =
        json!({ "maxIterations": 4, "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let (_dir, definition) =
        definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &[("work.md", "Work.")]);
    let fixture = RunFixture::replying(vec![says("no")]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert_eq!(finished.report.outcome, RunOutcome::MaxIterations { limit: 4 });
    assert_eq!((finished.result.success, finished.report.exit_code, fixture.requests().len()), (false, 4, 4));
}

/// `type StepType`: `normal: 通常のプロンプト実行ステップ`
#[tokio::test]
async fn without_a_condition_an_agent_is_done_when_its_steps_are_finished() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "next": "after" },
        "after": { "prompt": "work.md" },
    } });
    let (_dir, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let fixture = RunFixture::replying(vec![says("ok")]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(
        matches!(&finished.report.outcome, RunOutcome::ConditionMet { reason } if reason.contains("finished"))
    );
    assert_eq!((finished.report.exit_code, fixture.requests().len()), (0, 2));
}

#[tokio::test]
async fn finished_steps_start_again_while_the_condition_does_not_hold() {
    let agent = json!({ "completion": { "type": "iterationBudget", "maxIterations": 5 } });
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "next": "after" },
        "after": { "prompt": "work.md" },
    } });
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let fixture = RunFixture::replying(vec![says("ok")]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    let steps: Vec<String> = fixture.requests().into_iter().map(|request| request.step).collect();
    assert_eq!(steps, ["work", "after", "work", "after", "work"]);
    assert!(finished.result.success);
}

#[tokio::test]
async fn the_report_contains_the_path_and_the_conditions() {
    let agent =
        json!({ "maxIterations": 1, "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "next": "after" }, "after": { "prompt": "work.md" } } });
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let finished = RunFixture::replying(vec![says("no")]).run(build_agent(definition, &[]).unwrap()).await;
    let report = serde_json::to_value(&finished.report).unwrap();
    assert_eq!(report["agent"]["name"], "worker");
    assert_eq!(report["agent"]["path"], json!(["work"]));
    assert_eq!(report["agent"]["conditions"], json!({ "keywordSignal": false }));
}
