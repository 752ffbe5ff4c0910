//! The built-in browser: Playwright's MCP server with the system's Chromium, in the session's room.

use std::path::Path;

use super::codex::codex;
use super::gemini;
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, model,
};
use super::vendors::{TestVendor, vendor};

const CHROMIUM: &str = "/usr/bin/chromium";

const LOOKS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "mcp__playwright__browser_navigate", input = { url = "data:text/html,<title>Tally</title><h1>Seven lines</h1>" } }]
  [[conversation.turn]]
  expect = "Page Title: Tally"
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

fn playwright() -> Option<TestVendor> {
    if !Path::new(CHROMIUM).exists() {
        assert!(std::env::var_os("CI").is_none(), "chromium must be installed under CI");
        eprintln!("SKIPPED: there is no {CHROMIUM}");
        return None;
    }
    vendor("playwright-mcp", ".bin/playwright-mcp")
}

#[test]
fn the_native_agent_opens_a_page() {
    let Some(playwright) = playwright() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.run(&project, &model, &["run", "--backend", "native"]).assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn codex_opens_a_page() {
    let (Some(playwright), Some(codex)) = (playwright(), codex()) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.offer(&project);
    codex.run(&project, &model, &["run", "--backend", "codex"]).assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn gemini_opens_a_page() {
    let (Some(playwright), Some(gemini)) = (playwright(), gemini::gemini()) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script =
        LOOKS.replace("mcp__playwright__", "mcp_playwright_").replace("mcp__autonoe__", "mcp_autonoe_");
    let model = model(&always(&script));
    playwright.offer(&project);
    let output = gemini::command(&gemini, &project, &model, &["run"]).output().expect("started");
    RunOutput::from(output).assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn claude_opens_a_page() {
    let (Some(playwright), Some(claude)) =
        (playwright(), vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude"))
    else {
        return;
    };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.offer(&project);
    claude.run(&project, &model, &["run", "--backend", "claude"]).assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}
