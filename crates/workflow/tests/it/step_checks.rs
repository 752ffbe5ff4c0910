//! Layer 3.5: StepCheck, and the retry policy.

use autonoe_core::instruction::Phase;
use autonoe_workflow::{ActionResult, by_action, by_assessment, by_keyword};
use serde_json::{Value, json};

use crate::run_fixture::{FinishedRun, RunFixture, answers, build_agent, definition, exits, output, says};

async fn run_agent(steps: Value, fixture: &RunFixture) -> FinishedRun {
    let prompts = [("work.md", "Work {uv-iteration}."), ("check.md", "Is it good?"), ("other.md", "Other.")];
    let (_dir, definition) = definition(json!({}), json!({ "steps": steps }), &prompts);
    fixture.run(build_agent(definition, &[]).unwrap()).await
}

/// StepChecker: `@pre step.check が定義されている`, `@post result.passed === true/false`; `keyword: response.messages のテキスト部分のみ参照`
#[test]
fn a_keyword_check_uses_only_the_response() {
    let keywords = ["YES".to_owned(), "OK".to_owned()];
    assert!(by_keyword(&keywords, "that is OK").passed);
    assert!(!by_keyword(&keywords, "that is ok").passed);
    assert!(!by_keyword(&keywords, "").passed);
}

/// StepChecker: `action: actionResults のみ参照`
#[test]
fn an_action_check_uses_only_the_results() {
    let results = [
        ActionResult { kind: "lint".into(), outcome: exits(0, "") },
        ActionResult { kind: "tests".into(), outcome: exits(1, "2 failed") },
    ];
    assert!(by_action("lint", &results).passed);
    let failed = by_action("tests", &results);
    assert!(!failed.passed && failed.reason.contains("2 failed"), "{}", failed.reason);
    assert!(!by_action("absent", &results).passed);
}

/// StepChecker: `prompt: response全体を使用、追加のLLM呼び出しを行う`
#[tokio::test]
async fn a_prompt_check_runs_in_a_separate_read_only_session() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "check": { "type": "prompt", "prompt": "check.md" },
    } });
    let fixture = RunFixture::replying(vec![
        says("my whole work"),
        answers(json!({ "passed": true, "reason": "fine" })),
    ]);
    let finished = run_agent(steps, &fixture).await;
    assert!(finished.result.success, "{:?}", finished.report.outcome);
    let requests = fixture.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].phase, requests[1].phase), (Phase::Step, Phase::Inspection));
    assert!(requests[1].text.starts_with("Is it good?") && requests[1].text.contains("my whole work"));
    assert!(requests[1].wants_answer);
    assert_eq!(finished.result.iterations, 1, "a check is not an iteration");
}

#[test]
fn an_unstructured_assessment_is_none() {
    assert_eq!(by_assessment(&output("PASS")), None);
}

/// 契約: `type によって必要な入力が異なる`: a checking session without a structured answer does not pass the step
#[tokio::test]
async fn a_prompt_check_without_an_answer_does_not_pass() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "check": { "type": "prompt", "prompt": "check.md", "onFail": { "retry": { "maxRetries": 0 } } },
    } });
    let fixture = RunFixture::replying(vec![says("work"), says("PASS, it passed, ok, true")]);
    let finished = run_agent(steps, &fixture).await;
    assert_eq!(
        (finished.code(), finished.report.exit_code),
        ("step_cut_short", 6),
        "a missing answer is an error that counts"
    );
    assert_eq!(finished.result.iterations, 1, "the step itself does not run again");
}

/// Retry Policy契約: `retry=true, maxRetries未指定 → デフォルト3`, `retryCount >= maxRetries → onExhausted で判断`
#[tokio::test]
async fn retry_true_is_three_retries_and_then_an_error() {
    for on_fail in [json!({ "retry": true }), json!({ "retry": {} }), Value::Null] {
        let mut check = json!({ "type": "keyword", "keywords": ["YES"] });
        if !on_fail.is_null() {
            check["onFail"] = on_fail;
        }
        let fixture = RunFixture::replying(vec![says("no")]);
        let finished = run_agent(json!({ "work": { "prompt": "work.md", "check": check } }), &fixture).await;
        assert_eq!((finished.code(), finished.report.exit_code), ("step_retry_exhausted", 7));
        assert_eq!(fixture.requests().len(), 4, "once, and three more times");
        assert_eq!(finished.report.plan.steps().unwrap().visits["work"], 1, "retries do not count as visits");
    }
}

