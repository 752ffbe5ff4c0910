//! The completion condition.

use serde_json::{Value, json};

use super::{ProblemRow, assert_valid, errors};
use crate::samples::patched;

fn when(completion: Value, path: &'static str, words: &'static str) -> ProblemRow {
    (json!({ "completion": completion }), json!({}), "agent.json", path, words)
}

#[test]
fn problems_of_a_condition_are_reported() {
    errors(vec![
        when(
            json!({ "type": "iterationBudget", "maxIterations": 0 }),
            "$.completion.maxIterations",
            "at least 1",
        ),
        when(json!({ "type": "checkBudget", "maxChecks": 0 }), "$.completion.maxChecks", "at least 1"),
        when(
            json!({ "type": "iterate", "maxIterations": 101 }),
            "$.completion.maxIterations",
            "ends after 100 iterations",
        ),
        when(json!({ "type": "keywordSignal", "keywords": [] }), "$.completion.keywords", "no keywords"),
        when(json!({ "type": "manual", "completionKeyword": " " }), "$.completion.keywords[0]", "blank"),
        when(json!({ "type": "structuredSignal" }), "$.completion", "any answer would match"),
        when(json!({ "type": "structuredSignal", "signalType": "" }), "$.completion.signalType", "blank"),
        when(
            json!({ "type": "structuredSignal", "schema": { "type": 3 } }),
            "$.completion.schema",
            "not a valid JSON Schema",
        ),
        when(json!({ "type": "custom", "program": "none.sh" }), "$.completion.program", "no such text file"),
        when(
            json!({ "type": "custom", "program": "../x" }),
            "$.completion.program",
            "not a path inside the agent's directory",
        ),
        when(
            json!({ "type": "custom", "program": "/bin/true" }),
            "$.completion.program",
            "not a path inside the agent's directory",
        ),
        when(
            json!({ "type": "custom", "program": "bin/done", "timeLimit": 0 }),
            "$.completion.timeLimit",
            "from 1 to 3600",
        ),
    ]);
}

#[test]
fn problems_of_an_external_state_are_reported() {
    let state = |resource: Value| json!({ "type": "externalState", "resource": resource });
    errors(vec![
        when(state(json!({ "type": "command", "command": " " })), "$.completion.resource.command", "blank"),
        when(
            state(json!({ "type": "command", "command": "a", "timeLimit": 9999 })),
            "$.completion.resource.timeLimit",
            "from 1 to 3600",
        ),
        when(
            state(json!({ "type": "file", "path": "/tmp/x" })),
            "$.completion.resource.path",
            "not a path inside the project",
        ),
        when(
            state(json!({ "type": "file", "path": "a/../../x" })),
            "$.completion.resource.path",
            "not a path inside the project",
        ),
        when(
            state(json!({ "type": "github-issue", "issue": "", "repository": "a/b" })),
            "$.completion.resource.issue",
            "blank",
        ),
        when(
            state(json!({ "type": "github-issue", "issue": "1", "repository": "" })),
            "$.completion.resource.repository",
            "blank",
        ),
        when(
            state(json!({ "type": "github-issue", "issue": "{uv-isue}", "repository": "a/b" })),
            "$.completion.resource.issue",
            "{uv-isue}",
        ),
    ]);
    assert_valid(&patched(
        json!({ "completion": state(json!({ "type": "github-issue", "issue": "{uv-issue}", "repository": "a/b" })) }),
        json!({}),
    ));
}

/// Composite Completion契約
#[test]
fn a_composite_has_conditions_that_are_not_composites_themselves() {
    let composite =
        |conditions: Value| json!({ "type": "composite", "mode": "any", "conditions": conditions });
    errors(vec![
        when(composite(json!([])), "$.completion.conditions", "no condition"),
        when(
            composite(json!([composite(json!([]))])),
            "$.completion.conditions[0]",
            "cannot contain another one",
        ),
        when(
            composite(json!([{ "type": "stepMachine" }, { "type": "checkBudget", "maxChecks": 0 }])),
            "$.completion.conditions[1].maxChecks",
            "at least 1",
        ),
        when(
            composite(json!([{ "type": "externalState",
                "resource": { "type": "github-issue", "issue": "{uv-x}", "repository": "a/b" } }])),
            "$.completion.conditions[0].resource.issue",
            "{uv-x}",
        ),
    ]);
}

#[test]
fn a_structured_signal_needs_a_step_with_an_output() {
    let completion = json!({ "completion": { "type": "structuredSignal", "signalType": "done" } });
    assert_valid(&patched(completion.clone(), json!({})));
    let steps = json!({ "steps": { "plan": { "output": null, "next": null },
        "build": null, "help": null, "repair": null, "polish": null, "format": null, "lint": null, "review": null } });
    errors(vec![(completion, steps, "agent.json", "$.completion", "no step returns a structured answer")]);
}

#[test]
fn every_type_of_condition_can_be_valid() {
    for completion in [
        json!({ "type": "iterationBudget", "maxIterations": 100 }),
        json!({ "type": "keywordSignal", "keywords": ["DONE"] }),
        json!({ "type": "structuredSignal", "requiredFields": { "verdict": "good" } }),
        json!({ "type": "custom", "program": "bin/done" }),
        json!({ "type": "externalState", "resource": { "type": "file", "path": "reports/done.txt" } }),
        json!({ "type": "composite", "mode": "all", "conditions": [{ "type": "stepMachine" }, { "type": "checkBudget", "maxChecks": 1 }] }),
    ] {
        assert_valid(&patched(json!({ "completion": completion }), json!({})));
    }
}
