//! Layer 3.5: StepCheck, and the retry policy.

use autonoe_core::instruction::Phase;
use autonoe_workflow::{ActionResult, by_action, by_keyword, by_opinion};
use serde_json::{Value, json};

use crate::stage::{Played, Stage, answers, created, definition, exits, said, says};

async fn play(steps: Value, stage: &Stage) -> Played {
    let prompts = [("work.md", "Work {uv-iteration}."), ("check.md", "Is it good?"), ("other.md", "Other.")];
    let (_place, definition) = definition(json!({}), json!({ "steps": steps }), &prompts);
    stage.play(created(definition, &[]).unwrap()).await
}

/// StepChecker: `@pre step.check が定義されている`, `@post result.passed === true/false`; `keyword: response.messages のテキスト部分のみ参照`
#[test]
fn a_keyword_check_looks_at_words_alone() {
    let keywords = ["YES".to_owned(), "OK".to_owned()];
    assert!(by_keyword(&keywords, "that is OK").passed);
    assert!(!by_keyword(&keywords, "that is ok").passed);
    assert!(!by_keyword(&keywords, "").passed);
}

/// StepChecker: `action: actionResults のみ参照`
#[test]
fn an_action_check_looks_at_results_alone() {
    let results = [
        ActionResult { kind: "lint".into(), end: exits(0, "") },
        ActionResult { kind: "tests".into(), end: exits(1, "2 failed") },
    ];
    assert!(by_action("lint", &results).passed);
    let failed = by_action("tests", &results);
    assert!(!failed.passed && failed.reason.contains("2 failed"), "{}", failed.reason);
    assert!(!by_action("absent", &results).passed);
}

/// StepChecker: `prompt: response全体を使用、追加のLLM呼び出しを行う`
#[tokio::test]
async fn a_prompt_check_asks_a_session_of_its_own_that_may_only_read() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "check": { "type": "prompt", "prompt": "check.md" },
    } });
    let stage =
        Stage::saying(vec![says("my whole work"), answers(json!({ "passed": true, "reason": "fine" }))]);
    let played = play(steps, &stage).await;
    assert!(played.result.success, "{:?}", played.report.outcome);
    let asked = stage.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!((asked[0].phase, asked[1].phase), (Phase::Step, Phase::Inspection));
    assert!(asked[1].text.starts_with("Is it good?") && asked[1].text.contains("my whole work"));
    assert!(asked[1].wants_answer);
    assert_eq!(played.result.iterations, 1, "a look is not an iteration");
}

#[test]
fn an_opinion_in_no_form_is_none() {
    assert_eq!(by_opinion(&said("PASS")), None);
}

/// 契約: `type によって必要な入力が異なる`: a session that looks at a step and does not answer has not let it pass
#[tokio::test]
async fn a_look_without_an_answer_is_no_pass() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "check": { "type": "prompt", "prompt": "check.md", "onFail": { "retry": { "maxRetries": 0 } } },
    } });
    let stage = Stage::saying(vec![says("work"), says("PASS, it passed, ok, true")]);
    let played = play(steps, &stage).await;
    assert_eq!(
        (played.code(), played.report.exit_code),
        ("step_cut_short", 6),
        "silence is an error that counts"
    );
    assert_eq!(played.result.iterations, 1, "the work itself is not done again");
}

/// Retry Policy契約: `retry=true, maxRetries未指定 → デフォルト3`, `retryCount >= maxRetries → onExhausted で判断`
#[tokio::test]
async fn retry_true_is_three_retries_and_then_an_error() {
    for on_fail in [json!({ "retry": true }), json!({ "retry": {} }), Value::Null] {
        let mut check = json!({ "type": "keyword", "keywords": ["YES"] });
        if !on_fail.is_null() {
            check["onFail"] = on_fail;
        }
        let stage = Stage::saying(vec![says("no")]);
        let played = play(json!({ "work": { "prompt": "work.md", "check": check } }), &stage).await;
        assert_eq!((played.code(), played.report.exit_code), ("step_retry_exhausted", 7));
        assert_eq!(stage.asked().len(), 4, "once, and three more times");
        assert_eq!(played.report.agent.as_ref().unwrap().visits["work"], 1, "retries are no visits");
    }
}

