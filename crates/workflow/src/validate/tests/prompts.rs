//! Prompts and their variables.

use serde_json::{Value, json};

use super::{Row, errors, fine, told, validate};
use crate::samples::{patched, with_files};

fn plan(prompt: Value, words: &'static str) -> Row {
    (
        json!({}),
        json!({ "steps": { "plan": { "prompt": prompt } } }),
        "steps.json",
        "$.steps.plan.prompt",
        words,
    )
}

#[test]
fn every_prompt_is_there() {
    errors(vec![
        plan(json!("none.md"), "there is no prompts/none.md"),
        plan(
            json!({ "path": "none.md", "fallback": "nor.md" }),
            "neither prompts/none.md nor prompts/nor.md",
        ),
        plan(
            json!({ "c1": "a", "c2": "b", "c3": "c", "adaptation": "x" }),
            "neither prompts/a/b/c/f_default_x.md",
        ),
        (
            json!({ "systemPrompt": "none.md" }),
            json!({}),
            "agent.json",
            "$.systemPrompt",
            "no prompts/none.md",
        ),
        (
            json!({}),
            json!({ "steps": { "plan": { "check": { "type": "prompt", "prompt": "none.md" } } } }),
            "steps.json",
            "$.steps.plan.check.prompt",
            "no prompts/none.md",
        ),
    ]);
    fine(&patched(
        json!({}),
        json!({ "steps": { "plan": { "prompt": { "path": "none.md", "fallback": "plan.md" } } } }),
    ));
}

#[test]
fn a_prompt_is_below_its_directory() {
    errors(vec![
        plan(json!("../agent.json"), "no path below"),
        plan(json!("/etc/passwd"), "no path below"),
        plan(json!({ "path": "plan.md", "fallback": "../x" }), "no path below"),
        plan(json!({ "c1": "..", "c2": "b", "c3": "c" }), "no path below"),
    ]);
}

#[test]
fn a_prompt_says_something_and_so_does_its_fallback() {
    let blank = with_files(json!({}), json!({}), &[("prompts/plan.md", " \n")]);
    told(&validate(&blank).errors, "steps.json", "$.steps.plan.prompt", "prompts/plan.md is empty");
    let lost = patched(json!({}), json!({ "steps": { "build": { "prompt": { "fallback": "none.md" } } } }));
    told(&validate(&lost).warnings, "steps.json", "$.steps.build.prompt", "not needed now");
}

/// 変数マッピング契約: {uv-origin}
#[test]
fn a_variable_that_nobody_supplies_is_told_with_its_file() {
    for (file, at, path) in [
        ("prompts/plan.md", "steps.json", "$.steps.plan.prompt"),
        ("prompts/steps/review/code/f_default.md", "steps.json", "$.steps.review.prompt"),
        ("prompts/system.md", "agent.json", "$.systemPrompt"),
    ] {
        let wrong = with_files(json!({}), json!({}), &[(file, "Go to {uv-origin}.")]);
        told(&validate(&wrong).errors, at, path, &format!("{file} uses {{uv-origin}}"));
    }
    let system = with_files(json!({}), json!({}), &[("prompts/system.md", "{uv-summary}")]);
    told(&validate(&system).errors, "agent.json", "$.systemPrompt", "nothing supplies it");
    let other = with_files(json!({}), json!({}), &[("prompts/plan.md", "{uv-summary}")]);
    told(&validate(&other).errors, "steps.json", "$.steps.plan.prompt", "{uv-summary}");
}

#[test]
fn the_system_prompt_is_looked_at_though_nobody_names_it() {
    let wrong = with_files(json!({ "systemPrompt": null }), json!({}), &[("prompts/system.md", "{uv-x}")]);
    told(&validate(&wrong).errors, "agent.json", "$.systemPrompt", "{uv-x}");
}

#[test]
fn what_has_no_value_in_the_first_iteration_is_told_of_the_entry_step_only() {
    for name in ["completed_iterations", "previous_summary", "previous_response"] {
        let text = format!("{{uv-{name}}}");
        let early = with_files(json!({}), json!({}), &[("prompts/plan.md", &text)]);
        let result = validate(&early);
        assert!(result.valid(), "{:?}", result.errors);
        told(&result.warnings, "steps.json", "$.steps.plan.prompt", "no value in the first iteration");
        assert_eq!(result.warnings.len(), 1);
    }
}

#[test]
fn standard_input_is_read_only_if_the_agent_says_so() {
    let files = [("prompts/build.md", "{uv-summary} {uv-input_text}")];
    let unread = with_files(json!({}), json!({}), &files);
    told(&validate(&unread).warnings, "steps.json", "$.steps.build.prompt", "standard input");
    fine(&with_files(json!({ "stdin": true }), json!({}), &files));
}
