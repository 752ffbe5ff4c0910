//! The real Claude Code, driven through the binary, on a scripted model.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, coding, model, until,
};
use super::vendors::{TestVendor, kill_in, killed_in_a_tool, vendor};

pub fn claude() -> Option<TestVendor> {
    vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude")
}

#[test]
fn claude_goes_through_the_same_gates() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(HOSTILE));
    let run = claude.run(&project, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 4, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("../outside.txt").exists());
    assert_script_followed(&model);
}

#[test]
fn claude_changes_nothing_in_sync() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "passed")]);
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
    let run = claude.run(&project, &model, &["sync", "--backend", "claude", "-n", "1"]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 2, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("src.txt").exists() && !project.path("other.txt").exists());
    assert_script_followed(&model);
}

#[test]
fn claude_can_block_a_deliverable() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = model(&[coding("A", "blocked"), coding("B", "passed")].concat());
    let run = claude.run(&project, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.statuses(), [("A".to_owned(), "blocked"), ("B".to_owned(), "passed")]);
    assert_script_followed(&model);
}

#[test]
fn the_fallback_takes_over_when_claude_is_out_of_quota() {
    let Some(claude) = claude() else { return };
    let (spent, working) = (model(QUOTA_EXHAUSTED), model(&coding("A", "passed")));
    let run = |args: &[&str]| {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let config = format!("[providers.other]\nbase_url = '{}'\n", working.base_url());
        project.write("../home/.config/autonoe/config.toml", &config);
        let mut command = claude.command(&project, &spent, args);
        command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "test-token-never-real");
        RunOutput::from(command.output().expect("started"))
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
    assert!(helped.stderr.contains("switching to native"), "{}", helped.stderr);
    assert_script_followed(&working);
}

#[test]
fn a_background_sub_agent_is_waited_for() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(SUB_AGENT);
    let run = claude.run(&project, &model, &["run", "--backend", "claude"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    assert_eq!(project.read("by-the-sub-agent.txt"), "x\n");
    assert_script_followed(&model);
}

/// The main agent replies while its sub-agent works, and finishes after it.
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
fn claude_is_restarted_after_a_crash() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&[LONG_COMMAND_ONCE, &coding("A", "passed")].concat());
    let mut command = claude.command(&project, &model, &["run", "--backend", "claude"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.path("ready.txt").exists());
    kill_in(&project, |line| line.contains("--input-format"));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["outcome"], "execution_error", "{first}");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

#[test]
fn resume_continues_a_claude_conversation_after_a_kill() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&[LONG_COMMAND_ONCE, &coding("A", "passed")].concat());
    killed_in_a_tool(&project, claude.command(&project, &model, &["run", "--backend", "claude"]), || {
        records(&project).values().any(|text| text.contains("tail -f"))
    });
    let before = records(&project);
    let run = claude.run(&project, &model, &["run", "--backend", "claude", "--resume"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    let after = records(&project);
    assert!(
        before.iter().all(|(name, text)| after.get(name) == Some(text)),
        "the earlier conversation is unchanged"
    );
    let new: Vec<_> = after.iter().filter(|(name, _)| !before.contains_key(*name)).collect();
    assert!(matches!(&new[..], [(_, text)] if text.contains("tail -f")), "{new:?}");
    assert_script_followed(&model);
}

/// Claude Code's conversation files by path.
fn records(project: &CliTestProject) -> BTreeMap<PathBuf, String> {
    let projects = project.journal().with_file_name("home/.claude/projects");
    let directories = fs::read_dir(projects).into_iter().flatten().flatten();
    let files =
        directories.flat_map(|directory| fs::read_dir(directory.path()).into_iter().flatten().flatten());
    files.filter_map(|file| Some((file.path(), fs::read_to_string(file.path()).ok()?))).collect()
}

#[test]
fn a_rejected_claude_key_is_reported_with_a_hint() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\nfault = { kind = 'status', status = 401, message = 'invalid x-api-key', times = 99 }\n\
         [[conversation.turn]]\ntext = 'never'",
    ));
    let run = claude.run(&project, &model, &["run", "--backend", "claude"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "not_logged_in");
    assert!(run.stderr.contains("/login"), "{}", run.stderr);
}

#[test]
fn a_missing_claude_is_reported_with_a_hint() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let output = project.autonoe(None).args(["run", "--backend", "claude"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`claude` is not on the PATH") && stderr.contains("doctor"), "{stderr}");
}

/// A long command in the first conversation only.
const LONG_COMMAND_ONCE: &str = "[[conversation]]\nplays = 1\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'echo ready > ready.txt; tail -f ready.txt' } }]\n[[conversation.turn]]\ntext = 'x'\n\
     [[conversation.turn]]\ncall = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
     [[conversation.turn]]\ntext = 'done'\n";

/// The service's answer to a subscriber who has used up the five-hour limit.
const QUOTA_EXHAUSTED: &str = "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'status', status = 429, times = 99, \
     message = 'usage limit', headers = { \
     'anthropic-ratelimit-unified-status' = 'rejected', 'anthropic-ratelimit-unified-reset' = '4102444800', \
     'anthropic-ratelimit-unified-representative-claim' = 'five_hour', \
     'anthropic-ratelimit-unified-5h-status' = 'rejected', 'anthropic-ratelimit-unified-5h-reset' = '4102444800', \
     'anthropic-ratelimit-unified-overage-status' = 'rejected', \
     'anthropic-ratelimit-unified-overage-disabled-reason' = 'org_level_disabled' } }\n\
     [[conversation.turn]]\ntext = 'never'";

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
