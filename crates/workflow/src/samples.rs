//! A valid definition, and variations of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::definition::AgentDefinition;

/// `agent.json`
pub(crate) fn good_agent() -> Value {
    json!({
        "version": "1.0.0",
        "name": "fix",
        "description": "Fixes an issue.",
        "parameters": {
            "issue": { "type": "number", "required": true, "validation": { "min": 1 } },
            "style": { "type": "string", "default": "plain", "validation": { "enum": ["plain", "terse"] } },
            "label": { "type": "string", "validation": { "pattern": "[a-z]+" } },
        },
        "environment": ["HOME_TEAM"],
        "systemPrompt": "system.md",
    })
}

/// `steps.json`: plan → build (checked by its action) → review (a gateway) → the end or build; build escalates to help.
pub(crate) fn good_steps() -> Value {
    json!({
        "version": "1.0.0",
        "entryStep": "plan",
        "steps": {
            "plan": {
                "prompt": "plan.md",
                "output": { "type": "object", "properties": { "summary": { "type": "string" } } },
                "next": "build",
            },
            "build": {
                "prompt": { "path": "build.md", "fallback": "plan.md" },
                "inputs": { "summary": { "from": "plan.summary" } },
                "actions": [{ "type": "test", "command": "make test" }],
                "check": {
                    "type": "action",
                    "action": "test",
                    "onPass": { "next": "polish" },
                    "onFail": { "retry": { "maxRetries": 2, "onExhausted": "fallback", "fallbackStep": "repair" } },
                },
                "escalation": { "escalateTo": "help" },
            },
            "help": { "prompt": "plan.md" },
            "repair": { "prompt": "plan.md", "next": "polish" },
            "polish": { "subSteps": ["format", "lint"], "next": "review" },
            "format": { "type": "subStep", "prompt": "plan.md" },
            "lint": {
                "type": "subStep",
                "prompt": "plan.md",
                "check": { "type": "keyword", "keywords": ["LINTED"] },
            },
            "review": {
                "type": "gateway",
                "prompt": { "c1": "steps", "c2": "review", "c3": "code" },
                "output": {
                    "type": "object",
                    "properties": { "verdict": { "enum": ["good", "bad"] } },
                },
                "branch": { "field": "verdict", "targets": { "good": null, "bad": "build" } },
            },
        },
    })
}

/// The other files.
pub(crate) fn good_files() -> BTreeMap<String, String> {
    [
        ("prompts/system.md", "You fix things. {uv-completion_criteria}"),
        ("prompts/plan.md", "Plan for issue {uv-issue} in the style {uv-style}, {uv-HOME_TEAM}."),
        ("prompts/build.md", "Build: {uv-summary}. Iteration {uv-iteration}."),
        ("prompts/steps/review/code/f_default.md", "Review the code."),
        ("bin/done", "#!/bin/sh\n"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into()
}

pub(crate) fn good() -> AgentDefinition {
    patched(json!({}), json!({}))
}

/// The good definition with its two files patched; null removes a field.
pub(crate) fn patched(agent: Value, steps: Value) -> AgentDefinition {
    with_files(agent, steps, &[])
}

/// The same, with additional files.
pub(crate) fn with_files(agent: Value, steps: Value, others: &[(&str, &str)]) -> AgentDefinition {
    let (mut agent_file, mut steps_file) = (good_agent(), good_steps());
    merge_patch(&mut agent_file, agent);
    merge_patch(&mut steps_file, steps);
    let mut files = good_files();
    files.extend(others.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    AgentDefinition {
        directory: PathBuf::from("agents/fix"),
        agent: serde_json::from_value(agent_file).unwrap(),
        steps: serde_json::from_value(steps_file).unwrap(),
        files,
    }
}

/// A definition with these steps, of which `a` is the entry step.
pub(crate) fn of_steps(agent: Value, steps: Value) -> AgentDefinition {
    let mut agent_file = good_agent();
    merge_patch(&mut agent_file, agent);
    AgentDefinition {
        directory: PathBuf::from("agents/fix"),
        agent: serde_json::from_value(agent_file).unwrap(),
        steps: serde_json::from_value(json!({ "version": "1.0.0", "entryStep": "a", "steps": steps }))
            .unwrap(),
        files: good_files(),
    }
}

/// JSON Merge Patch (RFC 7396): objects are merged, null removes, anything else replaces.
fn merge_patch(target: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (name, value) in fields {
                if value.is_null() {
                    target.as_object_mut().unwrap().shift_remove(&name);
                } else {
                    merge_patch(&mut target[&name], value);
                }
            }
        }
        other => *target = other,
    }
}
