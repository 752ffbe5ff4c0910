//! Transitions, gateways, visits and the loop limit.

use serde_json::{Value, json};

use crate::run_fixture::{FinishedRun, RunFixture, answers, build_agent, definition, says};

async fn run_agent(agent: Value, steps: Value, fixture: &RunFixture) -> FinishedRun {
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    fixture.run(build_agent(definition, &[]).unwrap()).await
}

/// ステップ遷移契約: `ループ（A→B→A）は許可するが、訪問回数を記録する`
#[tokio::test]
async fn steps_may_lead_back_and_visits_are_counted() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "next": "look" },
        "look": { "prompt": "work.md", "check": {
            "type": "keyword", "keywords": ["GOOD"], "onPass": { "complete": true }, "onFail": { "next": "work" },
        } },
    } });
    let fixture = RunFixture::new(|number, _| says(if number == 5 { "GOOD" } else { "bad" }));
    let finished = run_agent(json!({}), steps, &fixture).await;
    assert!(finished.result.success);
    assert_eq!(finished.path(), ["work", "look", "work", "look", "work", "look"]);
    let visits = &finished.report.plan.steps().unwrap().visits;
    assert_eq!((visits["work"], visits["look"]), (3, 3));
}

/// ステップ遷移契約: `同一ステップの連続実行（retry除く）が STEP_LOOP_LIMIT を超えた場合、LoopError を発生させる`, `STEP_LOOP_LIMIT = 10; // 設定可能`
#[tokio::test]
async fn the_same_step_in_a_row_more_often_than_the_limit_is_a_fault() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "check": {
        "type": "keyword", "keywords": ["GOOD"], "onFail": { "next": "work" },
    } } } });
    for (agent, limit) in [(json!({}), 10), (json!({ "stepLoopLimit": 4 }), 4)] {
        let fixture = RunFixture::replying(vec![says("bad")]);
        let finished = run_agent(agent, steps.clone(), &fixture).await;
        assert_eq!((finished.code(), finished.report.exit_code), ("step_loop", 7));
        assert_eq!(fixture.requests().len(), limit);
    }
    let fixture = RunFixture::new(|number, _| says(if number == 9 { "GOOD" } else { "bad" }));
    assert!(run_agent(json!({}), steps, &fixture).await.result.success, "reaching the limit is not a fault");
}

#[tokio::test]
async fn retries_do_not_count_toward_the_limit() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "check": {
        "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 20 } },
    } } } });
    let fixture = RunFixture::new(|number, _| says(if number == 15 { "GOOD" } else { "bad" }));
    let finished = run_agent(json!({ "stepLoopLimit": 2 }), steps, &fixture).await;
    assert!(finished.result.success);
    assert_eq!(fixture.requests().len(), 16);
}

/// `type StepType`: `gateway: 分岐/合流ポイント`
#[tokio::test]
async fn a_gateway_branches_on_an_answer_without_a_session_of_its_own() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "output": { "type": "object" }, "next": "choose" },
        "choose": { "type": "gateway", "branch": {
            "from": "work", "field": "next.kind", "targets": { "left": "left", "stop": null, "true": "right" }, "default": "right",
        } },
        "left": { "prompt": "work.md" },
        "right": { "prompt": "work.md" },
    } });
    for (answer, path) in [
        (json!({ "next": { "kind": "left" } }), vec!["work", "choose", "left"]),
        (json!({ "next": { "kind": "stop" } }), vec!["work", "choose"]),
        (json!({ "next": { "kind": true } }), vec!["work", "choose", "right"]),
        (json!({ "next": {} }), vec!["work", "choose", "right"]),
    ] {
        let fixture = RunFixture::replying(vec![answers(answer.clone())]);
        let finished = run_agent(json!({}), steps.clone(), &fixture).await;
        assert!(finished.result.success, "{answer}: {:?}", finished.report.outcome);
        assert_eq!(finished.path(), path);
        assert_eq!(fixture.requests().len(), path.len() - 1);
    }
}

#[tokio::test]
async fn a_gateway_with_a_prompt_branches_on_its_own_answer_or_its_check() {
    let steps = json!({ "steps": {
        "work": { "type": "gateway", "prompt": "work.md", "output": { "type": "object" }, "branch": {
            "field": "go", "targets": { "on": "other" },
        } },
        "other": { "type": "gateway", "prompt": "work.md", "check": {
            "type": "keyword", "keywords": ["YES"], "onPass": { "next": "end" }, "onFail": { "next": "work" },
        } },
        "end": { "prompt": "work.md" },
    } });
    let fixture = RunFixture::replying(vec![
        answers(json!({ "go": "on" })),
        says("no"),
        answers(json!({ "go": "on" })),
        says("YES"),
        says("end"),
    ]);
    let finished = run_agent(json!({}), steps, &fixture).await;
    assert_eq!(finished.path(), ["work", "other", "work", "other", "end"]);
}

#[tokio::test]
async fn an_answer_without_a_target_is_a_fault_that_names_it() {
    let steps = json!({ "steps": {
        "work": { "type": "gateway", "prompt": "work.md", "output": { "type": "object" }, "branch": {
            "field": "go", "targets": { "on": null },
        } },
    } });
    let fixture = RunFixture::replying(vec![answers(json!({ "go": "elsewhere" }))]);
    let finished = run_agent(json!({}), steps, &fixture).await;
    assert_eq!(finished.code(), "no_branch");
    assert!(finished.report.outcome.fault().unwrap().message.contains("elsewhere"));
}

#[tokio::test]
async fn gateways_that_lead_to_each_other_end_as_a_fault() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "output": { "type": "object" }, "next": "one" },
        "one": { "type": "gateway", "branch": { "from": "work", "field": "x", "targets": { "end": null }, "default": "two" } },
        "two": { "type": "gateway", "branch": { "from": "work", "field": "x", "targets": { "end": null }, "default": "one" } },
    } });
    let fixture = RunFixture::replying(vec![answers(json!({ "x": "round" }))]);
    let finished = run_agent(json!({}), steps, &fixture).await;
    assert_eq!(finished.code(), "step_loop");
    assert_eq!(fixture.requests().len(), 1);
}
