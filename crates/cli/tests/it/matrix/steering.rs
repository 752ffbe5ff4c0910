//! Messages of the user, in the middle of a session and before one.

use std::process::{Child, Command, Stdio};

use autonoe_scripted::{LoggedRequest, ScriptedAnswer};

use super::backend::{MatrixBackend, Pair};
use crate::support::{CliTestProject, RunOutput, assert_script_followed, coding, model, until};

const MESSAGE: &str = "keep the numbers in sqlite";

/// Waits in a command until the user has sent something, then needs two more turns.
const WAITS: &str = r#"
[[conversation]]
name = "waits"
when = ["one deliverable", "Open, in order of priority:\n- `A`"]
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "touch waiting; while [ ! -f sent ]; do sleep 0.05; done" } }]
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo done > second.txt" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "A is passed."
  [[conversation.turn]]
  text = "Noted."
"#;

fn steer(project: &CliTestProject, args: &[&str]) -> String {
    let output = project.autonoe(None).args(args).output().expect("started");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{args:?}: {text}");
    text
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

/// Sends a message while a command of the first session waits.
pub fn told(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let script = [WAITS, &coding("B", "passed")].concat();
    let model = model(&pair.with_own_tool_names(&script));
    let child = start(pair.command(&project, &model, &["run"]));
    until("the command waits", || project.agents_path("waiting").exists());
    let answer = steer(&project, &["tell", "keep the numbers", "in sqlite"]);
    assert!(answer.starts_with("Sent."), "{answer}");
    // Longer than a run takes to notice it.
    std::thread::sleep(std::time::Duration::from_secs(1));
    std::fs::write(project.agents_path("sent"), "").expect("written");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    let sessions: Vec<_> = run.of_type("user_message").map(|event| event["session"].clone()).collect();
    let session_with_it = if takes_messages(pair) { 1 } else { 2 };
    assert_eq!(sessions, [session_with_it], "{}", run.stderr);
    let bodies: Vec<String> = model.requests().iter().map(|request| request.request.to_string()).collect();
    let first = bodies.iter().position(|body| body.contains(MESSAGE)).expect("the model got the message");
    let second_session = bodies.iter().position(|body| body.contains("- `B`") && !body.contains("- `A`"));
    assert_eq!(first < second_session.expect("a second session"), takes_messages(pair), "request {first}");
    let later = steer(&project, &["tell", "something else"]);
    assert!(later.contains("No run is in progress"), "{later}");
}

fn takes_messages(pair: &Pair) -> bool {
    match pair.backend {
        MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::Codex => true,
        MatrixBackend::Gemini | MatrixBackend::CodexAcp => false,
    }
}

/// Sends a message during the last turn of a session: it is not over yet.
pub fn told_at_the_end(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script = r#"
    [[conversation]]
      [[conversation.turn]]
      call = [{ tool = "Bash", input = { command = "touch waiting; while [ ! -f sent ]; do sleep 0.05; done" } }]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      text = "A is passed."
      fault = { kind = 'slow', millis = 300 }
      [[conversation.turn]]
      expect = "keep the numbers in sqlite"
      text = "Noted."
    "#;
    let model = model(&pair.with_own_tool_names(script));
    let child = start(pair.command(&project, &model, &["run"]));
    until("the command waits", || project.agents_path("waiting").exists());
    std::fs::write(project.agents_path("sent"), "").expect("written");
    let is_last = |request: &LoggedRequest| matches!(&request.answer, ScriptedAnswer::Turn(at) | ScriptedAnswer::Fault(at) if at.turn == 3);
    until("the last turn begins", || model.requests().iter().any(is_last));
    steer(&project, &["tell", MESSAGE]);
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(run.of_type("user_message").count(), 1);
}
