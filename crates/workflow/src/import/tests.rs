//! A small agent of climpt in each of its formats.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ImportNote, ImportOptions, ImportedAgent, find_climpt_agents, import};
use crate::definition::{Completion, ProjectAccess, PromptRef};
use crate::faults::{CONFIGURATION_NOT_FOUND, CONFIGURATION_PARSE, CONFIGURATION_VALIDATION};
use crate::inspect::inspect;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A climpt agent with the name `helper`.
fn climpt(agent: &Value, registry: &Value, files: &[(&str, &str)]) -> TempDir {
    let project = TempDir::new().unwrap();
    let root = project.path().join(".agent/helper");
    write(&root, "agent.json", &agent.to_string());
    write(&root, "steps_registry.json", &registry.to_string());
    for (path, text) in files {
        write(&root, path, text);
    }
    project
}

fn first_generation(behavior: &Value) -> Value {
    json!({
        "version": "1.2.0", "name": "helper", "displayName": "Helper", "description": "Helps.",
        "parameters": {
            "issue": { "type": "number", "description": "Which one", "required": false, "cli": "--issue" },
            "reviewLabel": { "type": "string", "default": "review", "required": false, "cli": "--review-label" },
            "iterateMax": { "type": "number", "default": 100, "required": false, "cli": "--iterate-max" },
        },
        "behavior": behavior,
        "prompts": { "registry": "steps_registry.json", "fallbackDir": "prompts/" },
        "logging": { "directory": "logs", "format": "jsonl" },
    })
}

fn second_generation(verdict: &Value) -> Value {
    json!({
        "version": "2.0.0", "name": "helper", "displayName": "Helper", "description": "Helps.",
        "parameters": { "issue": { "type": "number", "required": true, "cli": "--issue" } },
        "runner": {
            "flow": { "systemPromptPath": "prompts/system.md", "prompts": { "registry": "steps_registry.json" } },
            "verdict": verdict,
            "boundaries": { "allowedTools": ["Read", "Bash"], "permissionMode": "acceptEdits" },
            "integrations": { "github": { "enabled": true, "defaultClosureAction": "label-only" } },
        },
    })
}

fn import_helper(project: &TempDir) -> ImportedAgent {
    import_with(project, ImportOptions::default()).unwrap()
}

fn import_with(
    project: &TempDir,
    options: ImportOptions<'_>,
) -> Result<ImportedAgent, autonoe_core::fault::Fault> {
    let agents = project.path().join(".autonoe/agents");
    import(&project.path().join(".agent/helper"), &agents, options)
}

/// Writes the result and validates what is on disk.
#[track_caller]
fn assert_valid_on_disk(imported: &ImportedAgent) {
    let definition = &imported.definition;
    for (path, text) in &definition.files {
        write(&definition.directory, path, text);
    }
    let inspection = inspect(&definition.directory).unwrap();
    assert!(inspection.result.valid(), "{:#?}", inspection.result.errors);
    assert_eq!(inspection.definition.as_ref(), Some(definition));
}

#[track_caller]
fn assert_noted(notes: &[ImportNote], words: &str) {
    let is_noted = notes.iter().any(|note| format!("{}: {}", note.place, note.what).contains(words));
    assert!(is_noted, "{words} is not in {notes:#?}");
}

