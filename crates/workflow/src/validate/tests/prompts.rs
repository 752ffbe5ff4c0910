//! Prompts and their variables.

use serde_json::{Value, json};

use super::{ProblemRow, assert_reported, assert_valid, errors, validate};
use crate::samples::{patched, with_files};

fn plan(prompt: Value, words: &'static str) -> ProblemRow {
    (
        json!({}),
        json!({ "steps": { "plan": { "prompt": prompt } } }),
        "steps.json",
        "$.steps.plan.prompt",
        words,
    )
}

#[test]
fn every_prompt_exists() {
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
    assert_valid(&patched(
        json!({}),
        json!({ "steps": { "plan": { "prompt": { "path": "none.md", "fallback": "plan.md" } } } }),
    ));
}

#[test]
fn a_prompt_is_inside_its_directory() {
    errors(vec![
        plan(json!("../agent.json"), "not a path inside"),
        plan(json!("/etc/passwd"), "not a path inside"),
        plan(json!({ "path": "plan.md", "fallback": "../x" }), "not a path inside"),
        plan(json!({ "c1": "..", "c2": "b", "c3": "c" }), "not a path inside"),
    ]);
}

#[test]
fn an_empty_prompt_and_a_missing_fallback_are_reported() {
    let blank = with_files(json!({}), json!({}), &[("prompts/plan.md", " \n")]);
    assert_reported(
        &validate(&blank).errors,
        "steps.json",
        "$.steps.plan.prompt",
        "prompts/plan.md is empty",
    );
    let missing =
        patched(json!({}), json!({ "steps": { "build": { "prompt": { "fallback": "none.md" } } } }));
    assert_reported(
        &validate(&missing).warnings,
        "steps.json",
        "$.steps.build.prompt",
        "not needed at the moment",
    );
}

/// 変数マッピング契約: {uv-origin}
#[test]
fn an_undefined_variable_is_reported_with_its_file() {
    for (file, at, path) in [
        ("prompts/plan.md", "steps.json", "$.steps.plan.prompt"),
        ("prompts/steps/review/code/f_default.md", "steps.json", "$.steps.review.prompt"),
        ("prompts/system.md", "agent.json", "$.systemPrompt"),
    ] {
        let wrong = with_files(json!({}), json!({}), &[(file, "Go to {uv-origin}.")]);
        assert_reported(&validate(&wrong).errors, at, path, &format!("{file} uses {{uv-origin}}"));
    }
    let system = with_files(json!({}), json!({}), &[("prompts/system.md", "{uv-summary}")]);
    assert_reported(&validate(&system).errors, "agent.json", "$.systemPrompt", "is not defined");
    let other = with_files(json!({}), json!({}), &[("prompts/plan.md", "{uv-summary}")]);
    assert_reported(&validate(&other).errors, "steps.json", "$.steps.plan.prompt", "{uv-summary}");
}

#[test]
fn the_default_system_prompt_is_validated() {
    let wrong = with_files(json!({ "systemPrompt": null }), json!({}), &[("prompts/system.md", "{uv-x}")]);
    assert_reported(&validate(&wrong).errors, "agent.json", "$.systemPrompt", "{uv-x}");
}

#[test]
fn variables_without_a_value_in_the_first_iteration_are_reported_for_the_entry_step_only() {
    for name in ["completed_iterations", "previous_summary", "previous_response"] {
        let text = format!("{{uv-{name}}}");
        let early = with_files(json!({}), json!({}), &[("prompts/plan.md", &text)]);
        let result = validate(&early);
        assert!(result.valid(), "{:?}", result.errors);
        assert_reported(
            &result.warnings,
            "steps.json",
            "$.steps.plan.prompt",
            "no value in the first iteration",
        );
        assert_eq!(result.warnings.len(), 1);
    }
}

#[test]
fn standard_input_is_read_only_if_the_agent_says_so() {
    let files = [("prompts/build.md", "{uv-summary} {uv-input_text}")];
    let unread = with_files(json!({}), json!({}), &files);
    assert_reported(&validate(&unread).warnings, "steps.json", "$.steps.build.prompt", "standard input");
    assert_valid(&with_files(json!({ "stdin": true }), json!({}), &files));
}
