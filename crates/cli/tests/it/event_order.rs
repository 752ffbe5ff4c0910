//! Seed 003's event order, checked for every backend: the model is called, works and answers; every tool call has a result;
//! the end comes once. The seed's spinner is our `working`, which ends with `model_done`.

use serde_json::Value;

use super::support::{CliTestProject, RunOutput, builder, model};
use super::{claude, codex, gemini};

/// Describes every event that is out of order in its session.
fn out_of_order(run: &RunOutput) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut asked, mut spinning, mut calls, mut ended) = (false, false, Vec::<Value>::new(), false);
    for event in &run.events {
        let kind = event["type"].as_str().expect("a type");
        match kind {
            "session_started" => (asked, spinning, ended) = (false, false, false),
            "model_asked" if std::mem::replace(&mut asked, true) => {
                wrong.push("the model is called again before it has answered".to_owned());
            }
            "working" | "chunk" | "thinking" | "text" if !asked => {
                wrong.push(format!("{kind} without a model"))
            }
            "working" => spinning = true,
            "model_done" => {
                spinning = false;
                if !std::mem::take(&mut asked) {
                    wrong.push("model_done without model_asked".to_owned());
                }
            }
            "tool_call" => calls.push(event["id"].clone()),
            "tool_result" => {
                let before = calls.len();
                calls.retain(|id| *id != event["id"]);
                if calls.len() == before {
                    wrong.push("a result without a call".to_owned());
                }
            }
            "end" if std::mem::replace(&mut ended, true) => wrong.push("a second end".to_owned()),
            "session_ended" => {
                if asked || spinning {
                    wrong.push("the session ended before model_done".to_owned());
                }
                if !ended {
                    wrong.push("the session ended without an end event".to_owned());
                }
                wrong.extend(calls.drain(..).map(|id| format!("the call {id} has no result")));
            }
            _ => {}
        }
    }
    wrong
}

#[track_caller]
fn assert_in_order(run: &RunOutput) {
    run.assert_ended("all_passed", 0);
    assert_eq!(out_of_order(run), Vec::<String>::new());
    assert!(run.of_type("model_asked").count() >= 4, "each session calls the model");
}

#[test]
fn seed_003_native() {
    assert_in_order(&CliTestProject::new().run(&model(&builder()), &["run"]));
}

#[test]
fn seed_003_claude() {
    let Some(claude) = claude::claude() else { return };
    assert_in_order(&claude.run(&CliTestProject::new(), &model(&builder()), &["run", "--backend", "claude"]));
}

#[test]
fn seed_003_codex() {
    let Some(codex) = codex::codex() else { return };
    let model = model(&codex::with_own_tool_names(&builder()));
    assert_in_order(&codex.run(&CliTestProject::new(), &model, &["run", "--backend", "codex"]));
}

#[test]
fn seed_003_gemini() {
    let Some(gemini) = gemini::gemini() else { return };
    let model = model(&gemini::with_own_tool_names(&builder()));
    let output =
        gemini::command(&gemini, &CliTestProject::new(), &model, &["run"]).output().expect("started");
    assert_in_order(&RunOutput::from(output));
}