/// Retry Policy契約: `retry時、同一ステップを再実行（プロンプト変更なし）`
#[tokio::test]
async fn a_retry_is_told_the_same() {
    let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": { "maxRetries": 2 } } });
    let stage = Stage::saying(vec![says("no"), says("no"), says("YES")]);
    let played = play(json!({ "work": { "prompt": "work.md", "check": check } }), &stage).await;
    assert!(played.result.success);
    let texts: Vec<String> = stage.asked().into_iter().map(|asked| asked.text).collect();
    assert!(texts[0].ends_with("Work 1."));
    assert!(texts.iter().all(|text| text == &texts[0]), "{texts:?}");
}

/// RetryPolicy: `onExhausted: "error" | "fallback" | "skip"`, `fallbackStep?: string; // onExhausted="fallback" のとき必須`
#[tokio::test]
async fn what_comes_after_the_last_retry_is_what_the_policy_says() {
    let run = async |policy: Value| {
        let check = json!({ "type": "keyword", "keywords": ["YES"], "onFail": { "retry": policy } });
        let stage = Stage::new(|_, _| says("no"));
        let steps = json!({
            "work": { "prompt": "work.md", "check": check, "next": "after" },
            "after": { "prompt": "other.md" },
            "instead": { "prompt": "other.md" },
        });
        let mut steps = steps;
        if policy["onExhausted"] != "fallback" {
            steps.as_object_mut().unwrap().remove("instead");
        }
        (play(steps, &stage).await, stage.asked().len())
    };
    let (played, sessions) = run(json!({ "maxRetries": 1, "onExhausted": "error" })).await;
    assert_eq!((played.code(), sessions), ("step_retry_exhausted", 2));
    let (played, sessions) =
        run(json!({ "maxRetries": 1, "onExhausted": "fallback", "fallbackStep": "instead" })).await;
    assert_eq!((played.path(), sessions), (vec!["work".to_owned(), "instead".to_owned()], 3));
    let (played, sessions) = run(json!({ "maxRetries": 0, "onExhausted": "skip" })).await;
    assert_eq!((played.path(), sessions), (vec!["work".to_owned(), "after".to_owned()], 2));
    assert!(played.result.success);
}

/// キーワード検出の優先度契約: `StepCheck.keywords が先に評価される（ステップ遷移に影響）`, `CompletionConfig.keywords は後に評価される（エージェント完了に影響）`, `同一キーワードが両方に存在する場合、両方が反応する`
#[tokio::test]
async fn a_keyword_of_a_step_and_of_the_end_fires_both_the_step_first() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["BOTH"] } });
    let steps = json!({ "steps": {
        "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["BOTH"], "onPass": { "next": "after" } },
        },
        "after": { "prompt": "work.md", "next": "work" },
    } });
    let (_place, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    let stage = Stage::saying(vec![says("no"), says("BOTH")]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert!(played.result.success);
    assert_eq!(played.path(), ["work"], "the step was left");
    let visits = &played.report.agent.as_ref().unwrap().visits;
    assert_eq!(visits.get("after"), Some(&1), "and led to the next one, which was not begun");
    assert_eq!(stage.asked().len(), 2);
}

#[tokio::test]
async fn actions_are_run_when_the_session_is_over_and_decide() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "actions": [{ "type": "tests", "command": "run the tests" }],
        "check": { "type": "action", "action": "tests", "onFail": { "next": "work" } },
    } });
    let stage = Stage::saying(vec![says("done, I promise")]);
    let ends = vec![exits(1, "1 failed"), exits(1, "1 failed"), exits(0, "ok")];
    stage.outside().commands.lock().unwrap().insert("run the tests".into(), ends);
    let played = play(steps, &stage).await;
    assert!(played.result.success);
    assert_eq!(stage.asked().len(), 3);
    assert!(played.result.summaries[0].error.as_ref().unwrap().contains("1 failed"));
}
