//! Layers 1 and 2: Loop, RuntimeContext, ContextCarry, and what a session knows of those before it.

use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use crate::stage::{Asked, Stage, answers, created, definition, ends, says};

fn budget(
    count: u32,
    session: &str,
    prompt: &str,
) -> (tempfile::TempDir, autonoe_workflow::definition::AgentDefinition) {
    let agent = json!({ "completion": { "type": "iterationBudget", "maxIterations": count } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "session": session } } });
    definition(agent, steps, &[("work.md", prompt)])
}

/// Loop: `@pre context.iteration === 0`; RuntimeContext契約: `不変条件: summaries.length === iteration（ループ終了時）`
#[tokio::test]
async fn there_is_one_summary_for_each_iteration() {
    let (_place, definition) = budget(3, "fresh", "Work.");
    let stage = Stage::new(|number, _| says(&format!("reply {number}")));
    let created = created(definition, &[]).unwrap();
    let played = stage.play(created).await;
    assert_eq!(played.result.iterations, 3);
    assert_eq!(played.result.summaries.len(), 3);
    let numbers: Vec<u32> = played.result.summaries.iter().map(|summary| summary.iteration).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let sessions: Vec<u32> = played.result.summaries.iter().map(|summary| summary.session).collect();
    assert_eq!(sessions, [1, 2, 3]);
}

/// Loop: `@post result.success === true または result.error が設定`
#[tokio::test]
async fn a_run_ends_with_success_or_with_what_kept_it_from_that() {
    let (_place, good) = budget(1, "fresh", "Work.");
    let good = Stage::saying(vec![says("ok")]).play(created(good, &[]).unwrap()).await;
    assert_eq!((good.result.success, good.result.error), (true, None));
    let steps = json!({ "steps": { "work": {
        "prompt": "work.md",
        "check": { "type": "keyword", "keywords": ["X"], "onFail": { "retry": { "maxRetries": 0 } } },
    } } });
    let (_place, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let bad = Stage::saying(vec![says("no")]).play(created(definition, &[]).unwrap()).await;
    assert_eq!(
        (bad.result.success, bad.result.error.unwrap().code.as_str()),
        (false, "step_retry_exhausted")
    );
}

/// ContextCarry契約: `previousResponse?: 前イテレーションのLLM応答`, `更新タイミング: 各イテレーション終了時`, `更新責務: Loop実装`
#[tokio::test]
async fn an_iteration_is_handed_what_the_one_before_it_said() {
    let (_place, definition) =
        budget(3, "fresh", "Last time: {uv-previous_response}|{uv-iteration}|{uv-remaining}");
    let stage = Stage::new(|number, _| says(&format!("reply {number}")));
    stage.play(created(definition, &[]).unwrap()).await;
    let asked = stage.asked();
    assert!(asked[0].text.ends_with("Last time: {uv-previous_response}|1|3"), "{}", asked[0].text);
    assert!(asked[1].text.ends_with("Last time: reply 0|2|2"), "{}", asked[1].text);
    assert!(asked[2].text.ends_with("Last time: reply 1|3|1"), "{}", asked[2].text);
}

/// ContextCarry契約: `accumulatedContext?: 蓄積コンテキスト`
#[tokio::test]
async fn what_steps_have_answered_is_there_for_later_ones_and_objects_are_json() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "output": { "type": "object" }, "next": "middle" },
        "middle": { "prompt": "work.md", "next": "use" },
        "use": { "prompt": "use.md", "inputs": {
            "name": { "from": "work.who.name" },
            "all": { "from": "work" },
            "said": { "from": "middle" },
            "other": { "from": "work.nothing", "required": false },
            "usual": { "from": "work.nothing", "default": 7 },
        } },
    } });
    let prompts = [("work.md", "Work."), ("use.md", "{uv-name} {uv-all} {uv-said} {uv-other} {uv-usual}")];
    let (_place, definition) = definition(json!({}), steps, &prompts);
    let stage = Stage::saying(vec![answers(json!({ "who": { "name": "Ada" } })), says("words"), says("")]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert!(played.result.success, "{:?}", played.report.outcome);
    let text = &stage.asked()[2].text;
    assert!(text.ends_with(r#"Ada {"who":{"name":"Ada"}} words {uv-other} 7"#), "{text}");
}

#[tokio::test]
async fn an_answer_that_is_needed_and_not_there_ends_the_run() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "output": { "type": "object" }, "next": "use" },
        "use": { "prompt": "use.md", "inputs": { "name": { "from": "work.name" } } },
    } });
    let (_place, definition) = definition(json!({}), steps, &[("work.md", "Work."), ("use.md", "{uv-name}")]);
    let stage = Stage::saying(vec![answers(json!({ "other": 1 }))]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert_eq!(played.code(), "prompt_variable");
}

