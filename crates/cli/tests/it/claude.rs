//! The real Claude Code, driven through the binary, on a scripted model.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use super::support::{Place, Run, always, assert_followed, assert_nothing_left, coding, model, wait_until};
use super::vendors::{Vendor, kill_in, killed_in_a_tool, vendor};

pub fn claude() -> Option<Vendor> {
    vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude")
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

#[test]
fn claude_changes_nothing_in_sync() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "passed")]);
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Write", input = { file_path = "src.txt", content = "x" } }]
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo x > other.txt" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let run = claude.run(&place, &model, &["sync", "--backend", "claude", "-n", "1"]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 2, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!place.path("src.txt").exists() && !place.path("other.txt").exists());
    assert_followed(&model);
}

#[test]
fn what_claude_cannot_do_is_blocked() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = model(&[coding("A", "blocked"), coding("B", "passed")].concat());
    let run = claude.run(&place, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(place.statuses(), [("A".to_owned(), "blocked"), ("B".to_owned(), "passed")]);
    assert_followed(&model);
}

#[test]
fn claude_is_out_of_quota_and_another_agent_goes_on() {
    let Some(claude) = claude() else { return };
    let (spent, working) = (model(USED_UP), model(&coding("A", "passed")));
    let run = |args: &[&str]| {
        let place = Place::with_status(&[("A", "pending")]);
        let config = format!("[providers.other]\nbase_url = '{}'\n", working.base_url());
        place.write("../home/.config/autonoe/config.toml", &config);
        let mut command = claude.command(&place, &spent, args);
        command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "test-token-never-real");
        Run::from(command.output().expect("started"))
    };
    let alone = run(&["run", "--backend", "claude"]);
    alone.assert_ended("quota_exceeded", 5);
    assert_eq!(alone.outcome()["resets_at"], "2100-01-01T00:00:00Z");

    let helped = run(&["run", "--backend", "claude", "--fallback", "native:other/any"]);
    helped.assert_ended("all_passed", 0);
    let changes: Vec<_> = helped.of_type("backend_changed").collect();
    assert_eq!(changes.len(), 1);
    assert_eq!((&changes[0]["from"], &changes[0]["to"]), (&"claude".into(), &"native".into()));
    assert_eq!(changes[0]["reason"], "quota_exceeded");
    assert!(helped.stderr.contains("native steps in"), "{}", helped.stderr);
    assert_followed(&working);
}

#[test]
fn a_sub_agent_in_the_background_is_waited_for() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(SUB_AGENT);
    let run = claude.run(&place, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    assert_eq!(place.read("by-the-sub-agent.txt"), "x\n");
    assert_followed(&model);
}

/// It says something while its sub-agent works, and finishes when that has ended.
const SUB_AGENT: &str = r#"
  [[conversation]]
  when = "write the file"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "for i in 1 2 3 4 5; do sleep 0.2; done; echo x > by-the-sub-agent.txt" } }]
  [[conversation.turn]]
  text = "The file is there."
  [[conversation]]
  [[conversation.turn]]
  call = [{ tool = "Agent", input = { description = "a file", prompt = "write the file", subagent_type = "general-purpose" } }]
  [[conversation.turn]]
  text = "I wait."
  [[conversation.turn]]
  expect = "The file is there."
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

#[test]
fn a_claude_that_dies_is_started_again() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&[LONG_COMMAND_ONCE, &coding("A", "passed")].concat());
    let mut command = claude.command(&place, &model, &["run", "--backend", "claude"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    kill_in(&place, |line| line.contains("--input-format"));
    let run = Run::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["outcome"], "execution_error", "{first}");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_nothing_left(&place);
    assert_followed(&model);
}

#[test]
fn a_conversation_with_claude_is_taken_up_after_autonoe_was_killed() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&[LONG_COMMAND_ONCE, &coding("A", "passed")].concat());
    killed_in_a_tool(&place, claude.command(&place, &model, &["run", "--backend", "claude"]), || {
        records(&place).values().any(|text| text.contains("tail -f"))
    });
    let before = records(&place);
    let run = claude.run(&place, &model, &["run", "--backend", "claude", "--resume"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    let after = records(&place);
    assert!(
        before.iter().all(|(name, text)| after.get(name) == Some(text)),
        "the earlier one stays as it was"
    );
    let new: Vec<_> = after.iter().filter(|(name, _)| !before.contains_key(*name)).collect();
    assert!(matches!(&new[..], [(_, text)] if text.contains("tail -f")), "{new:?}");
    assert_followed(&model);
}

/// What Claude Code has written down of its conversations, by the names of the files.
fn records(place: &Place) -> BTreeMap<PathBuf, String> {
    let projects = place.journal().with_file_name("home/.claude/projects");
    let directories = fs::read_dir(projects).into_iter().flatten().flatten();
    let files =
        directories.flat_map(|directory| fs::read_dir(directory.path()).into_iter().flatten().flatten());
    files.filter_map(|file| Some((file.path(), fs::read_to_string(file.path()).ok()?))).collect()
}

#[test]
fn a_key_that_claude_cannot_use_is_told_with_the_next_step() {
    let Some(claude) = claude() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\nfault = { kind = 'status', status = 401, message = 'invalid x-api-key', times = 99 }\n\
         [[conversation.turn]]\ntext = 'never'",
    ));
    let run = claude.run(&place, &model, &["run", "--backend", "claude"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "not_logged_in");
    assert!(run.stderr.contains("/login"), "{}", run.stderr);
}

#[test]
fn without_any_agent_the_ways_to_go_on_are_named() {
    let place = Place::with_status(&[("A", "pending")]);
    let output = place.autonoe(None).args(["run", "--backend", "claude"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no `claude` on the search path") && stderr.contains("doctor"), "{stderr}");
}

/// The same for the first conversation alone.
const LONG_COMMAND_ONCE: &str = "[[conversation]]\nplays = 1\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'echo ready > ready.txt; tail -f ready.txt' } }]\n[[conversation.turn]]\ntext = 'x'\n\
     [[conversation.turn]]\ncall = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
     [[conversation.turn]]\ntext = 'done'\n";

/// The answer of the service to a subscriber who has used up five hours' worth.
const USED_UP: &str = "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'status', status = 429, times = 99, \
     message = 'usage limit', headers = { \
     'anthropic-ratelimit-unified-status' = 'rejected', 'anthropic-ratelimit-unified-reset' = '4102444800', \
     'anthropic-ratelimit-unified-representative-claim' = 'five_hour', \
     'anthropic-ratelimit-unified-5h-status' = 'rejected', 'anthropic-ratelimit-unified-5h-reset' = '4102444800', \
     'anthropic-ratelimit-unified-overage-status' = 'rejected', \
     'anthropic-ratelimit-unified-overage-disabled-reason' = 'org_level_disabled' } }\n\
     [[conversation.turn]]\ntext = 'never'";

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
