//! Seed 003's order of what an agent does, held to the events of every backend: the model is asked, works, answers; tools are called and
//! answer; the end comes once. What its callbacks call a spinner is `working`, which ends with `model_done`.

use serde_json::Value;

use super::support::{Place, Run, builder, model};
use super::{claude, codex, gemini};

/// Walks the events of each session and says what is out of order.
fn out_of_order(run: &Run) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut asked, mut spinning, mut calls, mut ended) = (false, false, Vec::<Value>::new(), false);
    for event in &run.events {
        let kind = event["type"].as_str().expect("a type");
        match kind {
            "session_started" => (asked, spinning, ended) = (false, false, false),
            "model_asked" if std::mem::replace(&mut asked, true) => {
                wrong.push("the model is asked again before it has answered".to_owned());
            }
            "working" | "chunk" | "thinking" | "text" if !asked => {
                wrong.push(format!("{kind} without a model"))
            }
            "working" => spinning = true,
            "model_done" => {
                spinning = false;
                if !std::mem::take(&mut asked) {
                    wrong.push("a model is done that was not asked".to_owned());
                }
            }
            "tool_call" => calls.push(event["id"].clone()),
            "tool_result" => {
                let before = calls.len();
                calls.retain(|id| *id != event["id"]);
                if calls.len() == before {
                    wrong.push("a tool answers that was not called".to_owned());
                }
            }
            "end" if std::mem::replace(&mut ended, true) => wrong.push("a second end".to_owned()),
            "session_ended" => {
                if asked || spinning {
                    wrong.push("the session is over and its model is not done".to_owned());
                }
                if !ended {
                    wrong.push("the session is over and its agent did not say so".to_owned());
                }
                wrong.extend(calls.drain(..).map(|id| format!("the call {id} has no answer")));
            }
            _ => {}
        }
    }
    wrong
}

#[track_caller]
fn assert_in_order(run: &Run) {
    run.assert_ended("all_passed", 0);
    assert_eq!(out_of_order(run), Vec::<String>::new());
    assert!(run.of_type("model_asked").count() >= 4, "each session asks");
}

#[test]
fn seed_003_native() {
    assert_in_order(&Place::new().run(&model(&builder()), &["run"]));
}

#[test]
fn seed_003_claude() {
    let Some(claude) = claude::claude() else { return };
    assert_in_order(&claude.run(&Place::new(), &model(&builder()), &["run", "--backend", "claude"]));
}

#[test]
fn seed_003_codex() {
    let Some(codex) = codex::codex() else { return };
    let model = model(&codex::in_its_words(&builder()));
    assert_in_order(&codex.run(&Place::new(), &model, &["run", "--backend", "codex"]));
}

#[test]
fn seed_003_gemini() {
    let Some(gemini) = gemini::gemini() else { return };
    let model = model(&gemini::in_its_words(&builder()));
    let output = gemini::command(&gemini, &Place::new(), &model, &["run"]).output().expect("started");
    assert_in_order(&Run::from(output));
}