/// Retry Policy契約: `retry時、同一ステップを再実行（プロンプト変更なし）`
#[tokio::test]
async fn a_retry_gets_the_same_prompt() {
    let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 2 } } });
    let fixture = RunFixture::replying(vec![says("no"), says("no"), says("YES")]);
    let finished = run_agent(json!({ "work": { "prompt": "work.md", "check": check } }), &fixture).await;
    assert!(finished.result.success);
    let texts: Vec<String> = fixture.requests().into_iter().map(|request| request.text).collect();
    assert!(texts[0].ends_with("Work 1."));
    assert!(texts.iter().all(|text| text == &texts[0]), "{texts:?}");
}

/// RetryPolicy: `onExhausted: "error" | "fallback" | "skip"`, `fallbackStep?: string; // onExhausted="fallback" のとき必須`
#[tokio::test]
async fn the_policy_decides_what_follows_the_last_retry() {
    let run = async |policy: Value| {
        let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": policy } });
        let fixture = RunFixture::new(|_, _| says("no"));
        let steps = json!({
            "work": { "prompt": "work.md", "check": check, "next": "after" },
            "after": { "prompt": "other.md" },
            "instead": { "prompt": "other.md" },
        });
        let mut steps = steps;
        if policy["onExhausted"] != "fallback" {
            steps.as_object_mut().unwrap().remove("instead");
        }
        (run_agent(steps, &fixture).await, fixture.requests().len())
    };
    let (finished, sessions) = run(json!({ "maxRetries": 1, "onExhausted": "error" })).await;
    assert_eq!((finished.code(), sessions), ("step_retry_exhausted", 2));
    let (finished, sessions) =
        run(json!({ "maxRetries": 1, "onExhausted": "fallback", "fallbackStep": "instead" })).await;
    assert_eq!((finished.path(), sessions), (vec!["work".to_owned(), "instead".to_owned()], 3));
    let (finished, sessions) = run(json!({ "maxRetries": 0, "onExhausted": "skip" })).await;
    assert_eq!((finished.path(), sessions), (vec!["work".to_owned(), "after".to_owned()], 2));
    assert!(finished.result.success);
}

/// キーワード検出の優先度契約: `StepCheck.keywords が先に評価される（ステップ遷移に影響）`, `CompletionConfig.keywords は後に評価される（エージェント完了に影響）`, `同一キーワードが両方に存在する場合、両方が反応する`
#[tokio::test]
async fn a_keyword_of_a_step_and_of_the_completion_triggers_both_the_step_first() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["BOTH"] } });
    let steps = json!({ "steps": {
        "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["BOTH"], "onPass": { "next": "after" } },
        },
        "after": { "prompt": "work.md", "next": "work" },
    } });
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let fixture = RunFixture::replying(vec![says("no"), says("BOTH")]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(finished.result.success);
    assert_eq!(finished.path(), ["work"], "the step ended");
    let visits = &finished.report.plan.steps().unwrap().visits;
    assert_eq!(visits.get("after"), Some(&1), "the next one was entered but did not run");
    assert_eq!(fixture.requests().len(), 2);
}

#[tokio::test]
async fn actions_run_after_the_session_and_decide() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "actions": [{ "type": "tests", "command": "run the tests" }],
        "check": { "type": "action", "action": "tests", "onFail": { "next": "work" } },
    } });
    let fixture = RunFixture::replying(vec![says("done, I promise")]);
    let ends = vec![exits(1, "1 failed"), exits(1, "1 failed"), exits(0, "ok")];
    fixture.host().commands.lock().unwrap().insert("run the tests".into(), ends);
    let finished = run_agent(steps, &fixture).await;
    assert!(finished.result.success);
    assert_eq!(fixture.requests().len(), 3);
    assert!(finished.result.summaries[0].error.as_ref().unwrap().contains("1 failed"));
}
