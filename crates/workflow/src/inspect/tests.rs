//! Everything that is wrong with a directory is reported at once, and nothing twice.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Inspection, inspect, load};
use crate::samples::{good, good_agent, good_steps};

/// A directory with the sample agent and these two files.
fn directory(agent: &str, steps: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("fix");
    for (path, text) in &good().files {
        write(&root, path, text);
    }
    write(&root, "agent.json", agent);
    write(&root, "steps.json", steps);
    directory
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The errors, each as its file, line and path.
fn errors(directory: &TempDir) -> Vec<String> {
    let Inspection { result, .. } = inspect(&directory.path().join("fix")).unwrap();
    let place = |file: &str, line: Option<usize>, path: &str| {
        format!("{file}:{} {path}", line.map(|line| line.to_string()).unwrap_or_default())
    };
    result.errors.iter().map(|error| place(&error.file, error.line, &error.path)).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[test]
fn the_sample_has_no_problems() {
    let directory = directory(&pretty(&good_agent()), &pretty(&good_steps()));
    assert_eq!(errors(&directory), Vec::<String>::new());
    let loaded = load(&directory.path().join("fix")).unwrap();
    assert_eq!((loaded.agent, loaded.steps), (good().agent, good().steps));
}

#[test]
fn errors_of_shape_and_of_meaning_in_both_files_are_reported_together() {
    let agent = r#"{
  "version": "one",
  "name": "Fix",
  "descripton": "Fixes.",
  "parameters": {
    "issue": { "type": "numbr", "required": "yes" },
    "style": { "type": "string", "default": "plain", "validation": { "enum": ["terse"] } }
  },
  "environment": ["HOME_TEAM"],
  "maxIterations": -5
}"#;
    let steps = r#"{
  "version": "1.0.0",
  "entryStep": "plan",
  "steps": {
    "plan": { "prompt": "nowhere.md", "next": 7 },
    "build": {
      "prompt": { "path": "plan.md" },
      "actions": [{ "type": "test" }],
      "check": { "type": "action", "action": "test", "onFail": { "next": "gone" } }
    }
  }
}"#;
    let directory = directory(agent, steps);
    assert_eq!(
        errors(&directory),
        [
            "agent.json:2 $.version",
            "agent.json:3 $.name",
            "agent.json:4 $.descripton",
            "agent.json:6 $.parameters.issue.required",
            "agent.json:6 $.parameters.issue.type",
            "agent.json:7 $.parameters.style.default",
            "agent.json:10 $.maxIterations",
            "steps.json:5 $.steps.plan.next",
            "steps.json:5 $.steps.plan.prompt",
            "steps.json:8 $.steps.build.actions[0]",
            "steps.json:9 $.steps.build.check.onFail.next",
        ]
    );
    let fault = load(&directory.path().join("fix")).unwrap_err();
    assert!(fault.message.starts_with("The agent 'fix' has 11 errors:\n  agent.json, line"), "{fault}");
}

#[test]
fn two_files_that_are_not_json_are_both_reported() {
    let directory = directory("{\n  \"version\": }", "[\n\n1,]");
    assert_eq!(errors(&directory), ["agent.json:2 ", "steps.json:3 "]);
}

#[test]
fn a_missing_or_broken_file_does_not_hide_the_errors_of_the_other_one() {
    let steps = good_steps().to_string().replace("\"next\":\"build\"", "\"next\":\"nowhere\"");
    let broken = directory("{", &steps);
    assert_eq!(errors(&broken), ["agent.json:1 ", "steps.json:1 $.steps.plan.next"]);
    let missing = directory(&good_agent().to_string().replace("\"fix\"", "\"Fix\""), "");
    fs::remove_file(missing.path().join("fix/steps.json")).unwrap();
    assert_eq!(errors(&missing), ["agent.json:1 $.name", "steps.json: "]);
}

#[test]
fn several_unreadable_files_are_reported_together() {
    let directory = directory(&pretty(&good_agent()), &pretty(&good_steps()));
    let root = directory.path().join("fix");
    fs::write(root.join("prompts/plan.md"), b"\xff").unwrap();
    fs::write(root.join("prompts/build.md"), b"\xfe").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", root.join("prompts/link.md")).unwrap();
    let found = errors(&directory);
    assert_eq!(
        found,
        ["prompts/build.md: ", "prompts/link.md: ", "prompts/plan.md: "],
        "and none is missing"
    );
}

