//! Layer 3: Completion, alone and put together.

use autonoe_core::plan::Said;
use autonoe_workflow::definition::Completion;
use autonoe_workflow::{CompletionContext, CompletionResult, Condition, ConditionState, Context};
use serde_json::{Value, json};

use crate::stage::{Elsewhere, Played, Reply, Stage, answers, created, definition, exits, said, says};

fn condition(json: Value) -> Completion {
    serde_json::from_value(json).unwrap()
}

async fn ask(
    what: &Completion,
    state: &mut ConditionState,
    iteration: u32,
    said: &Said,
    outside: &Elsewhere,
) -> Result<CompletionResult, autonoe_core::fault::Fault> {
    let context = Context { iteration, ..Context::default() };
    let fill = |text: &str| text.replace("{uv-issue}", "7");
    let over = CompletionContext { context: &context, said, is_through: false, fill: &fill };
    Condition::new(what, state).check(&over, outside).await
}

async fn play(completion: Value, stage: &Stage) -> Played {
    let agent = json!({ "completion": completion, "stepLoopLimit": 50 });
    let mut steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    if agent["completion"].to_string().contains("tructured") {
        steps["steps"]["work"]["output"] = json!({ "type": "object" });
    }
    let (_place, definition) = definition(agent, steps, &[("work.md", "Work.")]);
    stage.play(created(definition, &[]).unwrap()).await
}

/// CompletionHandler: judged on the iteration just finished: a budget of 3 runs 3
#[tokio::test]
async fn a_budget_of_three_iterations_runs_three() {
    for spelling in ["iterationBudget", "iterate", "count:iteration"] {
        let stage = Stage::saying(vec![says("ok")]);
        let played = play(json!({ "type": spelling, "maxIterations": 3 }), &stage).await;
        assert!(played.result.success);
        assert_eq!((played.result.iterations, stage.asked().len()), (3, 3));
        assert_eq!(played.result.reason.as_deref(), Some("3 of 3 iterations are done."));
    }
}

#[tokio::test]
async fn a_budget_of_three_checks_runs_three() {
    let stage = Stage::saying(vec![says("ok")]);
    let played = play(json!({ "type": "checkBudget", "maxChecks": 3 }), &stage).await;
    assert!(played.result.success);
    assert_eq!(stage.asked().len(), 3);
}

/// A keyword in iteration 2 ends it at 2
#[tokio::test]
async fn a_keyword_in_the_second_iteration_ends_it_there() {
    for keywords in [json!(["NEVER", "DONE"]), json!("DONE")] {
        let stage = Stage::saying(vec![says("not done"), says("All DONE now"), says("never said")]);
        let played = play(json!({ "type": "keywordSignal", "keywords": keywords }), &stage).await;
        assert!(played.result.success);
        assert_eq!(played.result.iterations, 2);
        assert_eq!(played.result.reason.as_deref(), Some("The agent said 'DONE' in iteration 2."));
    }
}

#[tokio::test]
async fn a_structured_signal_is_looked_for_in_the_answer() {
    let schema = json!({ "type": "object", "properties": { "ok": { "const": true } }, "required": ["ok"] });
    for completion in [
        json!({ "type": "structuredSignal", "schema": schema }),
        json!({ "type": "detect:structured", "signalType": "finished" }),
        json!({ "type": "structuredSignal", "requiredFields": { "ok": true } }),
    ] {
        let right = json!({ "ok": true, "signal": "finished" });
        let stage = Stage::saying(vec![
            Reply { text: "ok: true, signal: finished".into(), ..answers(json!({})) },
            answers(json!({ "ok": false, "type": "other" })),
            answers(right),
        ]);
        let played = play(completion.clone(), &stage).await;
        assert!(played.result.success, "{completion}: {:?}", played.report.outcome);
        assert_eq!(played.result.iterations, 3, "{completion}");
    }
}