/// セッション管理契約: `options.sessionId が null/undefined → 新規セッション`; SdkBridge: `getSessionId @post query() 未実行なら null`
#[tokio::test]
async fn a_fresh_step_begins_a_new_conversation() {
    let (_place, definition) = budget(2, "fresh", "Work.");
    let stage = Stage::saying(vec![says("ok")]);
    stage.play(created(definition, &[]).unwrap()).await;
    assert!(stage.asked().iter().all(|asked| asked.history.is_none()));
    assert!(
        stage.asked().iter().all(|asked| asked.text.len() > "Work.".len()),
        "the system prompt stands first"
    );
}

/// セッション管理契約: `options.sessionId を渡す → そのセッションを継続`, `呼び出し側の責務: sessionIdを保持し、次回query()に渡す`, `SdkBridge側の責務: SDK応答からsessionIdを抽出し返す`; SdkBridge: `@post sessionId は同一セッション内で一貫`
#[tokio::test]
async fn a_step_that_resumes_goes_on_with_the_last_conversation() {
    let (_place, definition) = budget(3, "resume", "Work.");
    let stage = Stage::saying(vec![says("ok")]);
    stage.play(created(definition, &[]).unwrap()).await;
    let histories: Vec<Option<Value>> = stage.asked().into_iter().map(|asked| asked.history).collect();
    assert_eq!(histories, [None, Some(json!({ "after": 1 })), Some(json!({ "after": 2 }))]);
    assert_eq!(stage.asked()[1].text, "Work.", "what was said before is not said again");
}

#[tokio::test]
async fn a_step_with_history_is_told_what_was_done_before() {
    let (_place, definition) = budget(3, "history", "Work.");
    let stage = Stage::new(|number, _| says(&format!("reply {number}")));
    stage.play(created(definition, &[]).unwrap()).await;
    let asked: Vec<Asked> = stage.asked();
    assert!(!asked[0].text.contains("What was done before"));
    assert!(asked[2].text.contains("reply 0") && asked[2].text.contains("reply 1"), "{}", asked[2].text);
    assert!(asked[2].history.is_none());
}

/// SdkBridge: `@pre prompt.length > 0`
#[tokio::test]
async fn no_session_is_asked_nothing() {
    let (_place, definition) = budget(2, "fresh", "Work.");
    let stage = Stage::saying(vec![says("ok")]);
    stage.play(created(definition, &[]).unwrap()).await;
    assert!(stage.asked().iter().all(|asked| !asked.text.trim().is_empty()));
}

/// SdkBridge: `@throws SdkConnectionError - API接続エラー`, `@throws SdkRateLimitError - レート制限`: a failed query is tried again and is not an iteration
#[tokio::test]
async fn a_session_that_fails_is_held_again_and_does_not_count() {
    use autonoe_workflow::faults::{SDK_CONNECTION, SDK_RATE_LIMIT};
    for class in [SDK_CONNECTION, SDK_RATE_LIMIT] {
        let (_place, definition) = budget(2, "fresh", "Work.");
        let fault = class.fault("Not now.");
        assert!(fault.recoverable());
        let failing = ends(SessionEnd::ExecutionError { fault });
        let stage = Stage::saying(vec![says("one"), failing.clone(), failing, says("two")]);
        let played = stage.play(created(definition, &[]).unwrap()).await;
        assert!(played.result.success, "{:?}", played.report.outcome);
        assert_eq!((played.result.iterations, stage.asked().len()), (2, 4));
        assert_eq!(played.result.summaries.len(), 2);
    }
}

#[tokio::test]
async fn a_session_that_uses_up_its_turns_is_an_error_that_counts() {
    let (_place, definition) = budget(2, "fresh", "Work.");
    let stage = Stage::saying(vec![ends(SessionEnd::MaxTurns)]);
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert_eq!((played.code(), played.report.exit_code), ("step_cut_short", 6));
    assert_eq!(played.result.iterations, 0);
}

/// セッション管理契約: `SDK側でセッション切断 → 新規セッションIDを返す`
#[tokio::test]
async fn a_conversation_that_is_lost_is_begun_anew() {
    let (_place, definition) = budget(3, "resume", "Work.");
    let lost =
        autonoe_core::fault::Fault::passing(autonoe_core::fault::Layer::Agent, "conversation_lost", "Gone.");
    let stage = Stage::new(move |number, _| match number {
        1 => ends(SessionEnd::ExecutionError { fault: lost.clone() }),
        _ => says("ok"),
    });
    let played = stage.play(created(definition, &[]).unwrap()).await;
    assert!(played.result.success);
    let histories: Vec<Option<Value>> = stage.asked().into_iter().map(|asked| asked.history).collect();
    assert_eq!(histories, [None, Some(json!({ "after": 1 })), None, Some(json!({ "after": 3 }))]);
}
