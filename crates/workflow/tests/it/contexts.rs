//! Layers 1 and 2: Loop, RuntimeContext, ContextCarry, and how sessions relate to earlier ones.

use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use crate::run_fixture::{RunFixture, SessionRequest, answers, build_agent, definition, ends, says};

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
    let (_dir, definition) = budget(3, "fresh", "Work.");
    let fixture = RunFixture::new(|number, _| says(&format!("reply {number}")));
    let created = build_agent(definition, &[]).unwrap();
    let finished = fixture.run(created).await;
    assert_eq!(finished.result.iterations, 3);
    assert_eq!(finished.result.summaries.len(), 3);
    let numbers: Vec<u32> = finished.result.summaries.iter().map(|summary| summary.iteration).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let sessions: Vec<u32> = finished.result.summaries.iter().map(|summary| summary.session).collect();
    assert_eq!(sessions, [1, 2, 3]);
}

/// Loop: `@post result.success === true または result.error が設定`
#[tokio::test]
async fn a_run_ends_with_success_or_an_error() {
    let (_dir, good) = budget(1, "fresh", "Work.");
    let good = RunFixture::replying(vec![says("ok")]).run(build_agent(good, &[]).unwrap()).await;
    assert_eq!((good.result.success, good.result.error), (true, None));
    let steps = json!({ "steps": { "work": {
        "prompt": "work.md",
        "check": { "type": "keyword", "keywords": ["X"], "onFail": { "retry": { "maxRetries": 0 } } },
    } } });
    let (_dir, definition) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let bad = RunFixture::replying(vec![says("no")]).run(build_agent(definition, &[]).unwrap()).await;
    assert_eq!(
        (bad.result.success, bad.result.error.unwrap().code.as_str()),
        (false, "step_retry_exhausted")
    );
}

/// Loop: `@post result.success === true または result.error が設定`: also where the plan itself is not at its end
#[tokio::test]
async fn an_agent_that_was_not_done_says_why() {
    use autonoe_core::fault::{Fault, FaultLayer};
    use autonoe_workflow::faults::{INCOMPLETE, SDK_CONNECTION};
    let agent =
        json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] }, "maxIterations": 2 });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let run = async |reply| {
        let (_dir, definition) = definition(agent.clone(), steps.clone(), &[("work.md", "Work.")]);
        RunFixture::replying(vec![reply]).run(build_agent(definition, &[]).unwrap()).await
    };
    let used_up = run(says("not yet")).await;
    let quota = run(ends(SessionEnd::QuotaExceeded { message: "used up".into(), resets_at: None })).await;
    let unreachable = run(ends(SessionEnd::ExecutionError { fault: SDK_CONNECTION.fault("Away.") })).await;
    let broken = Fault::transient(FaultLayer::Agent, "agent_failed", "Broken.");
    let failed = run(ends(SessionEnd::ExecutionError { fault: broken })).await;
    for (finished, outcome, code) in [
        (used_up, "max_iterations", INCOMPLETE.code),
        (quota, "quota_exceeded", INCOMPLETE.code),
        (unreachable, "outage", SDK_CONNECTION.code),
        (failed, "max_retries_exceeded", "agent_failed"),
    ] {
        assert_eq!(finished.report.outcome.name(), outcome);
        let error = finished.result.error.expect(outcome);
        assert_eq!((finished.result.success, error.code.as_str()), (false, code), "{outcome}");
    }
}

/// ContextCarry契約: `previousResponse?: 前イテレーションのLLM応答`, `更新タイミング: 各イテレーション終了時`, `更新責務: Loop実装`
#[tokio::test]
async fn an_iteration_gets_the_response_of_the_previous_one() {
    let (_dir, definition) =
        budget(3, "fresh", "Last time: {uv-previous_response}|{uv-iteration}|{uv-remaining}");
    let fixture = RunFixture::new(|number, _| says(&format!("reply {number}")));
    fixture.run(build_agent(definition, &[]).unwrap()).await;
    let requests = fixture.requests();
    assert!(requests[0].text.ends_with("Last time: {uv-previous_response}|1|3"), "{}", requests[0].text);
    assert!(requests[1].text.ends_with("Last time: reply 0|2|2"), "{}", requests[1].text);
    assert!(requests[2].text.ends_with("Last time: reply 1|3|1"), "{}", requests[2].text);
}