/// What a person would see as one mistake is one error.
#[test]
fn what_follows_from_an_error_is_not_reported_again() {
    for (change, expected) in [
        // Without it, build and everything after it is out of reach.
        (json!({ "plan": { "nxt": "build", "next": null } }), "$.steps.plan.nxt"),
        (json!({ "plan": { "promt": "plan.md", "prompt": null } }), "$.steps.plan.promt"),
        (json!({ "plan": { "ouput": {}, "output": null } }), "$.steps.plan.ouput"),
        (json!({ "review": { "brnch": {}, "branch": null } }), "$.steps.review.brnch"),
        (json!({ "review": { "type": "gatway" } }), "$.steps.review.type"),
        (
            json!({ "build": { "actions": [{ "type": 3, "command": "make test" }] } }),
            "$.steps.build.actions[0].type",
        ),
        (json!({ "build": { "check": { "tpe": "action", "type": null } } }), "$.steps.build.check.tpe"),
        (json!({ "polish": { "subSteps": "format" } }), "$.steps.polish.subSteps"),
        (json!({ "format": { "type": "substep" } }), "$.steps.format.type"),
    ] {
        let mut steps = good_steps();
        patch(&mut steps["steps"], &change);
        let found = errors(&directory(&good_agent().to_string(), &steps.to_string()));
        assert_eq!(found, [format!("steps.json:1 {expected}")], "{change}");
    }
    for (change, expected) in [
        (json!({ "parameters": [] }), "$.parameters"),
        (json!({ "parametres": {}, "parameters": null }), "$.parametres"),
        (json!({ "nmae": "fix", "name": null }), "$.nmae"),
        (json!({ "completion": { "type": "keywordSignal", "keyword": ["X"] } }), "$.completion.keyword"),
        (
            json!({ "completion": { "type": "externalState", "resource": { "type": "url" } } }),
            "$.completion.resource.type",
        ),
        (json!({ "completion": 7 }), "$.completion"),
        (
            json!({ "completion": { "type": "manual", "keywords": ["X"], "verdictKeyword": "X" } }),
            "$.completion.verdictKeyword",
        ),
    ] {
        let mut agent = good_agent();
        patch(&mut agent, &change);
        let found = errors(&directory(&agent.to_string(), &good_steps().to_string()));
        assert_eq!(found, [format!("agent.json:1 {expected}")], "{change}");
    }
}

/// Sets fields, and removes those that are null.
fn patch(value: &mut Value, change: &Value) {
    for (name, change) in change.as_object().unwrap() {
        match change {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            Value::Object(_) if value[name].is_object() => patch(&mut value[name], change),
            other => value[name] = other.clone(),
        }
    }
}

/// The reader and serde know the same names; otherwise an earlier name would be an unknown field.
#[test]
fn earlier_names_of_conditions_are_read() {
    for completion in [
        json!({ "type": "iterate", "maxIterations": 2 }),
        json!({ "type": "count:iteration", "maxIterations": 2 }),
        json!({ "type": "count:check", "maxChecks": 2 }),
        json!({ "type": "manual", "completionKeyword": "DONE" }),
        json!({ "type": "detect:keyword", "verdictKeyword": "DONE" }),
        json!({ "type": "detect:structured", "signalType": "done" }),
        json!({ "type": "poll:state", "resource": { "type": "file", "path": "a" } }),
        json!({ "type": "stepFlow" }),
        json!({ "type": "detect:graph" }),
        json!({ "type": "meta:custom", "handlerPath": "prompts/plan.md" }),
        json!({ "type": "facilitator", "operator": "and", "conditions": [{ "type": "manual", "keywords": "X" }] }),
        json!({ "type": "meta:composite", "operator": "first", "conditions": [{ "type": "iterate", "maxIterations": 1 }] }),
    ] {
        let mut agent = good_agent();
        agent["completion"] = completion.clone();
        let found = errors(&directory(&agent.to_string(), &good_steps().to_string()));
        assert_eq!(found, Vec::<String>::new(), "{completion}");
    }
}
