//! Layer 3: Completion conditions, alone and in runs.

use autonoe_core::plan::SessionOutput;
use autonoe_workflow::definition::Completion;
use autonoe_workflow::{
    CompletionCondition, CompletionContext, CompletionResult, CompletionState, IssueError, RuntimeContext,
};
use serde_json::{Value, json};

use crate::run_fixture::{
    FakeHost, FinishedRun, RunFixture, ScriptedReply, answers, build_agent, definition, exits, output, says,
};

fn condition(json: Value) -> Completion {
    serde_json::from_value(json).unwrap()
}

async fn check(
    completion: &Completion,
    state: &mut CompletionState,
    iteration: u32,
    output: &SessionOutput,
    host: &FakeHost,
) -> Result<CompletionResult, autonoe_core::fault::Fault> {
    let run = RuntimeContext { iteration, ..RuntimeContext::default() };
    let fill = |text: &str| text.replace("{uv-issue}", "7");
    let context = CompletionContext { run: &run, output, steps_finished: false, fill: &fill };
    CompletionCondition::new(completion, state).check(&context, host).await
}

async fn run_agent(completion: Value, fixture: &RunFixture) -> FinishedRun {
    let agent = json!({ "completion": completion, "stepLoopLimit": 50 });
    let mut steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    if agent["completion"].to_string().contains("tructured") {
        steps["steps"]["work"]["output"] = json!({ "type": "object" });
    }
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    fixture.run(build_agent(definition, &[]).unwrap()).await
}

/// CompletionHandler: judged on the iteration just finished: a budget of 3 runs 3
#[tokio::test]
async fn a_budget_of_three_iterations_runs_three() {
    for spelling in ["iterationBudget", "iterate", "count:iteration"] {
        let fixture = RunFixture::replying(vec![says("ok")]);
        let finished = run_agent(json!({ "type": spelling, "maxIterations": 3 }), &fixture).await;
        assert!(finished.result.success);
        assert_eq!((finished.result.iterations, fixture.requests().len()), (3, 3));
        assert_eq!(finished.result.reason.as_deref(), Some("3 of 3 iterations are done."));
    }
}

#[tokio::test]
async fn a_budget_of_three_checks_runs_three() {
    let fixture = RunFixture::replying(vec![says("ok")]);
    let finished = run_agent(json!({ "type": "checkBudget", "maxChecks": 3 }), &fixture).await;
    assert!(finished.result.success);
    assert_eq!(fixture.requests().len(), 3);
}

#[tokio::test]
async fn a_keyword_in_the_second_iteration_ends_the_run() {
    for keywords in [json!(["NEVER", "DONE"]), json!("DONE")] {
        let fixture = RunFixture::replying(vec![says("not done"), says("All DONE now"), says("never said")]);
        let finished = run_agent(json!({ "type": "keywordSignal", "keywords": keywords }), &fixture).await;
        assert!(finished.result.success);
        assert_eq!(finished.result.iterations, 2);
        assert_eq!(finished.result.reason.as_deref(), Some("The agent said 'DONE' in iteration 2."));
    }
}

#[tokio::test]
async fn a_structured_signal_is_found_in_the_answer() {
    let schema = json!({ "type": "object", "properties": { "ok": { "const": true } }, "required": ["ok"] });
    for completion in [
        json!({ "type": "structuredSignal", "schema": schema }),
        json!({ "type": "detect:structured", "signalType": "finished" }),
        json!({ "type": "structuredSignal", "requiredFields": { "ok": true } }),
    ] {
        let right = json!({ "ok": true, "signal": "finished" });
        let fixture = RunFixture::replying(vec![
            ScriptedReply { text: "ok: true, signal: finished".into(), ..answers(json!({})) },
            answers(json!({ "ok": false, "type": "other" })),
            answers(right),
        ]);
        let finished = run_agent(completion.clone(), &fixture).await;
        assert!(finished.result.success, "{completion}: {:?}", finished.report.outcome);
        assert_eq!(finished.result.iterations, 3, "{completion}");
    }
}

