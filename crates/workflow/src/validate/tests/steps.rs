//! Each step by itself, and its sub-steps.

use serde_json::{Value, json};

use super::{Row, errors, fine, told, validate, warnings};
use crate::samples::{of_steps, patched};

fn row(step: &str, over: Value, path: &'static str, words: &'static str) -> Row {
    (json!({}), json!({ "steps": { step: over } }), "steps.json", path, words)
}

#[test]
fn the_entry_step_exists_and_is_no_part_of_another() {
    let entry = |name: &str, words| -> Row {
        (json!({}), json!({ "entryStep": name }), "steps.json", "$.entryStep", words)
    };
    errors(vec![entry("nowhere", "no step of this name"), entry("format", "cannot come first")]);
}

#[test]
fn what_is_wrong_with_a_step_is_told() {
    errors(vec![
        row("a.b", json!({ "prompt": "plan.md" }), "$.steps[\"a.b\"]", "name of a step"),
        row("plan", json!({ "prompt": null }), "$.steps.plan.prompt", "no prompt"),
        row("format", json!({ "prompt": null }), "$.steps.format.prompt", "no prompt"),
        row("plan", json!({ "prompt": null }), "$.steps.plan.output", "nobody gives this answer"),
        row(
            "plan",
            json!({ "output": { "type": "thing" } }),
            "$.steps.plan.output",
            "is not valid under any",
        ),
        row("plan", json!({ "output": "object" }), "$.steps.plan.output", "must be an object"),
        row(
            "plan",
            json!({ "output": { "$ref": "https://example.com/a.json" } }),
            "$.steps.plan.output",
            "no JSON Schema",
        ),
        row(
            "plan",
            json!({ "output": { "$ref": "file:///etc/passwd" } }),
            "$.steps.plan.output",
            "no JSON Schema",
        ),
        row(
            "build",
            json!({ "check": { "action": "lint" } }),
            "$.steps.build.check.action",
            "one of these: test",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": "a" }, { "type": "test", "command": "b" }] }),
            "$.steps.build.actions[1].type",
            "the same name",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": " ", "command": "a" }] }),
            "$.steps.build.actions[0].type",
            "needs a name",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": " " }] }),
            "$.steps.build.actions[0].command",
            "no command",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": "a", "timeLimit": 0 }] }),
            "$.steps.build.actions[0].timeLimit",
            "from 1 to 3600",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": "a", "timeLimit": 3601 }] }),
            "$.steps.build.actions[0].timeLimit",
            "from 1 to 3600",
        ),
        row(
            "lint",
            json!({ "check": { "keywords": [] } }),
            "$.steps.lint.check.keywords",
            "no word to look for",
        ),
        row(
            "lint",
            json!({ "check": { "keywords": ["A", " "] } }),
            "$.steps.lint.check.keywords[1]",
            "blank",
        ),
        row("lint", json!({ "prompt": null }), "$.steps.lint.check", "nobody can say a word"),
    ]);
}

#[test]
fn a_step_may_do_no_more_than_the_agent() {
    let steps = json!({ "steps": { "plan": { "access": "write" } } });
    errors(vec![(
        json!({ "access": "read" }),
        steps.clone(),
        "steps.json",
        "$.steps.plan.access",
        "may only read",
    )]);
    fine(&patched(json!({ "access": "write" }), steps));
}

#[test]
fn what_is_wrong_with_an_input_is_told() {
    let input = |name: &str, from: &str| json!({ "inputs": { name: { "from": from } } });
    errors(vec![
        row("build", input("x", "nowhere.a"), "$.steps.build.inputs.x.from", "no step of this name"),
        row("build", input("x", "plan."), "$.steps.build.inputs.x.from", "the field has no name"),
        row("build", input("x", "repair.a"), "$.steps.build.inputs.x.from", "repair has no fields"),
        row("build", input("2x", "plan"), "$.steps.build.inputs.2x", "name of a variable"),
        row("build", input("visit", "plan"), "$.steps.build.inputs.visit", "supplied in every run"),
        row("build", input("issue", "plan"), "$.steps.build.inputs.issue", "has the same name"),
        row("build", input("HOME_TEAM", "plan"), "$.steps.build.inputs.HOME_TEAM", "has the same name"),
    ]);
}

#[test]
fn a_gateway_must_branch_and_only_a_gateway_does() {
    let branch = json!({ "field": "summary", "targets": { "a": "build" } });
    errors(vec![
        row("review", json!({ "branch": null }), "$.steps.review", "a gateway must branch"),
        row(
            "review",
            json!({ "branch": null, "check": { "type": "keyword", "keywords": ["X"], "onPass": { "complete": true } } }),
            "$.steps.review",
            "`onPass` and `onFail`",
        ),
        row("plan", json!({ "branch": branch }), "$.steps.plan.branch", "only a gateway branches"),
        row(
            "review",
            json!({ "branch": { "targets": { "good": null, "bad": null } } }),
            "$.steps.review.branch.targets",
            "leads nowhere",
        ),
        row(
            "review",
            json!({ "branch": { "targets": { "bad": "nowhere" } } }),
            "$.steps.review.branch.targets.bad",
            "no step of this name",
        ),
        row(
            "review",
            json!({ "branch": { "default": "nowhere" } }),
            "$.steps.review.branch.default",
            "no step of this name",
        ),
        row(
            "review",
            json!({ "branch": { "from": "nowhere" } }),
            "$.steps.review.branch.from",
            "no step of this name",
        ),
        row(
            "review",
            json!({ "branch": { "from": "repair" } }),
            "$.steps.review.branch.from",
            "repair has no fields",
        ),
        row("review", json!({ "branch": { "field": "a..b" } }), "$.steps.review.branch.field", "no name"),
        row(
            "review",
            json!({ "output": null }),
            "$.steps.review.branch",
            "its own answer, and that has no fields",
        ),
        row("review", json!({ "prompt": null }), "$.steps.review.branch", "no prompt to give one"),
    ]);
    fine(&patched(
        json!({}),
        json!({ "steps": {
        "review": { "branch": null, "output": null, "check": {
            "type": "prompt", "prompt": "plan.md", "onPass": { "complete": true }, "onFail": { "next": "build" } } },
    } }),
    ));
}

