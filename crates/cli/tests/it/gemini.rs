//! The real Gemini CLI, driven through the binary, on a scripted model.

use std::process::Command;

use autonoe_scripted::Server;

use super::support::{Place, Run, always, assert_followed, builder, model};
use super::vendors::{Vendor, vendor};

fn gemini() -> Option<Vendor> {
    vendor("gemini", "@google/gemini-cli/bundle/gemini.js")
}

/// `autonoe ARGS --backend gemini`, whose model is the scripted one.
fn command(gemini: &Vendor, place: &Place, model: &Server, args: &[&str]) -> Command {
    let mut command = gemini.command(place, model, &[args, &["--backend", "gemini"]].concat());
    command
        .env_remove("ANTHROPIC_API_KEY")
        .env("GEMINI_API_KEY", "test-key-never-real")
        .env("GOOGLE_GEMINI_BASE_URL", model.base_url());
    command
}

fn run(gemini: &Vendor, place: &Place, model: &Server, args: &[&str]) -> Run {
    Run::from(command(gemini, place, model, args).output().expect("started"))
}

/// A script with the names that the Gemini CLI has for tools.
pub fn in_its_words(script: &str) -> String {
    script
        .replace(r#""mcp__autonoe__"#, r#""mcp_autonoe_"#)
        .replace(r#"tool = "Bash""#, r#"tool = "run_shell_command""#)
        .replace(r#"tool = "Write""#, r#"tool = "write_file""#)
}

#[test]
fn gemini_does_the_main_job() {
    let Some(gemini) = gemini() else { return };
    let place = Place::new();
    let model = model(&in_its_words(&builder()));
    let run = run(&gemini, &place, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert!(run.of_type("session_started").all(|event| event["backend"] == "gemini"));
    let statuses = place.statuses();
    assert!(statuses.iter().all(|(_, status)| *status == "passed"), "{statuses:?}");
    assert_followed(&model);
}

#[test]
fn gemini_is_held_by_the_same_gates() {
    let Some(gemini) = gemini() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&in_its_words(&always(HOSTILE)));
    let run = run(&gemini, &place, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 3, "{:#?}", run.events);
    assert!(!place.path("../outside.txt").exists());
    assert_followed(&model);
}

/// A write to the status file, a dangerous command, a denied command in a chain, a write outside the project. The last
/// one it refuses by itself.
pub const HOSTILE: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Write", input = { file_path = ".autonoe/status.json", content = "{}" } }]
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "rm -rf ~" } }]
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "ls && curl http://127.0.0.1:1/" } }]
  [[conversation.turn]]
  call = [{ tool = "Write", input = { file_path = "../outside.txt", content = "x" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;
