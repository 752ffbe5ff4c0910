//! Single steps and their sub-steps.

use serde_json::{Value, json};

use super::{ProblemRow, assert_reported, assert_valid, errors, validate, warnings};
use crate::samples::{of_steps, patched};

fn row(step: &str, over: Value, path: &'static str, words: &'static str) -> ProblemRow {
    (json!({}), json!({ "steps": { step: over } }), "steps.json", path, words)
}

#[test]
fn the_entry_step_exists_and_is_not_a_sub_step() {
    let entry = |name: &str, words| -> ProblemRow {
        (json!({}), json!({ "entryStep": name }), "steps.json", "$.entryStep", words)
    };
    errors(vec![entry("nowhere", "no step with this name"), entry("format", "cannot be the entry step")]);
}

#[test]
fn problems_of_a_step_are_reported() {
    errors(vec![
        row("a.b", json!({ "prompt": "plan.md" }), "$.steps[\"a.b\"]", "not a valid step name"),
        row("plan", json!({ "prompt": null }), "$.steps.plan.prompt", "no prompt"),
        row("format", json!({ "prompt": null }), "$.steps.format.prompt", "no prompt"),
        row("plan", json!({ "prompt": null }), "$.steps.plan.output", "cannot return an answer"),
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
            "not a valid JSON Schema",
        ),
        row(
            "plan",
            json!({ "output": { "$ref": "file:///etc/passwd" } }),
            "$.steps.plan.output",
            "not a valid JSON Schema",
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
            "has no name",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": " " }] }),
            "$.steps.build.actions[0].command",
            "no command",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": { "parameter": "tests" } }] }),
            "$.steps.build.actions[0].command.parameter",
            "no parameter with this name",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": { "parameter": "issue" } }] }),
            "$.steps.build.actions[0].command.parameter",
            "not a string",
        ),
        row(
            "build",
            json!({ "actions": [{ "type": "test", "command": { "parameter": "label" } }] }),
            "$.steps.build.actions[0].command.parameter",
            "may have no value",
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
        row("lint", json!({ "check": { "keywords": [] } }), "$.steps.lint.check.keywords", "no keywords"),
        row(
            "lint",
            json!({ "check": { "keywords": ["A", " "] } }),
            "$.steps.lint.check.keywords[1]",
            "blank",
        ),
        row("lint", json!({ "prompt": null }), "$.steps.lint.check", "no response to search"),
    ]);
}

#[test]
fn a_step_cannot_have_more_access_than_its_agent() {
    let steps = json!({ "steps": { "plan": { "access": "write" } } });
    errors(vec![(
        json!({ "access": "read" }),
        steps.clone(),
        "steps.json",
        "$.steps.plan.access",
        "may only read",
    )]);
    assert_valid(&patched(json!({ "access": "write" }), steps));
}

#[test]
fn problems_of_an_input_are_reported() {
    let input = |name: &str, from: &str| json!({ "inputs": { name: { "from": from } } });
    errors(vec![
        row("build", input("x", "nowhere.a"), "$.steps.build.inputs.x.from", "no step with this name"),
        row("build", input("x", "plan."), "$.steps.build.inputs.x.from", "the field name is empty"),
        row("build", input("x", "repair.a"), "$.steps.build.inputs.x.from", "repair has no `output`"),
        row("build", input("2x", "plan"), "$.steps.build.inputs.2x", "not a valid variable name"),
        row(
            "build",
            input("visit", "plan"),
            "$.steps.build.inputs.visit",
            "reserved for a variable of the run",
        ),
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
        row("plan", json!({ "branch": branch }), "$.steps.plan.branch", "only a gateway can branch"),
        row(
            "review",
            json!({ "branch": { "targets": { "good": null, "bad": null } } }),
            "$.steps.review.branch.targets",
            "has no targets",
        ),
        row(
            "review",
            json!({ "branch": { "targets": { "bad": "nowhere" } } }),
            "$.steps.review.branch.targets.bad",
            "no step with this name",
        ),
        row(
            "review",
            json!({ "branch": { "default": "nowhere" } }),
            "$.steps.review.branch.default",
            "no step with this name",
        ),
        row(
            "review",
            json!({ "branch": { "from": "nowhere" } }),
            "$.steps.review.branch.from",
            "no step with this name",
        ),
        row(
            "review",
            json!({ "branch": { "from": "repair" } }),
            "$.steps.review.branch.from",
            "repair has no `output`",
        ),
        row(
            "review",
            json!({ "branch": { "field": "a..b" } }),
            "$.steps.review.branch.field",
            "name is empty",
        ),
        row(
            "review",
            json!({ "output": null }),
            "$.steps.review.branch",
            "its own answer, but has no `output`",
        ),
        row("review", json!({ "prompt": null }), "$.steps.review.branch", "but has no prompt"),
    ]);
    assert_valid(&patched(
        json!({}),
        json!({ "steps": {
        "review": { "branch": null, "output": null, "check": {
            "type": "prompt", "prompt": "plan.md", "onPass": { "complete": true }, "onFail": { "next": "build" } } },
    } }),
    ));
}

#[test]
fn values_that_an_answer_cannot_have_are_reported() {
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
            "have no target: ugly",
        ),
        row("review", json!({ "next": "build" }), "$.steps.review.next", "follows its branch"),
    ]);
}

/// SubStep契約: sequential: true; 並列実行はスコープ外。並列実行について: 複数のAgentインスタンスを起動
#[test]
fn sub_steps_are_run_one_after_the_other() {
    errors(vec![row(
        "polish",
        json!({ "sequential": false }),
        "$.steps.polish.sequential",
        "start several agents",
    )]);
    assert_valid(&patched(json!({}), json!({ "steps": { "polish": { "sequential": true } } })));
}

/// SubStep契約: subStep: 親ステップの一部として実行
#[test]
fn a_sub_step_is_part_of_exactly_one_step() {
    errors(vec![
        row(
            "lone",
            json!({ "type": "subStep", "prompt": "plan.md" }),
            "$.steps.lone.type",
            "no step lists it",
        ),
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
            "no step with this name",
        ),
        row("review", json!({ "subSteps": ["format"] }), "$.steps.review.subSteps", "cannot have sub-steps"),
        row("format", json!({ "next": "review" }), "$.steps.format.next", "cannot have a next step"),
        row(
            "lint",
            json!({ "check": { "onPass": { "next": "review" } } }),
            "$.steps.lint.check.onPass.next",
            "cannot have a next step",
        ),
        row("format", json!({ "subSteps": ["lint"] }), "$.steps.format.subSteps", "cannot have sub-steps"),
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
        row("plan", json!({ "next": "format" }), "$.steps.plan.next", "as a part of its parent step"),
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
fn the_number_of_steps_is_limited() {
    let many = |count: usize| {
        let steps = (0..count).map(|number| (format!("a{number}"), json!({ "prompt": "plan.md" })));
        validate(&of_steps(json!({}), Value::Object(steps.collect())))
    };
    assert_reported(
        &many(501).errors,
        "steps.json",
        "$.steps",
        "there are 501 steps; an agent can have at most 500",
    );
    assert!(many(500).errors.iter().all(|error| error.path != "$.steps"));
}