#[test]
fn values_that_an_answer_cannot_have_are_told() {
    warnings(vec![
        row(
            "review",
            json!({ "branch": { "field": "verdct" } }),
            "$.steps.review.branch.field",
            "one of these: verdict",
        ),
        row(
            "review",
            json!({ "branch": { "targets": { "ugly": "build" } } }),
            "$.steps.review.branch.targets.ugly",
            "cannot have this value",
        ),
        row(
            "review",
            json!({ "output": { "properties": { "verdict": { "enum": ["good", "bad", "ugly"] } } } }),
            "$.steps.review.branch.targets",
            "lead nowhere: ugly",
        ),
        row("review", json!({ "next": "build" }), "$.steps.review.next", "where its branch leads"),
    ]);
}

/// SubStep契約: sequential: true; 並列実行はスコープ外。並列実行について: 複数のAgentインスタンスを起動
#[test]
fn sub_steps_are_run_one_after_the_other() {
    errors(vec![row(
        "polish",
        json!({ "sequential": false }),
        "$.steps.polish.sequential",
        "several agents, as a fleet does",
    )]);
    fine(&patched(json!({}), json!({ "steps": { "polish": { "sequential": true } } })));
}

/// SubStep契約: subStep: 親ステップの一部として実行
#[test]
fn a_sub_step_is_part_of_exactly_one_step() {
    errors(vec![
        row("lone", json!({ "type": "subStep", "prompt": "plan.md" }), "$.steps.lone.type", "no step has it"),
        row(
            "repair",
            json!({ "subSteps": ["lint"] }),
            "$.steps.lint.type",
            "part of several steps: polish, repair",
        ),
        row(
            "polish",
            json!({ "subSteps": ["format", "lint", "lint"] }),
            "$.steps.polish.subSteps[2]",
            "twice",
        ),
        row(
            "polish",
            json!({ "subSteps": ["format", "lint", "repair"] }),
            "$.steps.polish.subSteps[2]",
            "not a sub-step",
        ),
        row(
            "polish",
            json!({ "subSteps": ["format", "lint", "x"] }),
            "$.steps.polish.subSteps[2]",
            "no step of this name",
        ),
        row("review", json!({ "subSteps": ["format"] }), "$.steps.review.subSteps", "has no sub-steps"),
        row("format", json!({ "next": "review" }), "$.steps.format.next", "leads nowhere by itself"),
        row(
            "lint",
            json!({ "check": { "onPass": { "next": "review" } } }),
            "$.steps.lint.check.onPass.next",
            "leads nowhere by itself",
        ),
        row("format", json!({ "subSteps": ["lint"] }), "$.steps.format.subSteps", "no sub-steps of its own"),
        row(
            "format",
            json!({ "branch": { "field": "a", "targets": { "a": "build" } } }),
            "$.steps.format.branch",
            "only a gateway",
        ),
    ]);
}

#[test]
fn nothing_else_leads_to_a_sub_step() {
    errors(vec![
        row("plan", json!({ "next": "format" }), "$.steps.plan.next", "as a part of its own step"),
        row(
            "build",
            json!({ "check": { "onPass": { "next": "format" } } }),
            "$.steps.build.check.onPass.next",
            "as a part of",
        ),
        row(
            "build",
            json!({ "check": { "onFail": { "retry": { "fallbackStep": "format" } } } }),
            "$.steps.build.check.onFail.retry.fallbackStep",
            "as a part of",
        ),
        row(
            "review",
            json!({ "branch": { "targets": { "bad": "format" } } }),
            "$.steps.review.branch.targets.bad",
            "as a part of",
        ),
        row(
            "build",
            json!({ "escalation": { "escalateTo": "format" } }),
            "$.steps.build.escalation.escalateTo",
            "as a part of",
        ),
    ]);
}

#[test]
fn an_agent_has_not_too_many_steps() {
    let many = |count: usize| {
        let steps = (0..count).map(|number| (format!("a{number}"), json!({ "prompt": "plan.md" })));
        validate(&of_steps(json!({}), Value::Object(steps.collect())))
    };
    told(
        &many(501).errors,
        "steps.json",
        "$.steps",
        "there are 501 steps, and an agent may have at most 500",
    );
    assert!(many(500).errors.iter().all(|error| error.path != "$.steps"));
}
