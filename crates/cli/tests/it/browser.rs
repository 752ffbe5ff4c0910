//! The built-in browser, for real: Playwright's MCP server with the Chromium of the system, in the session's room.

use std::path::Path;

use super::codex::codex;
use super::gemini;
use super::support::{Place, Run, always, assert_followed, assert_nothing_left, model};
use super::vendors::{Vendor, vendor};

const CHROMIUM: &str = "/usr/bin/chromium";

/// Looks at a page, then passes.
const LOOKS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "mcp__playwright__browser_navigate", input = { url = "data:text/html,<title>Tally</title><h1>Seven lines</h1>" } }]
  [[conversation.turn]]
  expect = "Page Title: Tally"
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

fn playwright() -> Option<Vendor> {
    if !Path::new(CHROMIUM).exists() {
        assert!(std::env::var_os("CI").is_none(), "chromium must be there under CI");
        eprintln!("SKIPPED: there is no {CHROMIUM}");
        return None;
    }
    vendor("playwright-mcp", ".bin/playwright-mcp")
}

#[test]
fn the_native_agent_looks_at_a_page() {
    let Some(playwright) = playwright() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.run(&place, &model, &["run", "--backend", "native"]).assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn codex_looks_at_a_page() {
    let (Some(playwright), Some(codex)) = (playwright(), codex()) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.offer(&place);
    codex.run(&place, &model, &["run", "--backend", "codex"]).assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn gemini_looks_at_a_page() {
    let (Some(playwright), Some(gemini)) = (playwright(), gemini::gemini()) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let script =
        LOOKS.replace("mcp__playwright__", "mcp_playwright_").replace("mcp__autonoe__", "mcp_autonoe_");
    let model = model(&always(&script));
    playwright.offer(&place);
    let output = gemini::command(&gemini, &place, &model, &["run"]).output().expect("started");
    Run::from(output).assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn claude_looks_at_a_page() {
    let (Some(playwright), Some(claude)) =
        (playwright(), vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude"))
    else {
        return;
    };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(LOOKS));
    playwright.offer(&place);
    claude.run(&place, &model, &["run", "--backend", "claude"]).assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_nothing_left(&place);
}