#[tokio::test]
async fn an_external_state_is_the_output_or_the_exit_code_of_a_command() {
    let resource = json!({ "type": "command", "command": "state" });
    let fixture = RunFixture::replying(vec![says("ok")]);
    let ends = vec![exits(0, "open\n"), exits(3, "closed\n")];
    fixture.host().commands.lock().unwrap().insert("state".into(), ends.clone());
    let finished = run_agent(
        json!({ "type": "externalState", "resource": resource, "targetState": "closed" }),
        &fixture,
    )
    .await;
    assert_eq!((finished.result.success, finished.result.iterations), (true, 2));

    let fixture = RunFixture::replying(vec![says("ok")]);
    fixture
        .host()
        .commands
        .lock()
        .unwrap()
        .insert("state".into(), vec![exits(1, ""), exits(1, ""), exits(0, "")]);
    let finished = run_agent(json!({ "type": "externalState", "resource": resource }), &fixture).await;
    assert_eq!((finished.result.success, finished.result.iterations), (true, 3));
}

#[tokio::test]
async fn an_external_state_is_the_content_of_a_file() {
    let host = FakeHost::default();
    let exists =
        condition(json!({ "type": "externalState", "resource": { "type": "file", "path": "out.txt" } }));
    let state = condition(
        json!({ "type": "externalState", "resource": { "type": "file", "path": "out.txt" }, "targetState": "green" }),
    );
    let mut states = [CompletionState::default(), CompletionState::default()];
    let nothing = output("");
    assert!(!check(&exists, &mut states[0], 1, &nothing, &host).await.unwrap().complete);
    host.files.lock().unwrap().insert("out.txt".into(), "red\n".into());
    assert!(check(&exists, &mut states[0], 1, &nothing, &host).await.unwrap().complete);
    assert!(!check(&state, &mut states[1], 1, &nothing, &host).await.unwrap().complete);
    host.files.lock().unwrap().insert("out.txt".into(), "green\n".into());
    assert!(check(&state, &mut states[1], 1, &nothing, &host).await.unwrap().complete);
}

#[tokio::test]
async fn a_failed_issue_lookup_is_a_warning_and_not_done() {
    let what = json!({ "type": "poll:state",
        "resource": { "type": "github-issue", "issue": "7", "repository": "a/b" } });
    let fixture = RunFixture::replying(vec![says("ok")]);
    *fixture.host().issue.lock().unwrap() = vec![
        Err(IssueError::Exit { code: 4, message: "gh is not logged in".into() }),
        Ok("OPEN".into()),
        Ok("CLOSED".into()),
    ];
    let finished = run_agent(what, &fixture).await;
    assert_eq!((finished.result.success, finished.result.iterations), (true, 3));
    let events = format!("{:?}", fixture.events());
    assert!(events.contains("gh is not logged in"), "{events}");
}

