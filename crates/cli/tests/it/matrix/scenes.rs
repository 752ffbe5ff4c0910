//! The scenes that every backend plays on every layer: a whole job, an interrupt, a kill, commands that are left running.

use std::process::Stdio;

use rustix::process::Signal;

use super::backend::{MatrixBackend, Pair};
use crate::acp;
use crate::collector::{SpanCollector, assert_healthy};
use crate::event_order::assert_in_order;
use crate::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, builder, coding,
    model, signal, until,
};
use crate::vendors::{interrupted_in_a_tool, killed_in_a_tool};

pub fn main_job(pair: &Pair) {
    let project = CliTestProject::new();
    let model = model(&pair.with_own_tool_names(&builder()));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model, &["run"]);
    collector.watch(&mut command);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    pair.assert_layer(&run);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert!(run.of_type("session_started").all(|event| event["backend"] == pair.name()));
    let statuses = project.statuses();
    assert!(statuses.iter().all(|(_, status)| *status == "passed"), "{statuses:?}");
    assert_eq!(project.read("work-A.txt"), "built\n");
    assert!(run.of_type("tool_result").all(|event| event["is_error"] == false));
    let mut names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    // The agent reports calls of one turn as they come.
    names[1..3].sort_unstable();
    assert_eq!(names[..3], ["mcp__autonoe__create", "Bash", "mcp__autonoe__set_status"]);
    assert_eq!(run.of_type("trouble").collect::<Vec<_>>(), Vec::<&serde_json::Value>::new());
    assert_in_order(&run);
    assert_no_processes_left(&project);
    assert_script_followed(&model);
    assert_healthy(&collector.spans(), 4);
    if pair.shows_model_calls() {
        let calls = collector.spans().iter().filter(|span| span.kind() == "chat").count();
        assert_eq!(calls, model.requests().len());
    }
}

pub fn main_job_in_workspace(pair: &Pair) {
    let project = CliTestProject::new().in_workspace().in_repository();
    let model = model(&pair.with_own_tool_names(&builder()));
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    pair.assert_layer(&run);
    assert_script_followed(&model);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    let landings: Vec<_> = run.of_type("landing").map(|event| (&event["branch"], &event["why"])).collect();
    assert_eq!(landings, [(&"main".into(), &serde_json::Value::Null); 3]);
    for id in ["A", "B", "C"] {
        assert_eq!(project.read(&format!("work-{id}.txt")), "built\n");
    }
    assert_eq!(project.git(&["log", "--format=%s"]).lines().count(), 4);
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    assert_no_processes_left(&project);
}

pub fn kill_in_workspace(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace().in_repository();
    let model = model(&pair.with_own_tool_names(&[acp::WAITING_ONCE, &coding("A", "passed")].concat()));
    let mut command = pair.command(&project, &model, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_no_processes_left(&project);
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_eq!(project.read("work-A.txt"), "built\n");
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    assert_no_processes_left(&project);
}

pub fn interrupt(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&always(STUBBORN)));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model, &["run"]);
    collector.watch(&mut command);
    interrupted_in_a_tool(&project, command);
    let spans = collector.spans();
    let cut_off = spans.iter().filter(|span| span.error() == Some("cut_off"));
    let cut_off: Vec<_> = cut_off.map(|span| span.kind()).collect();
    match pair.backend {
        MatrixBackend::Native | MatrixBackend::Claude => assert_eq!(cut_off, ["execute_tool"], "{spans:?}"),
        // Their model calls end after the tools in them.
        MatrixBackend::Codex | MatrixBackend::Gemini | MatrixBackend::CodexAcp => {
            assert!(cut_off.contains(&"chat"), "{spans:?}")
        }
    }
}

pub fn interrupted_call(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\nfault = { kind = 'silence', times = 99 }"));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model, &["run"]);
    collector.watch(&mut command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the model was called", || !model.requests().is_empty());
    signal(&child, Signal::INT);
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    let spans = collector.spans();
    let calls: Vec<_> = spans.iter().filter(|span| span.kind() == "chat").map(|span| span.error()).collect();
    assert_eq!(calls, [Some("cut_off")], "{spans:?}");
}

pub fn kill(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&[acp::WAITING_ONCE, &coding("A", "passed")].concat()));
    killed_in_a_tool(&project, pair.command(&project, &model, &["run"]), || true);
    pair.run(&project, &model, &["run"]).assert_ended("all_passed", 0);
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

pub fn background(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&always(LEAVES_COMMANDS)));
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("session_ended").next().expect("a session")["outcome"], "completed");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

pub const STUBBORN: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "trap '' TERM INT; (trap '' TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300" } }]
  [[conversation.turn]]
  text = "x"
"#;

pub const LEAVES_COMMANDS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "tail -f SPEC.md > one.txt & echo left" } }]
  [[conversation.turn]]
  expect = "left"
  call = [{ tool = "Bash", input = { command = "tail -f SPEC.md", run_in_background = true } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;