fn prompt<'a>(imported: &'a ImportedAgent, step: &str) -> &'a str {
    match &imported.definition.step(step).unwrap().prompt {
        Some(PromptRef::Path(path)) => &imported.definition.files[&format!("prompts/{path}")],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_prompt_map_has_a_first_prompt_and_one_for_all_others() {
    let behavior = json!({
        "systemPromptPath": "prompts/system.md", "completionType": "manual",
        "completionConfig": { "completionKeyword": "ALL_DONE", "maxIterations": 7 },
        "allowedTools": ["Read", "Write"], "permissionMode": "acceptEdits",
    });
    let registry = json!({ "version": "1.0.0", "basePath": "prompts", "steps": {
        "system": { "name": "System", "path": "system.md" },
        "initial_manual": { "name": "Start", "path": "start.md", "variables": ["issue_number"] },
        "continuation_manual": { "name": "Go on", "path": "more.md", "useStdin": true },
        "initial_issue": { "name": "Other", "path": "other.md" },
    } });
    let project = climpt(
        &first_generation(&behavior),
        &registry,
        &[
            ("prompts/system.md", "You are {uv-agent_name}. Done when {uv-completion_criteria}."),
            (
                "prompts/start.md",
                "---\ntitle: x\n---\nSolve {uv-issue_number} with {{uv-reviewLabel}} and {uv-*}.",
            ),
            ("prompts/more.md", "Iteration {uv-iteration}, {uv-team_mood}: {input_text}"),
        ],
    );
    let imported = import_helper(&project);
    assert_valid_on_disk(&imported);
    let definition = &imported.definition;
    assert_eq!(definition.steps.entry_step, "initial_manual");
    assert_eq!(definition.steps.steps.len(), 2);
    for step in ["initial_manual", "continuation_manual"] {
        assert_eq!(definition.step(step).unwrap().next.as_deref(), Some("continuation_manual"));
    }
    assert!(
        prompt(&imported, "initial_manual").ends_with("Solve {uv-issue} with {uv-review_label} and (uv-*).")
    );
    assert_eq!(definition.files["prompts/system.md"], "You are helper. Done when {uv-completion_criteria}.");
    assert_eq!(
        definition.agent.completion,
        Completion::KeywordSignal { keywords: vec!["ALL_DONE".to_owned()] }
    );
    assert_eq!((definition.agent.max_iterations, definition.agent.step_loop_limit), (7, 7));
    assert_eq!(definition.agent.access, ProjectAccess::Write);
    assert!(definition.agent.stdin);
    let parameters: Vec<&String> = definition.agent.parameters.keys().collect();
    assert_eq!(parameters, ["issue", "review_label", "team_mood"]);
    assert_noted(&imported.report.changed, "--review-label is now --arg review_label=VALUE");
    assert_noted(&imported.report.changed, "team_mood");
    assert_noted(&imported.report.not_carried_over, "$.parameters.iterateMax");
    assert_noted(&imported.report.not_carried_over, "$.logging");
    assert_noted(&imported.report.not_carried_over, "initial_issue");
}

#[test]
fn a_c3l_map_is_found_by_its_places_and_dotted_names_become_ours() {
    let behavior = json!({
        "completionType": "iterate", "completionConfig": { "maxIterations": 3 },
        "allowedTools": ["Read", "Grep"], "permissionMode": "bypassPermissions",
    });
    let registry = json!({
        "agentId": "helper", "version": "1.2.0", "userPromptsBase": ".agent/helper/prompts", "c1": "steps",
        "steps": {
            "initial.iterate": { "stepId": "initial.iterate", "name": "A", "c2": "initial", "c3": "iterate", "edition": "default", "adaptation": "short", "uvVariables": [] },
            "continuation.iterate": { "stepId": "continuation.iterate", "name": "B", "c2": "continuation", "c3": "iterate", "edition": "default", "description": "Goes on.", "uvVariables": [] },
            "section.context": { "stepId": "section.context", "name": "S", "c2": "section", "c3": "context", "edition": "default" },
        },
    });
    let files = [("prompts/steps/initial/iterate/f_default.md", "Begin."), ("prompts/system.md", "Work.")];
    let imported = import_helper(&climpt(&first_generation(&behavior), &registry, &files));
    assert_valid_on_disk(&imported);
    let definition = &imported.definition;
    assert_eq!(imported.steps["initial.iterate"], "initial-iterate");
    assert_eq!(prompt(&imported, "initial-iterate"), "Begin.", "the file without the adaptation");
    assert_eq!(prompt(&imported, "continuation-iterate"), "# B\n\nGoes on.\n", "there was no prompt");
    assert_eq!(definition.agent.completion, Completion::IterationBudget { max_iterations: 3 });
    assert_eq!(definition.agent.access, ProjectAccess::Read, "no allowed tool writes");
    assert_noted(&imported.report.not_carried_over, "continuation/iterate/f_default.md does not exist");
    assert_noted(&imported.report.not_carried_over, "section.context");
    assert_noted(&imported.report.not_carried_over, "No agent can bypass permissions");
    assert_noted(&imported.report.changed, "initial.iterate is now initial-iterate");
}

#[test]
fn a_step_flow_keeps_its_checks_and_retries() {
    let behavior =
        json!({ "completionType": "stepFlow", "permissionMode": "plan", "allowedTools": ["Read"] });
    let registry = json!({ "version": "2.0.0", "basePath": "prompts", "entryStep": "s_00a1", "steps": {
        "s_00a1": {
            "id": "s_00a1", "name": "Plan", "prompt": { "path": "plan.md" },
            "check": {
                "prompt": { "path": "check.md" }, "responseFormat": { "result": "ok|ng" },
                "onPass": { "next": "s_00b2" },
                "onFail": { "retry": true, "maxRetries": 2, "fallback": "s_00c3" },
            },
        },
        "s_00b2": {
            "id": "s_00b2", "name": "Do", "prompt": { "c1": "steps", "c2": "do", "c3": "it" }, "iterations": { "max": 4 },
            "check": { "prompt": { "path": "check.md" }, "onPass": { "complete": true }, "onFail": { "retry": true } },
        },
        "s_00c3": { "id": "s_00c3", "name": "Help", "prompt": { "path": "help.md", "fallback": "plan.md" } },
    } });
    let files = [
        ("prompts/plan.md", "Plan."),
        ("prompts/check.md", "Is it good?"),
        ("prompts/steps/do/it/f_default.md", "Do."),
    ];
    let imported = import_helper(&climpt(&first_generation(&behavior), &registry, &files));
    assert_valid_on_disk(&imported);
    let steps = serde_json::to_value(&imported.definition.steps).unwrap();
    assert_eq!(
        steps["steps"]["s_00a1"]["check"],
        json!({
            "type": "prompt", "prompt": "check.md", "onPass": { "next": "s_00b2" },
            "onFail": { "retry": { "maxRetries": 2, "onExhausted": "fallback", "fallbackStep": "s_00c3" } },
        })
    );
    assert_eq!(steps["steps"]["s_00b2"]["check"]["onPass"], json!({ "complete": true }));
    assert_eq!(steps["steps"]["s_00b2"]["check"]["onFail"]["retry"]["maxRetries"], 3);
    assert_eq!(imported.definition.agent.completion, Completion::StepMachine);
    assert_eq!(prompt(&imported, "s_00c3"), "Plan.", "the fallback");
    assert_noted(&imported.report.not_carried_over, "`iterations` of a step");
}

fn gates() -> Value {
    let gate = |intents: &[&str]| {
        json!({
            "allowedIntents": intents, "intentSchemaRef": "#/properties/next_action/properties/action",
            "intentField": "next_action.action", "targetField": "next_action.target", "handoffFields": ["found.cause"],
        })
    };
    json!({
        "agentId": "helper", "version": "3.0.0", "c1": "steps",
        "entryStepMapping": { "poll:state": "initial.issue", "count:iteration": "initial.other" },
        "failurePatterns": { "dirty": { "description": "x", "edition": "failed" } },
        "validators": { "clean": { "type": "command", "command": "git status --porcelain", "successWhen": "empty" } },
        "validationSteps": { "closure.issue": { "validationConditions": [{ "validator": "clean" }] } },
        "steps": {
            "initial.issue": {
                "stepId": "initial.issue", "name": "Look", "stepKind": "work", "c2": "initial", "c3": "issue", "edition": "default",
                "outputSchemaRef": { "file": "issue.schema.json", "schema": "initial.issue" },
                "structuredGate": gate(&["next", "repeat", "jump"]),
                "transitions": { "next": { "condition": "cause", "targets": { "known": "continuation.issue", "default": "verification.issue" } } },
            },
            "continuation.issue": {
                "stepId": "continuation.issue", "name": "Fix", "stepKind": "work", "c2": "continuation", "c3": "issue", "edition": "default",
                "inputs": { "theCause": { "from": "initial.issue.cause", "required": true } },
                "outputSchemaRef": { "file": "gone.schema.json", "schema": "continuation.issue" },
                "structuredGate": gate(&["next", "handoff"]),
                "transitions": { "next": { "target": "continuation.issue" }, "handoff": { "target": "verification.issue" } },
            },
            "verification.issue": {
                "stepId": "verification.issue", "name": "Check", "stepKind": "verification", "c2": "verification", "c3": "issue", "edition": "default",
                "structuredGate": gate(&["next", "escalate"]),
                "transitions": { "next": { "target": "closure.issue" }, "escalate": { "target": "continuation.issue" } },
            },
            "closure.issue": {
                "stepId": "closure.issue", "name": "Close", "stepKind": "closure", "c2": "closure", "c3": "issue", "edition": "default",
                "structuredGate": gate(&["closing", "repeat"]),
                "transitions": { "closing": { "target": null }, "repeat": { "target": "closure.issue" } },
            },
            "initial.other": { "stepId": "initial.other", "name": "Other", "stepKind": "work", "c2": "initial", "c3": "other", "edition": "default" },
        },
    })
}

const GATE_FILES: [(&str, &str); 7] = [
    ("prompts/system.md", "Work. {uv-verdict_criteria}"),
    ("prompts/steps/initial/issue/f_default.md", "Look at {uv-issue}."),
    ("prompts/steps/continuation/issue/f_default.md", "Fix {uv-theCause} ({uv-initial_issue_cause})."),
    ("prompts/steps/verification/issue/f_default.md", "Check."),
    ("prompts/steps/closure/issue/f_default_label-only.md", "Label it."),
    (
        "schemas/issue.schema.json",
        r##"{ "$id": "x", "$defs": { "cause": { "type": "string", "enum": ["known", "unknown"] } },
            "initial.issue": {
              "allOf": [{ "$ref": "common.schema.json#/$defs/response" }],
              "properties": { "found": { "type": "object", "properties": { "cause": { "$ref": "#/$defs/cause" } } } } } }"##,
    ),
    (
        "schemas/common.schema.json",
        r#"{ "$defs": { "response": { "type": "object", "required": ["summary"], "properties": {
            "summary": { "type": "string" },
            "next_action": { "type": "object", "properties": { "action": { "type": "string", "enum": ["next", "retry", "jump"] } } } } } } }"#,
    ),
];