#[tokio::test]
async fn an_external_state_is_what_a_command_prints_or_how_it_exits() {
    let resource = json!({ "type": "command", "command": "state" });
    let stage = Stage::saying(vec![says("ok")]);
    let ends = vec![exits(0, "open\n"), exits(3, "closed\n")];
    stage.outside().commands.lock().unwrap().insert("state".into(), ends.clone());
    let played =
        play(json!({ "type": "externalState", "resource": resource, "targetState": "closed" }), &stage).await;
    assert_eq!((played.result.success, played.result.iterations), (true, 2));

    let stage = Stage::saying(vec![says("ok")]);
    stage
        .outside()
        .commands
        .lock()
        .unwrap()
        .insert("state".into(), vec![exits(1, ""), exits(1, ""), exits(0, "")]);
    let played = play(json!({ "type": "externalState", "resource": resource }), &stage).await;
    assert_eq!((played.result.success, played.result.iterations), (true, 3));
}

#[tokio::test]
async fn an_external_state_is_what_a_file_holds() {
    let outside = Elsewhere::default();
    let there =
        condition(json!({ "type": "externalState", "resource": { "type": "file", "path": "out.txt" } }));
    let state = condition(
        json!({ "type": "externalState", "resource": { "type": "file", "path": "out.txt" }, "targetState": "green" }),
    );
    let mut states = [ConditionState::default(), ConditionState::default()];
    let nothing = said("");
    assert!(!ask(&there, &mut states[0], 1, &nothing, &outside).await.unwrap().complete);
    outside.files.lock().unwrap().insert("out.txt".into(), "red\n".into());
    assert!(ask(&there, &mut states[0], 1, &nothing, &outside).await.unwrap().complete);
    assert!(!ask(&state, &mut states[1], 1, &nothing, &outside).await.unwrap().complete);
    outside.files.lock().unwrap().insert("out.txt".into(), "green\n".into());
    assert!(ask(&state, &mut states[1], 1, &nothing, &outside).await.unwrap().complete);
}

#[tokio::test]
async fn an_issue_that_cannot_be_asked_about_is_not_done_and_that_is_told() {
    let what = json!({ "type": "poll:state",
        "resource": { "type": "github-issue", "issue": "7", "repository": "a/b" } });
    let stage = Stage::saying(vec![says("ok")]);
    *stage.outside().issue.lock().unwrap() =
        vec![Err("gh is not logged in".into()), Ok("OPEN".into()), Ok("CLOSED".into())];
    let played = play(what, &stage).await;
    assert_eq!((played.result.success, played.result.iterations), (true, 3));
    let told = format!("{:?}", stage.told());
    assert!(told.contains("gh is not logged in"), "{told}");
}

