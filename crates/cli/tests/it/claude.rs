//! The real Claude Code, driven through the binary, on a scripted model.

use super::support::{Place, always, assert_followed, builder, model};
use super::vendors::{Vendor, vendor};

fn claude() -> Option<Vendor> {
    vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude")
}

#[test]
fn claude_does_the_main_job() {
    let Some(claude) = claude() else { return };
    let place = Place::new();
    let model = model(&builder());
    let run = claude.run(&place, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert!(run.of_type("session_started").all(|event| event["backend"] == "claude"));
    let statuses = place.statuses();
    assert!(statuses.iter().all(|(_, status)| *status == "passed"), "{statuses:?}");
    assert_followed(&model);
}

#[test]
fn claude_is_held_by_the_same_gates() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(HOSTILE));
    let run = claude.run(&place, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 4, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!place.path("../outside.txt").exists());
    assert_followed(&model);
}

/// A write to the status file, a dangerous command, a denied command in a chain, a write outside the project.
const HOSTILE: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Write", input = { file_path = ".autonoe/status.json", content = "{}" } }]
  [[conversation.turn]]
  expect = "Direct writes to .autonoe/"
  call = [{ tool = "Bash", input = { command = "rm -rf ~" } }]
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "ls && curl http://127.0.0.1:1/" } }]
  [[conversation.turn]]
  expect = "'curl' is not in the list"
  call = [{ tool = "Write", input = { file_path = "../outside.txt", content = "x" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;
