//! When the agent is done.

use serde_json::{Value, json};

use super::{Row, errors, fine};
use crate::samples::patched;

fn when(completion: Value, path: &'static str, words: &'static str) -> Row {
    (json!({ "completion": completion }), json!({}), "agent.json", path, words)
}

#[test]
fn what_is_wrong_with_a_condition_is_told() {
    errors(vec![
        when(
            json!({ "type": "iterationBudget", "maxIterations": 0 }),
            "$.completion.maxIterations",
            "from 1",
        ),
        when(json!({ "type": "checkBudget", "maxChecks": 0 }), "$.completion.maxChecks", "from 1"),
        when(
            json!({ "type": "iterate", "maxIterations": 101 }),
            "$.completion.maxIterations",
            "stopped after 100 iterations",
        ),
        when(
            json!({ "type": "keywordSignal", "keywords": [] }),
            "$.completion.keywords",
            "no word to look for",
        ),
        when(json!({ "type": "manual", "completionKeyword": " " }), "$.completion.keywords[0]", "blank"),
        when(json!({ "type": "structuredSignal" }), "$.completion", "any would do"),
        when(json!({ "type": "structuredSignal", "signalType": "" }), "$.completion.signalType", "blank"),
        when(
            json!({ "type": "structuredSignal", "schema": { "type": 3 } }),
            "$.completion.schema",
            "no JSON Schema",
        ),
        when(json!({ "type": "custom", "program": "none.sh" }), "$.completion.program", "no such text file"),
        when(
            json!({ "type": "custom", "program": "../x" }),
            "$.completion.program",
            "no path in the agent's directory",
        ),
        when(
            json!({ "type": "custom", "program": "/bin/true" }),
            "$.completion.program",
            "no path in the agent's directory",
        ),
        when(
            json!({ "type": "custom", "program": "bin/done", "timeLimit": 0 }),
            "$.completion.timeLimit",
            "from 1 to 3600",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_a_state_outside_is_told() {
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
            "no path in the project",
        ),
        when(
            state(json!({ "type": "file", "path": "a/../../x" })),
            "$.completion.resource.path",
            "no path in the project",
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
    fine(&patched(
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
        when(composite(json!([composite(json!([]))])), "$.completion.conditions[0]", "made of others"),
        when(
            composite(json!([{ "type": "stepMachine" }, { "type": "checkBudget", "maxChecks": 0 }])),
            "$.completion.conditions[1].maxChecks",
            "from 1",
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
fn a_structured_signal_needs_a_step_that_gives_one() {
    let completion = json!({ "completion": { "type": "structuredSignal", "signalType": "done" } });
    fine(&patched(completion.clone(), json!({})));
    let steps = json!({ "steps": { "plan": { "output": null, "next": null },
        "build": null, "help": null, "repair": null, "polish": null, "format": null, "lint": null, "review": null } });
    errors(vec![(completion, steps, "agent.json", "$.completion", "no step gives a structured answer")]);
}

#[test]
fn every_kind_of_condition_can_be_right() {
    for completion in [
        json!({ "type": "iterationBudget", "maxIterations": 100 }),
        json!({ "type": "keywordSignal", "keywords": ["DONE"] }),
        json!({ "type": "structuredSignal", "requiredFields": { "verdict": "good" } }),
        json!({ "type": "custom", "program": "bin/done" }),
        json!({ "type": "externalState", "resource": { "type": "file", "path": "reports/done.txt" } }),
        json!({ "type": "composite", "mode": "all", "conditions": [{ "type": "stepMachine" }, { "type": "checkBudget", "maxChecks": 1 }] }),
    ] {
        fine(&patched(json!({ "completion": completion }), json!({})));
    }
}