#[tokio::test]
async fn a_program_is_given_the_context_and_decides() {
    let what = condition(json!({ "type": "custom", "program": "decide" }));
    let outside = Elsewhere::default();
    *outside.programs.lock().unwrap() = vec![
        exits(0, r#"{"complete": false, "reason": "two are left"}"#),
        exits(0, r#"{"complete": true}"#),
        exits(1, ""),
        exits(0, "yes"),
    ];
    let mut state = ConditionState::default();
    let result = ask(&what, &mut state, 4, &said("words"), &outside).await.unwrap();
    assert_eq!((result.complete, result.reason.as_str()), (false, "two are left"));
    let result = ask(&what, &mut state, 5, &said("words"), &outside).await.unwrap();
    assert!(result.complete && !result.reason.is_empty());
    for _ in 0..2 {
        let fault = ask(&what, &mut state, 6, &said(""), &outside).await.unwrap_err();
        assert_eq!(fault.code, "completion");
    }
    let given = outside.given.lock().unwrap();
    assert_eq!((&given[0]["iteration"], &given[0]["response"]), (&json!(4), &json!("words")));
}

/// 状態更新のタイミング: `isComplete() / getReason() は更新後の状態を返す`; CompletionHandler: `check @side-effect 内部状態の更新`, `isComplete @post 最後のcheck()結果を反映`, `getReason @post isComplete()=true なら空文字でない`, `check @post complete=true なら reason が設定`
#[tokio::test]
async fn only_asking_changes_how_a_condition_stands() {
    let what = condition(json!({ "type": "checkBudget", "maxChecks": 2 }));
    let outside = Elsewhere::default();
    let mut state = ConditionState::default();
    for round in 1..=3 {
        let result = ask(&what, &mut state, 1, &said(""), &outside).await.unwrap();
        let before = state.clone();
        let condition = Condition::new(&what, &mut state);
        assert_eq!(condition.is_complete(), round >= 2);
        assert_eq!(condition.is_complete(), result.complete);
        assert_eq!(condition.reason(), result.reason);
        assert!(!condition.is_complete() || !condition.reason().is_empty());
        assert_eq!(condition.condition_states(), [("checkBudget".to_owned(), round >= 2)].into());
        assert_eq!(state, before, "looking changes nothing");
    }
}

/// CompletionHandler: `@pre context.iteration > 0`
#[tokio::test]
async fn a_condition_is_never_asked_before_the_first_iteration() {
    let stage = Stage::saying(vec![says("ok")]);
    stage.outside().programs.lock().unwrap().push(exits(0, r#"{"complete": true}"#));
    let agent = json!({ "completion": { "type": "custom", "program": "decide" } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (place, read) = definition(agent, steps, &[("work.md", "Work.")]);
    std::fs::write(place.path().join("worker/decide"), "#!/bin/sh\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path().join("worker/decide"), executable).unwrap();
    let read = autonoe_workflow::load(&read.directory).unwrap();
    stage.play(created(read, &[]).unwrap()).await;
    assert_eq!(stage.outside().given.lock().unwrap()[0]["iteration"], 1);
}

/// Composite Completion契約: `mode="any": 一つでも complete=true なら完了（OR）`
#[tokio::test]
async fn any_ends_with_the_first_that_holds_whichever_it_is() {
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    let budget = json!({ "type": "iterationBudget", "maxIterations": 3 });
    for conditions in [json!([budget, keyword]), json!([keyword, budget])] {
        for mode in ["any", "or", "first"] {
            let what = json!({ "type": "composite", "mode": mode, "conditions": conditions });
            let stage = Stage::saying(vec![says("no"), says("DONE")]);
            assert_eq!(play(what.clone(), &stage).await.result.iterations, 2);
            let stage = Stage::saying(vec![says("no")]);
            assert_eq!(play(what, &stage).await.result.iterations, 3);
        }
    }
}

/// Composite Completion契約: `mode="all": 全て complete=true で完了（AND）`
#[tokio::test]
async fn all_ends_when_each_holds() {
    let what = json!({ "type": "meta:composite", "operator": "and", "conditions": [
        { "type": "iterationBudget", "maxIterations": 2 }, { "type": "keywordSignal", "keywords": ["DONE"] },
    ] });
    let stage = Stage::saying(vec![says("DONE"), says("no"), says("DONE")]);
    assert_eq!(play(what, &stage).await.result.iterations, 3);
}

/// Composite Completion契約: `評価順序: conditions配列の順序で評価`, `短絡評価: mode="any" で true発見時、以降は評価しない`, `getConditionStates @post 各conditionの個別状態を返す`
#[tokio::test]
async fn conditions_are_asked_in_order_and_no_further_than_needed() {
    let outside = Elsewhere::default();
    outside.commands.lock().unwrap().insert("look".into(), vec![exits(0, "")]);
    let command = json!({ "type": "externalState", "resource": { "type": "command", "command": "look" } });
    let keyword = json!({ "type": "keywordSignal", "keywords": ["DONE"] });
    let checks = json!({ "type": "checkBudget", "maxChecks": 9 });
    let any =
        condition(json!({ "type": "composite", "mode": "any", "conditions": [checks, keyword, command] }));
    let mut state = ConditionState::default();
    ask(&any, &mut state, 1, &said("DONE"), &outside).await.unwrap();
    let states = Condition::new(&any, &mut state).condition_states();
    let expected = [("1 checkBudget", false), ("2 keywordSignal", true), ("3 externalState", false)];
    assert_eq!(states, expected.map(|(name, holds)| (name.to_owned(), holds)).into());

    let unexpected =
        json!({ "type": "externalState", "resource": { "type": "command", "command": "nobody runs this" } });
    let all = condition(json!({ "type": "composite", "mode": "all", "conditions": [keyword, unexpected] }));
    let mut state = ConditionState::default();
    assert!(!ask(&all, &mut state, 1, &said("no"), &outside).await.unwrap().complete);
}