#[tokio::test]
async fn a_program_gets_the_context_and_decides() {
    let what = condition(json!({ "type": "custom", "program": "decide" }));
    let host = FakeHost::default();
    *host.programs.lock().unwrap() = vec![
        exits(0, r#"{"complete": false, "reason": "two are left"}"#),
        exits(0, r#"{"complete": true}"#),
        exits(1, ""),
        exits(0, "yes"),
    ];
    let mut state = CompletionState::default();
    let result = check(&what, &mut state, 4, &output("words"), &host).await.unwrap();
    assert_eq!((result.complete, result.reason.as_str()), (false, "two are left"));
    let result = check(&what, &mut state, 5, &output("words"), &host).await.unwrap();
    assert!(result.complete && !result.reason.is_empty());
    for _ in 0..2 {
        let fault = check(&what, &mut state, 6, &output(""), &host).await.unwrap_err();
        assert_eq!(fault.code, "completion");
    }
    let given = host.program_inputs.lock().unwrap();
    assert_eq!((&given[0]["iteration"], &given[0]["response"]), (&json!(4), &json!("words")));
}

/// 状態更新のタイミング: `isComplete() / getReason() は更新後の状態を返す`; CompletionHandler: `check @side-effect 内部状態の更新`, `isComplete @post 最後のcheck()結果を反映`, `getReason @post isComplete()=true なら空文字でない`, `check @post complete=true なら reason が設定`
#[tokio::test]
async fn only_a_check_changes_the_state_of_a_condition() {
    let what = condition(json!({ "type": "checkBudget", "maxChecks": 2 }));
    let host = FakeHost::default();
    let mut state = CompletionState::default();
    for round in 1..=3 {
        let result = check(&what, &mut state, 1, &output(""), &host).await.unwrap();
        let before = state.clone();
        let condition = CompletionCondition::new(&what, &mut state);
        assert_eq!(condition.is_complete(), round >= 2);
        assert_eq!(condition.is_complete(), result.complete);
        assert_eq!(condition.reason(), result.reason);
        assert!(!condition.is_complete() || !condition.reason().is_empty());
        assert_eq!(condition.condition_states(), [("checkBudget".to_owned(), round >= 2)].into());
        assert_eq!(state, before, "reading changes nothing");
    }
}

/// CompletionHandler: `@pre context.iteration > 0`
#[tokio::test]
async fn a_condition_is_never_checked_before_the_first_iteration() {
    let fixture = RunFixture::replying(vec![says("ok")]);
    fixture.host().programs.lock().unwrap().push(exits(0, r#"{"complete": true}"#));
    let agent = json!({ "completion": { "type": "custom", "program": "decide" } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (dir, read) = definition(agent, steps, &[("work.md", "Work.")]);
    std::fs::write(dir.path().join("worker/decide"), "#!/bin/sh\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path().join("worker/decide"), executable).unwrap();
    let read = autonoe_workflow::load(&read.directory).unwrap();
    fixture.run(build_agent(read, &[]).unwrap()).await;
    assert_eq!(fixture.host().program_inputs.lock().unwrap()[0]["iteration"], 1);
}

/// Composite Completion契約: `mode="any": 一つでも complete=true なら完了（OR）`
#[tokio::test]
async fn any_ends_with_the_first_condition_that_holds() {
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    let budget = json!({ "type": "iterationBudget", "maxIterations": 3 });
    for conditions in [json!([budget, keyword]), json!([keyword, budget])] {
        for mode in ["any", "or", "first"] {
            let what = json!({ "type": "composite", "mode": mode, "conditions": conditions });
            let fixture = RunFixture::replying(vec![says("no"), says("DONE")]);
            assert_eq!(run_agent(what.clone(), &fixture).await.result.iterations, 2);
            let fixture = RunFixture::replying(vec![says("no")]);
            assert_eq!(run_agent(what, &fixture).await.result.iterations, 3);
        }
    }
}

/// Composite Completion契約: `mode="all": 全て complete=true で完了（AND）`
#[tokio::test]
async fn all_ends_when_every_condition_holds() {
    let what = json!({ "type": "meta:composite", "operator": "and", "conditions": [
        { "type": "iterationBudget", "maxIterations": 2 }, { "type": "keywordSignal", "keywords": ["DONE"] },
    ] });
    let fixture = RunFixture::replying(vec![says("DONE"), says("no"), says("DONE")]);
    assert_eq!(run_agent(what, &fixture).await.result.iterations, 3);
}

/// Composite Completion契約: `評価順序: conditions配列の順序で評価`, `短絡評価: mode="any" で true発見時、以降は評価しない`, `getConditionStates @post 各conditionの個別状態を返す`
#[tokio::test]
async fn conditions_are_checked_in_order_with_short_circuit() {
    let host = FakeHost::default();
    host.commands.lock().unwrap().insert("look".into(), vec![exits(0, "")]);
    let command = json!({ "type": "externalState", "resource": { "type": "command", "command": "look" } });
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    let checks = json!({ "type": "checkBudget", "maxChecks": 9 });
    let any =
        condition(json!({ "type": "composite", "mode": "any", "conditions": [checks, keyword, command] }));
    let mut state = CompletionState::default();
    check(&any, &mut state, 1, &output("DONE"), &host).await.unwrap();
    let states = CompletionCondition::new(&any, &mut state).condition_states();
    let expected = [("1 checkBudget", false), ("2 keywordSignal", true), ("3 externalState", false)];
    assert_eq!(states, expected.map(|(name, holds)| (name.to_owned(), holds)).into());

    let unexpected =
        json!({ "type": "externalState", "resource": { "type": "command", "command": "nobody runs this" } });
    let all = condition(json!({ "type": "composite", "mode": "all", "conditions": [keyword, unexpected] }));
    let mut state = CompletionState::default();
    assert!(!check(&all, &mut state, 1, &output("no"), &host).await.unwrap().complete);
}
