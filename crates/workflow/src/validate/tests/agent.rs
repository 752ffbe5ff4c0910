//! Versions, name, limits, environment variables and parameters of `agent.json`.

use serde_json::{Value, json};

use super::{ProblemRow, assert_reported, errors, validate, warnings};
use crate::prompt_variables::RUNTIME_NAMES;
use crate::samples::patched;

fn row(agent: Value, path: &'static str, words: &'static str) -> ProblemRow {
    (agent, json!({}), "agent.json", path, words)
}

fn parameter(parameter: Value) -> Value {
    json!({ "parameters": { "x": parameter } })
}

#[test]
fn problems_of_the_agent_are_reported() {
    errors(vec![
        row(json!({ "version": "v1" }), "$.version", "three numbers"),
        row(json!({ "name": "Fix it" }), "$.name", "not a valid agent name"),
        row(json!({ "name": "other" }), "$.name", "its directory has a different name: fix"),
        row(json!({ "maxIterations": 0 }), "$.maxIterations", "from 1 to 10000"),
        row(json!({ "maxIterations": 10_001 }), "$.maxIterations", "from 1 to 10000"),
        row(json!({ "stepLoopLimit": 0 }), "$.stepLoopLimit", "from 1 to 10000"),
        row(
            json!({ "environment": ["HOME_TEAM", "A-B"] }),
            "$.environment[1]",
            "not a valid environment variable name",
        ),
        row(json!({ "environment": ["HOME_TEAM", "HOME_TEAM"] }), "$.environment[1]", "twice"),
        row(
            json!({ "environment": ["HOME_TEAM", "issue"] }),
            "$.environment[1]",
            "a parameter has the same name",
        ),
        row(
            json!({ "environment": ["HOME_TEAM", "step"] }),
            "$.environment[1]",
            "reserved for a variable of the run",
        ),
    ]);
}

#[test]
fn problems_of_a_parameter_are_reported() {
    errors(vec![
        row(
            json!({ "parameters": { "Big": { "type": "string" } } }),
            "$.parameters.Big",
            "not a valid parameter name",
        ),
        row(
            json!({ "parameters": { "a b": { "type": "string" } } }),
            "$.parameters[\"a b\"]",
            "not a valid parameter name",
        ),
        row(parameter(json!({ "type": "number", "default": "3" })), "$.parameters.x.default", "type number"),
        row(parameter(json!({ "type": "string", "default": 3 })), "$.parameters.x.default", "type string"),
        row(
            parameter(json!({ "type": "boolean", "default": "yes" })),
            "$.parameters.x.default",
            "type boolean",
        ),
        row(parameter(json!({ "type": "array", "default": [1] })), "$.parameters.x.default", "type array"),
        row(
            parameter(json!({ "type": "number", "default": 0, "validation": { "min": 1 } })),
            "$.parameters.x.default",
            "below 1",
        ),
        row(
            parameter(json!({ "type": "number", "default": 9, "validation": { "max": 8 } })),
            "$.parameters.x.default",
            "above 8",
        ),
        row(
            parameter(json!({ "type": "string", "default": "ab1", "validation": { "pattern": "[a-z]+" } })),
            "$.parameters.x.default",
            "does not match the pattern",
        ),
        row(
            parameter(
                json!({ "type": "array", "default": ["a", "c"], "validation": { "enum": ["a", "b"] } }),
            ),
            "$.parameters.x.default",
            "not among `a`, `b`",
        ),
        row(
            parameter(json!({ "type": "number", "validation": { "min": 3, "max": 2 } })),
            "$.parameters.x.validation.min",
            "greater than the maximum",
        ),
        row(
            parameter(json!({ "type": "string", "validation": { "min": 3 } })),
            "$.parameters.x.validation.min",
            "Only a number",
        ),
        row(
            parameter(json!({ "type": "string", "validation": { "pattern": "(" } })),
            "$.parameters.x.validation.pattern",
            "unclosed group",
        ),
        row(
            parameter(json!({ "type": "number", "validation": { "pattern": "1" } })),
            "$.parameters.x.validation.pattern",
            "Only a string or an array",
        ),
        row(
            parameter(json!({ "type": "string", "validation": { "enum": [] } })),
            "$.parameters.x.validation.enum",
            "no value would be allowed",
        ),
        row(
            parameter(json!({ "type": "number", "validation": { "enum": [1, "2"] } })),
            "$.parameters.x.validation.enum[1]",
            "type number",
        ),
    ]);
}

#[test]
fn names_of_runtime_variables_are_reserved() {
    for name in RUNTIME_NAMES {
        let result = validate(&patched(json!({ "parameters": { name: { "type": "string" } } }), json!({})));
        assert_reported(
            &result.errors,
            "agent.json",
            &format!("$.parameters.{name}"),
            "reserved for a variable of the run",
        );
    }
}

#[test]
fn a_required_parameter_needs_no_default() {
    warnings(vec![row(
        parameter(json!({ "type": "string", "required": true, "default": "a" })),
        "$.parameters.x.default",
        "never used",
    )]);
}
