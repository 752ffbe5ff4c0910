//! The real Claude Code, driven through the binary, on a scripted model.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::support::{CliTestProject, assert_script_followed, coding, model};
use super::vendors::{TestVendor, killed_in_a_tool, vendor};

pub fn claude() -> Option<TestVendor> {
    vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude")
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
pub const QUOTA_EXHAUSTED: &str = "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'status', status = 429, times = 99, \
     message = 'usage limit', headers = { \
     'anthropic-ratelimit-unified-status' = 'rejected', 'anthropic-ratelimit-unified-reset' = '4102444800', \
     'anthropic-ratelimit-unified-representative-claim' = 'five_hour', \
     'anthropic-ratelimit-unified-5h-status' = 'rejected', 'anthropic-ratelimit-unified-5h-reset' = '4102444800', \
     'anthropic-ratelimit-unified-overage-status' = 'rejected', \
     'anthropic-ratelimit-unified-overage-disabled-reason' = 'org_level_disabled' } }\n\
     [[conversation.turn]]\ntext = 'never'";
