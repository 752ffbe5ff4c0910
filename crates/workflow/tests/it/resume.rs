//! Going on after the process died.

use serde_json::{Value, json};

use crate::stage::{Asked, Reply, Stage, answers, created, definition, says};

const PROMPTS: [(&str, &str); 2] = [("work.md", "Work."), ("check.md", "Good?")];

fn steps() -> Value {
    json!({ "steps": {
        "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 2 } } },
            "next": "look",
        },
        "look": { "prompt": "work.md", "check": { "type": "prompt", "prompt": "check.md", "onFail": { "next": "work" } }, "next": "after" },
        "after": { "prompt": "work.md" },
    } })
}

/// The same session of the same step answers the same, whichever process asks.
fn reply(count: &std::sync::Mutex<std::collections::BTreeMap<String, usize>>, asked: &Asked) -> Reply {
    let key = format!("{}{}", asked.step, asked.wants_answer);
    let mut counts = count.lock().unwrap();
    let number = counts.entry(key).or_default();
    *number += 1;
    match (asked.step.as_str(), asked.wants_answer, *number) {
        ("look", true, round) => answers(json!({ "passed": round > 1, "reason": "seen" })),
        ("work", _, round) => says(if round % 3 == 0 { "GOOD" } else { "bad" }),
        _ => says("ok"),
    }
}

fn stage() -> Stage {
    let count = std::sync::Mutex::new(std::collections::BTreeMap::new());
    Stage::new(move |_, asked| reply(&count, asked))
}

#[tokio::test]
async fn killed_before_any_write_it_goes_on_where_it_was_and_repeats_nothing_that_ended() {
    let (_place, definition) = definition(json!({}), steps(), &PROMPTS);
    let whole = stage();
    let expected = whole.play(created(definition.clone(), &[]).unwrap()).await;
    assert!(expected.result.success, "{:?}", expected.report.outcome);
    for point in 1.. {
        let stage = stage();
        stage.dies_after(point);
        let Ok(first) = stage.go(created(definition.clone(), &[]).unwrap(), false).await else {
            continue;
        };
        if first.code() != "killed" {
            assert!(point > 20, "it was killed at each of its writes");
            break;
        }
        // What the session said that was not on record when the process died is lost, so the model is asked the same again.
        stage.lives();
        let before = stage.kept().unwrap()["flow"]["path"].as_array().unwrap().len();
        let stage_again = stage.clone();
        let played = stage_again.go(created(definition.clone(), &[]).unwrap(), true).await.unwrap();
        let path = played.path();
        assert!(path.len() >= before, "no step that was left is left again: {path:?}");
        let summaries = played.result.summaries.len();
        assert_eq!(summaries, played.result.iterations as usize);
    }
}

#[tokio::test]
async fn a_session_that_ended_and_was_not_judged_is_judged_and_not_held_again() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let (_place, definition) =
        definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &PROMPTS);
    let stage = Stage::saying(vec![says("DONE")]);
    // The beginning, the words, the start and the end of the session are written; what follows from it is not.
    stage.dies_after(4);
    let played = stage.go(created(definition.clone(), &[]).unwrap(), false).await.unwrap();
    assert_eq!(played.code(), "killed");
    stage.lives();
    let played = stage.go(created(definition, &[]).unwrap(), true).await.unwrap();
    assert!(played.result.success, "{:?}", played.report.outcome);
    assert_eq!(stage.asked().len(), 1);
}

#[tokio::test]
async fn retries_and_visits_are_counted_on() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "check": {
        "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 3 } },
    } } } });
    let (_place, definition) = definition(json!({}), steps, &PROMPTS);
    let stage = Stage::saying(vec![says("bad")]);
    stage.dies_after(9);
    let played = stage.go(created(definition.clone(), &[]).unwrap(), false).await.unwrap();
    assert_eq!(played.code(), "killed");
    stage.lives();
    let played = stage.go(created(definition, &[]).unwrap(), true).await.unwrap();
    assert_eq!(played.code(), "step_retry_exhausted");
    assert_eq!(played.result.iterations, 4, "once and three retries, over both processes");
}

#[tokio::test]
async fn a_definition_that_was_changed_is_refused_with_the_difference() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (_place, before) = definition(agent.clone(), steps.clone(), &[("work.md", "Work well.")]);
    let stage = Stage::saying(vec![says("no")]);
    stage.dies_after(5);
    stage.go(created(before, &[]).unwrap(), false).await.unwrap();
    stage.lives();
    let (_place, after) = definition(agent, steps, &[("work.md", "Work badly.")]);
    let fault = stage.go(created(after, &[]).unwrap(), true).await.err().unwrap();
    assert_eq!(fault.code, "definition_changed");
    assert!(
        fault.message.contains("-Work well.") && fault.message.contains("+Work badly."),
        "{}",
        fault.message
    );
}

#[tokio::test]
async fn other_arguments_are_refused_by_name() {
    let agent = json!({
        "parameters": { "city": { "type": "string" } },
        "completion": { "type": "keywordSignal", "keywords": ["DONE"] },
    });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (_place, definition) = definition(agent, steps, &[("work.md", "Work in {uv-city}.")]);
    let stage = Stage::saying(vec![says("no")]);
    stage.dies_after(5);
    stage.go(created(definition.clone(), &[("city", "Tokyo")]).unwrap(), false).await.unwrap();
    stage.lives();
    let fault = stage.go(created(definition, &[("city", "Kyoto")]).unwrap(), true).await.err().unwrap();
    assert_eq!(fault.code, "definition_changed");
    assert!(fault.message.contains("city"));
}

#[tokio::test]
async fn a_run_that_died_before_it_remembered_anything_begins() {
    let (_place, definition) = definition(json!({}), steps(), &PROMPTS);
    let stage = stage();
    stage.dies_after(0);
    let fault = stage.go(created(definition.clone(), &[]).unwrap(), false).await.err().unwrap();
    assert_eq!(fault.code, "killed");
    stage.lives();
    let played = stage.go(created(definition, &[]).unwrap(), true).await.unwrap();
    assert!(played.result.success);
}