#[test]
fn gates_become_gateways_that_branch_on_the_intent() {
    let verdict = json!({ "type": "poll:state", "config": { "maxIterations": 40 } });
    let project = climpt(&second_generation(&verdict), &gates(), &GATE_FILES);
    write(&project.path().join(".agent/helper"), "config.json", r#"{ "logging": { "verbose": true } }"#);
    let imported = import_helper(&project);
    assert_valid_on_disk(&imported);
    let steps = serde_json::to_value(&imported.definition.steps).unwrap();
    let first = &steps["steps"]["initial-issue"];
    assert_eq!(steps["entryStep"], "initial-issue");
    assert_eq!(first["type"], "gateway");
    assert_eq!(
        first["branch"],
        json!({ "field": "next_action.action", "targets": {
        "next": "initial-issue-next", "repeat": "initial-issue", "retry": "initial-issue", "jump": "initial-issue-jump" } })
    );
    let output = &first["output"];
    assert_eq!(output["required"], json!(["summary", "next_action"]), "{output:#}");
    assert_eq!(output["properties"]["found"]["properties"]["cause"]["enum"], json!(["known", "unknown"]));
    assert_eq!(
        steps["steps"]["initial-issue-next"]["branch"],
        json!({
        "from": "initial-issue", "field": "found.cause",
        "targets": { "known": "continuation-issue" }, "default": "verification-issue" })
    );
    let jump = &steps["steps"]["initial-issue-jump"]["branch"];
    assert_eq!(
        (&jump["field"], &jump["targets"]["closure.issue"]),
        (&json!("next_action.target"), &json!("closure-issue"))
    );
    let fix = &steps["steps"]["continuation-issue"];
    assert_eq!(fix["inputs"]["the_cause"], json!({ "from": "initial-issue.found.cause", "required": true }));
    assert_eq!(fix["inputs"]["initial_issue_cause"]["from"], "initial-issue.found.cause");
    assert_eq!(fix["session"], "resume");
    assert_eq!(
        fix["output"]["properties"]["next_action"]["properties"]["action"]["enum"],
        json!(["handoff", "next"])
    );
    assert_eq!(steps["steps"]["verification-issue"]["access"], "read");
    assert_eq!(steps["steps"]["closure-issue"]["branch"]["targets"]["closing"], Value::Null);
    assert_eq!(
        prompt(&imported, "closure-issue"),
        "Label it.",
        "what climpt does with the issue selects the prompt"
    );
    let completion = serde_json::to_value(&imported.definition.agent.completion).unwrap();
    assert_eq!(completion["conditions"][0], json!({ "type": "stepMachine" }));
    assert_eq!(completion["conditions"][1]["resource"]["repository"], "{uv-repository}");
    assert!(imported.definition.agent.parameters["repository"].required);
    let left_out = &imported.report.not_carried_over;
    for words in [
        "failurePatterns",
        "git status --porcelain",
        "gone.schema.json",
        "$.runner.integrations",
        "config.json, $.logging",
    ] {
        assert_noted(left_out, words);
    }
}

/// The latest registries have `address`, `kind`, and two steps for each mode.
#[test]
fn the_place_of_a_step_can_be_in_its_address() {
    let step = |kind: &str, c2: &str, next: Value| {
        json!({
            "stepId": kind, "name": kind, "kind": kind, "address": { "c1": "steps", "c2": c2, "c3": "it", "edition": "default" },
            "structuredGate": { "allowedIntents": ["next"] }, "transitions": { "next": { "target": next } },
        })
    };
    let registry = json!({
        "agentId": "helper", "version": "4.0.0", "c1": "steps",
        "entryStepMapping": { "count:iteration": { "initial": "begin", "continuation": "close" } },
        "steps": { "begin": step("work", "initial", json!("look")), "look": step("verification", "look", json!("close")), "close": step("closure", "closure", Value::Null) },
    });
    let mut agent =
        second_generation(&json!({ "type": "count:iteration", "config": { "maxIterations": 3 } }));
    agent["runner"].as_object_mut().unwrap().remove("boundaries");
    let files = [
        ("prompts/steps/initial/it/f_default.md", "Begin."),
        ("prompts/steps/look/it/f_default.md", "Look."),
    ];
    let imported = import_helper(&climpt(&agent, &registry, &files));
    assert_valid_on_disk(&imported);
    assert_eq!(
        (imported.definition.steps.entry_step.as_str(), prompt(&imported, "begin")),
        ("begin", "Begin.")
    );
    assert_eq!(imported.definition.agent.access, ProjectAccess::Write, "a step of the kind work writes");
    assert_eq!(imported.definition.step("look").unwrap().access, Some(ProjectAccess::Read));

    let mut registry = registry;
    registry.as_object_mut().unwrap().remove("entryStepMapping");
    registry["steps"]["initial.it"] = registry["steps"]["begin"].clone();
    let imported = import_helper(&climpt(&agent, &registry, &files));
    assert_eq!(imported.definition.steps.entry_step, "initial-it");
    assert_noted(&imported.report.changed, "initial.it is the first one");
}

#[test]
fn another_mode_is_imported_by_its_entry() {
    let verdict = json!({ "type": "count:iteration", "config": { "maxIterations": 2 } });
    let project = climpt(&second_generation(&verdict), &gates(), &GATE_FILES);
    let imported = import_helper(&project);
    assert_eq!(imported.definition.steps.entry_step, "initial-other");
    let options = ImportOptions { name: Some("second"), entry: Some("closure.issue") };
    let imported = import_with(&project, options).unwrap();
    assert_valid_on_disk(&imported);
    assert_eq!(
        (imported.definition.name(), imported.definition.steps.entry_step.as_str()),
        ("second", "closure-issue")
    );
    let fault = import_with(&project, ImportOptions { entry: Some("nowhere"), ..options }).unwrap_err();
    assert!(fault.message.contains("nowhere") && fault.hint.unwrap().contains("closure.issue"));
}

#[test]
fn every_completion_type_has_a_counterpart_or_is_reported() {
    let of = |kind: &str, config: Value| {
        let behavior =
            json!({ "completionType": kind, "completionConfig": config, "permissionMode": "acceptEdits" });
        let registry = json!({ "version": "1.0.0", "steps": { "initial.default": { "name": "A", "c2": "initial", "c3": "default" } } });
        let files = [("prompts/steps/initial/default/f_default.md", "Work.")];
        let imported = import_helper(&climpt(&first_generation(&behavior), &registry, &files));
        assert_valid_on_disk(&imported);
        let completion = serde_json::to_value(&imported.definition.agent.completion).unwrap();
        let is_replaced =
            imported.report.not_carried_over.iter().any(|note| note.place.contains("completion type"));
        (completion["type"].as_str().unwrap().to_owned(), is_replaced)
    };
    for (kind, config, expected, replaced) in [
        ("iterationBudget", json!({ "maxIterations": 4 }), "iterationBudget", false),
        ("iterate", json!({}), "iterationBudget", false),
        ("count:iteration", json!({}), "iterationBudget", false),
        ("checkBudget", json!({ "maxChecks": 2 }), "checkBudget", false),
        ("count:check", json!({}), "checkBudget", false),
        ("keywordSignal", json!({}), "keywordSignal", false),
        ("manual", json!({}), "keywordSignal", false),
        ("detect:keyword", json!({ "verdictKeyword": "X" }), "keywordSignal", false),
        ("externalState", json!({}), "externalState", false),
        ("issue", json!({}), "externalState", false),
        ("poll:state", json!({ "resourceType": "file" }), "externalState", false),
        ("structuredSignal", json!({ "signalType": "x" }), "iterationBudget", true),
        ("detect:structured", json!({}), "iterationBudget", true),
        ("stepMachine", json!({}), "iterationBudget", false),
        ("stepFlow", json!({}), "iterationBudget", false),
        ("detect:graph", json!({}), "iterationBudget", false),
        ("phaseCompletion", json!({}), "iterationBudget", true),
        ("project", json!({}), "iterationBudget", true),
        ("custom", json!({ "handlerPath": "a.ts" }), "iterationBudget", true),
        ("meta:custom", json!({}), "iterationBudget", true),
        ("composite", json!({}), "iterationBudget", true),
        (
            "facilitator",
            json!({ "operator": "and", "conditions": [{ "type": "manual", "config": {} }] }),
            "composite",
            false,
        ),
        (
            "meta:composite",
            json!({ "operator": "or", "conditions": [{ "type": "manual" }, { "type": "composite" }] }),
            "composite",
            true,
        ),
        ("whenever", json!({}), "iterationBudget", true),
    ] {
        assert_eq!(of(kind, config.clone()), (expected.to_owned(), replaced), "{kind} {config}");
    }
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let verdict = json!({ "type": "count:iteration" });
    let registry = json!({ "steps": { "a": { "name": "A", "stepKind": "closure", "runner": { "command": "deno" } } }, "entryStep": "a" });
    let project = climpt(&second_generation(&verdict), &registry, &[]);
    let root = project.path().join(".agent/helper");
    let refused = |words: &str, code: &str| {
        let fault = import_with(&project, ImportOptions::default()).unwrap_err();
        assert!(fault.message.contains(words), "{words}: {fault}");
        assert_eq!(fault.code, code, "{fault}");
        assert!(fault.hint.is_some(), "{fault}");
    };
    refused("starts with a, which runs a program", CONFIGURATION_VALIDATION.code);
    write(&root, "steps_registry.json", r#"{ "steps": {} }"#);
    refused("has no `steps`", CONFIGURATION_PARSE.code);
    write(&root, "steps_registry.json", r#"{ "steps": { "a": 1 } }"#);
    refused("not an object: a", CONFIGURATION_PARSE.code);
    write(&root, "steps_registry.json", r#"{ "steps": { "a": {"stepKind": "work"}, "b": {} } }"#);
    refused("has no first step", CONFIGURATION_VALIDATION.code);
    write(&root, "steps_registry.json", "{");
    write(&root, "config.json", "[1,");
    refused("2 errors", CONFIGURATION_PARSE.code);
    fs::remove_file(root.join("config.json")).unwrap();
    fs::remove_file(root.join("steps_registry.json")).unwrap();
    refused("steps_registry.json does not exist", CONFIGURATION_PARSE.code);
    write(&root, "agent.json", r#"{ "name": "helper" }"#);
    refused("neither `behavior` nor `runner`", CONFIGURATION_PARSE.code);
    write(&root, "prompts/large.md", &"x".repeat(300 * 1024));
    refused("prompts/large.md: it has 307200 bytes", "prompt_parse");
    fs::remove_file(root.join("prompts/large.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", root.join("prompts/link.md")).unwrap();
    refused("prompts/link.md: it is a symbolic link", CONFIGURATION_PARSE.code);

    let nowhere = find_climpt_agents(&project.path().join("nowhere")).unwrap_err();
    assert_eq!(nowhere.code, CONFIGURATION_NOT_FOUND.code);
    let empty = find_climpt_agents(&root.join("prompts")).unwrap_err();
    assert!(empty.message.contains("no agent.json"), "{empty}");
    let all = find_climpt_agents(&project.path().join(".agent")).unwrap();
    assert_eq!(all, [project.path().join(".agent/helper")]);
}

#[test]
fn a_path_that_leaves_the_directory_is_never_read() {
    let behavior = json!({ "completionType": "manual", "permissionMode": "acceptEdits", "systemPromptPath": "../../secret.md" });
    let registry = json!({ "version": "1.0.0", "basePath": "../..", "steps": { "initial": { "name": "A", "path": "../../secret.md" } } });
    let project = climpt(&first_generation(&behavior), &registry, &[]);
    write(project.path(), "secret.md", "a secret");
    let imported = import_helper(&project);
    assert_valid_on_disk(&imported);
    assert!(imported.definition.files.values().all(|text| !text.contains("a secret")));
    assert_noted(&imported.report.not_carried_over, "secret.md does not exist");
}

#[test]
fn a_schema_that_refers_to_itself_has_an_end() {
    let mut registry = gates();
    registry["steps"]["initial.issue"]["outputSchemaRef"] =
        json!({ "file": "loop.schema.json", "schema": "a" });
    let loops = r##"{ "a": { "type": "object", "properties": { "x": { "$ref": "#/a" }, "y": { "$ref": "#/a" } } } }"##;
    let files = [&GATE_FILES[..], &[("schemas/loop.schema.json", loops)]].concat();
    let imported =
        import_helper(&climpt(&second_generation(&json!({ "type": "poll:state" })), &registry, &files));
    assert_valid_on_disk(&imported);
    assert_noted(&imported.report.not_carried_over, "#/a in schemas/loop.schema.json");
}