/// ContextCarry契約: `accumulatedContext?: 蓄積コンテキスト`
#[tokio::test]
async fn answers_of_earlier_steps_are_inputs_and_objects_are_json() {
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
    let (_dir, definition) = definition(json!({}), steps, &prompts);
    let fixture =
        RunFixture::replying(vec![answers(json!({ "who": { "name": "Ada" } })), says("words"), says("")]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(finished.result.success, "{:?}", finished.report.outcome);
    let text = &fixture.requests()[2].text;
    assert!(text.ends_with(r#"Ada {"who":{"name":"Ada"}} words {uv-other} 7"#), "{text}");
}

#[tokio::test]
async fn a_missing_required_input_ends_the_run() {
    let steps = json!({ "steps": {
        "work": { "prompt": "work.md", "output": { "type": "object" }, "next": "use" },
        "use": { "prompt": "use.md", "inputs": { "name": { "from": "work.name" } } },
    } });
    let (_dir, definition) = definition(json!({}), steps, &[("work.md", "Work."), ("use.md", "{uv-name}")]);
    let fixture = RunFixture::replying(vec![answers(json!({ "other": 1 }))]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert_eq!(finished.code(), "prompt_variable");
}

/// セッション管理契約: `options.sessionId が null/undefined → 新規セッション`; SdkBridge: `getSessionId @post query() 未実行なら null`
#[tokio::test]
async fn a_fresh_step_starts_a_new_conversation() {
    let (_dir, definition) = budget(2, "fresh", "Work.");
    let fixture = RunFixture::replying(vec![says("ok")]);
    fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(fixture.requests().iter().all(|request| request.history.is_none()));
    assert!(
        fixture.requests().iter().all(|request| request.text.len() > "Work.".len()),
        "the system prompt comes first"
    );
}

/// セッション管理契約: `options.sessionId を渡す → そのセッションを継続`, `呼び出し側の責務: sessionIdを保持し、次回query()に渡す`, `SdkBridge側の責務: SDK応答からsessionIdを抽出し返す`; SdkBridge: `@post sessionId は同一セッション内で一貫`
#[tokio::test]
async fn a_step_that_resumes_continues_the_last_conversation() {
    let (_dir, definition) = budget(3, "resume", "Work.");
    let fixture = RunFixture::replying(vec![says("ok")]);
    fixture.run(build_agent(definition, &[]).unwrap()).await;
    let histories: Vec<Option<Value>> =
        fixture.requests().into_iter().map(|request| request.history).collect();
    assert_eq!(histories, [None, Some(json!({ "after": 1 })), Some(json!({ "after": 2 }))]);
    assert_eq!(fixture.requests()[1].text, "Work.", "the system prompt is not repeated");
}

#[tokio::test]
async fn a_step_with_history_gets_the_previous_iterations() {
    let (_dir, definition) = budget(3, "history", "Work.");
    let fixture = RunFixture::new(|number, _| says(&format!("reply {number}")));
    fixture.run(build_agent(definition, &[]).unwrap()).await;
    let requests: Vec<SessionRequest> = fixture.requests();
    assert!(!requests[0].text.contains("Previous iterations"));
    assert!(
        requests[2].text.contains("reply 0") && requests[2].text.contains("reply 1"),
        "{}",
        requests[2].text
    );
    assert!(requests[2].history.is_none());
}

/// SdkBridge: `@pre prompt.length > 0`
#[tokio::test]
async fn no_session_has_an_empty_prompt() {
    let (_dir, definition) = budget(2, "fresh", "Work.");
    let fixture = RunFixture::replying(vec![says("ok")]);
    fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(fixture.requests().iter().all(|request| !request.text.trim().is_empty()));
}

/// SdkBridge: `@throws SdkConnectionError - API接続エラー`, `@throws SdkRateLimitError - レート制限`: a failed query is tried again and is not an iteration
#[tokio::test]
async fn a_failed_session_is_repeated_and_does_not_count() {
    use autonoe_workflow::faults::{SDK_CONNECTION, SDK_RATE_LIMIT};
    for class in [SDK_CONNECTION, SDK_RATE_LIMIT] {
        let (_dir, definition) = budget(2, "fresh", "Work.");
        let fault = class.fault("Not now.");
        assert!(fault.recoverable());
        let failing = ends(SessionEnd::ExecutionError { fault });
        let fixture = RunFixture::replying(vec![says("one"), failing.clone(), failing, says("two")]);
        let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
        assert!(finished.result.success, "{:?}", finished.report.outcome);
        assert_eq!((finished.result.iterations, fixture.requests().len()), (2, 4));
        assert_eq!(finished.result.summaries.len(), 2);
    }
}

#[tokio::test]
async fn a_session_that_runs_out_of_turns_is_an_error_that_counts() {
    let (_dir, definition) = budget(2, "fresh", "Work.");
    let fixture = RunFixture::replying(vec![ends(SessionEnd::MaxTurns)]);
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert_eq!((finished.code(), finished.report.exit_code), ("step_cut_short", 6));
    assert_eq!(finished.result.iterations, 0);
}

/// セッション管理契約: `SDK側でセッション切断 → 新規セッションIDを返す`
#[tokio::test]
async fn a_lost_conversation_is_started_anew() {
    let (_dir, definition) = budget(3, "resume", "Work.");
    let lost = autonoe_core::fault::Fault::transient(
        autonoe_core::fault::FaultLayer::Agent,
        "conversation_lost",
        "Gone.",
    );
    let fixture = RunFixture::new(move |number, _| match number {
        1 => ends(SessionEnd::ExecutionError { fault: lost.clone() }),
        _ => says("ok"),
    });
    let finished = fixture.run(build_agent(definition, &[]).unwrap()).await;
    assert!(finished.result.success);
    let histories: Vec<Option<Value>> =
        fixture.requests().into_iter().map(|request| request.history).collect();
    assert_eq!(histories, [None, Some(json!({ "after": 1 })), None, Some(json!({ "after": 3 }))]);
}
