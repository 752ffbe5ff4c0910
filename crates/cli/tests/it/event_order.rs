//! Seed 003's event order, checked for every backend: the model is called, works and answers; every tool call has a result;
//! the end comes once. The seed's spinner is our `working`, which ends with `model_done`.

use serde_json::Value;

use super::support::RunOutput;

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
pub fn assert_in_order(run: &RunOutput) {
    assert_eq!(out_of_order(run), Vec::<String>::new());
    assert!(run.of_type("model_asked").count() >= 4, "each session calls the model");
}
