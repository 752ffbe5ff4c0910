//! Resuming after the process was killed.

use serde_json::{Value, json};

use crate::run_fixture::{RunFixture, ScriptedReply, SessionRequest, answers, build_agent, definition, says};

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

/// The same session of the same step gives the same reply in every process.
fn reply(
    count: &std::sync::Mutex<std::collections::BTreeMap<String, usize>>,
    request: &SessionRequest,
) -> ScriptedReply {
    let key = format!("{}{}", request.step, request.wants_answer);
    let mut counts = count.lock().unwrap();
    let number = counts.entry(key).or_default();
    *number += 1;
    match (request.step.as_str(), request.wants_answer, *number) {
        ("look", true, round) => answers(json!({ "passed": round > 1, "reason": "checked" })),
        ("work", _, round) => says(if round % 3 == 0 { "GOOD" } else { "bad" }),
        _ => says("ok"),
    }
}

fn fixture() -> RunFixture {
    let count = std::sync::Mutex::new(std::collections::BTreeMap::new());
    RunFixture::new(move |_, request| reply(&count, request))
}

#[tokio::test]
async fn killed_before_any_write_it_resumes_without_repeating_finished_steps() {
    let (_dir, definition) = definition(json!({}), steps(), &PROMPTS);
    let whole = fixture();
    let expected = whole.run(build_agent(definition.clone(), &[]).unwrap()).await;
    assert!(expected.result.success, "{:?}", expected.report.outcome);
    for point in 1.. {
        let fixture = fixture();
        fixture.kill_after(point);
        let Ok(first) = fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), false).await
        else {
            continue;
        };
        if first.code() != "killed" {
            assert!(point > 20, "it was killed at each of its writes");
            break;
        }
        // The output of a session that was not on record is lost, so the model gets the same prompt again.
        fixture.stay_alive();
        let before = fixture.saved().unwrap()["flow"]["path"].as_array().unwrap().len();
        let stage_again = fixture.clone();
        let finished =
            stage_again.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), true).await.unwrap();
        let path = finished.path();
        assert!(path.len() >= before, "no finished step is repeated: {path:?}");
        let summaries = finished.result.summaries.len();
        assert_eq!(summaries, finished.result.iterations as usize);
    }
}

#[tokio::test]
async fn a_finished_session_that_was_not_judged_is_judged_and_not_repeated() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let (_dir, definition) =
        definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &PROMPTS);
    let fixture = RunFixture::replying(vec![says("DONE")]);
    // The start of the run, the prompt, the start and the end of the session are written; what follows is not.
    fixture.kill_after(4);
    let finished = fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), false).await.unwrap();
    assert_eq!(finished.code(), "killed");
    fixture.stay_alive();
    let finished = fixture.run_or_resume(build_agent(definition, &[]).unwrap(), true).await.unwrap();
    assert!(finished.result.success, "{:?}", finished.report.outcome);
    assert_eq!(fixture.requests().len(), 1);
}

#[tokio::test]
async fn retries_and_visits_are_counted_across_processes() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "check": {
        "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 3 } },
    } } } });
    let (_dir, definition) = definition(json!({}), steps, &PROMPTS);
    let fixture = RunFixture::replying(vec![says("bad")]);
    fixture.kill_after(9);
    let finished = fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), false).await.unwrap();
    assert_eq!(finished.code(), "killed");
    fixture.stay_alive();
    let finished = fixture.run_or_resume(build_agent(definition, &[]).unwrap(), true).await.unwrap();
    assert_eq!(finished.code(), "step_retry_exhausted");
    assert_eq!(finished.result.iterations, 4, "once and three retries, over both processes");
}

#[tokio::test]
async fn a_changed_definition_is_refused_with_a_diff() {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (_dir, before) = definition(agent.clone(), steps.clone(), &[("work.md", "Work well.")]);
    let fixture = RunFixture::replying(vec![says("no")]);
    fixture.kill_after(5);
    fixture.run_or_resume(build_agent(before, &[]).unwrap(), false).await.unwrap();
    fixture.stay_alive();
    let (_dir, after) = definition(agent, steps, &[("work.md", "Work badly.")]);
    let fault = fixture.run_or_resume(build_agent(after, &[]).unwrap(), true).await.err().unwrap();
    assert_eq!(fault.code, "definition_changed");
    assert!(
        fault.message.contains("-Work well.") && fault.message.contains("+Work badly."),
        "{}",
        fault.message
    );
}

#[tokio::test]
async fn changed_arguments_are_refused_by_name() {
    let agent = json!({
        "parameters": { "city": { "type": "string" } },
        "completion": { "type": "keywordSignal", "keywords": ["DONE"] },
    });
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (_dir, definition) = definition(agent, steps, &[("work.md", "Work in {uv-city}.")]);
    let fixture = RunFixture::replying(vec![says("no")]);
    fixture.kill_after(5);
    fixture
        .run_or_resume(build_agent(definition.clone(), &[("city", "Tokyo")]).unwrap(), false)
        .await
        .unwrap();
    fixture.stay_alive();
    let fault = fixture
        .run_or_resume(build_agent(definition, &[("city", "Kyoto")]).unwrap(), true)
        .await
        .err()
        .unwrap();
    assert_eq!(fault.code, "definition_changed");
    assert!(fault.message.contains("city"));
}

#[tokio::test]
async fn a_run_that_was_killed_before_saving_anything_starts() {
    let (_dir, definition) = definition(json!({}), steps(), &PROMPTS);
    let fixture = fixture();
    fixture.kill_after(0);
    let fault =
        fixture.run_or_resume(build_agent(definition.clone(), &[]).unwrap(), false).await.err().unwrap();
    assert_eq!(fault.code, "killed");
    fixture.stay_alive();
    let finished = fixture.run_or_resume(build_agent(definition, &[]).unwrap(), true).await.unwrap();
    assert!(finished.result.success);
}
