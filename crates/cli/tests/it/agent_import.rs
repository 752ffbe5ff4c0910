//! Agents of climpt that are imported and then run.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::support::{CliTestProject, assert_script_followed, model};

/// A project with a climpt agent of the second generation: two steps with gates.
fn with_climpt_agent() -> CliTestProject {
    let project = CliTestProject::empty();
    project.git(&["init", "-q", "-b", "main"]);
    let gate = |intents: &[&str]| json!({ "allowedIntents": intents, "intentField": "next_action.action" });
    let agent = json!({
        "version": "1.0.0", "name": "helper", "displayName": "Helper", "description": "Helps.",
        "parameters": { "theTask": { "type": "string", "required": true, "cli": "--the-task" } },
        "runner": {
            "flow": { "systemPromptPath": "prompts/system.md" },
            "verdict": { "type": "count:iteration", "config": { "maxIterations": 5 } },
            "boundaries": { "allowedTools": ["*"], "permissionMode": "acceptEdits" },
        },
    });
    let registry = json!({
        "agentId": "helper", "version": "1.0.0", "c1": "steps", "entryStep": "initial.task",
        "steps": {
            "initial.task": {
                "stepId": "initial.task", "name": "Start", "stepKind": "work", "c2": "initial", "c3": "task", "edition": "default",
                "structuredGate": gate(&["next", "repeat"]),
                "transitions": { "next": { "target": "closure.task" }, "repeat": { "target": "initial.task" } },
            },
            "closure.task": {
                "stepId": "closure.task", "name": "End", "stepKind": "closure", "c2": "closure", "c3": "task", "edition": "default",
                "structuredGate": gate(&["closing", "repeat"]),
                "transitions": { "closing": { "target": null }, "repeat": { "target": "closure.task" } },
            },
        },
    });
    project.write(".agent/helper/agent.json", &agent.to_string());
    project.write(".agent/helper/steps_registry.json", &registry.to_string());
    project.write(".agent/helper/prompts/system.md", "You are {uv-agent_name}.");
    project.write(".agent/helper/prompts/steps/initial/task/f_default.md", "Begin with {uv-theTask}.");
    project.write(".agent/helper/prompts/steps/closure/task/f_default.md", "Finish it.");
    project
}

fn agent(project: &CliTestProject, args: &[&str]) -> Output {
    project.autonoe(None).arg("agent").args(args).output().expect("started")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn an_imported_agent_is_valid_and_runs_along_its_intents() {
    let project = with_climpt_agent();
    let rehearsed = agent(&project, &["import", ".agent/helper", "--dry-run"]);
    assert!(
        rehearsed.status.success() && text(&rehearsed).starts_with("Would import"),
        "{}",
        text(&rehearsed)
    );
    assert!(!project.path(".autonoe/agents/helper").exists(), "a dry run writes nothing");

    let imported = agent(&project, &["import", ".agent/helper"]);
    let printed = text(&imported);
    assert!(imported.status.success(), "{printed}");
    for part in [
        "(climpt: runner, gates)",
        "--the-task is now --arg the_task=VALUE",
        "initial.task is now initial-task",
        "Carried over:",
        "Changed:",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let validated = agent(&project, &["validate", "helper"]);
    assert!(validated.status.success(), "{}", text(&validated));

    let answer = |intent: &str| {
        format!("[[conversation.turn]]\ntext = '''{}'''\n", json!({ "next_action": { "action": intent } }))
    };
    let script = format!(
        "[[conversation]]\nwhen = 'Begin with the floor'\n{}{}",
        answer("next"),
        answer("closing")
            .replace("[[conversation.turn]]\n", "[[conversation.turn]]\nexpect = 'Finish it.'\n"),
    );
    let model = model(&script);
    let run = project.run(&model, &["agent", "run", "helper", "--arg", "the_task=the floor"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(run.outcome()["agent"]["path"], json!(["initial-task", "closure-task"]));
    assert_script_followed(&model);
}

#[test]
fn an_existing_agent_is_replaced_only_with_force() {
    let project = with_climpt_agent();
    assert!(agent(&project, &["init", "helper"]).status.success());
    let before = project.read(".autonoe/agents/helper/steps.json");
    let refused = agent(&project, &["import", ".agent"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(
        text(&refused).contains("already exists") && text(&refused).contains("--force"),
        "{}",
        text(&refused)
    );
    assert_eq!(project.read(".autonoe/agents/helper/steps.json"), before);

    assert!(agent(&project, &["import", ".agent/helper", "--name", "other"]).status.success());
    assert!(project.path(".autonoe/agents/other/steps.json").exists());
    let forced = agent(&project, &["import", ".agent/helper", "--force"]);
    assert!(forced.status.success(), "{}", text(&forced));
    assert!(
        !project.path(".autonoe/agents/helper/prompts/work.md").exists(),
        "nothing of the old one is left"
    );
    assert!(agent(&project, &["validate", "--all"]).status.success());
}

#[test]
fn the_report_is_available_as_json() {
    let project = with_climpt_agent();
    project.write(".agent/broken/agent.json", r#"{ "name": "broken" }"#);
    let output = agent(&project, &["import", ".agent", "--json"]);
    assert_eq!(output.status.code(), Some(2), "one of the two is not an agent");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json[0]["error"]["code"], "configuration_parse", "{json:#}");
    assert_eq!((&json[0]["written"], &json[1]["written"]), (&json!(false), &json!(true)));
    assert_eq!(json[1]["agent"], "helper");
    assert_eq!(json[1]["steps"]["closure.task"], "closure-task");
    assert_eq!(json[1]["files"].as_array().map(Vec::len), Some(5));
    assert!(json[1]["report"]["changed"].as_array().is_some_and(|notes| !notes.is_empty()), "{json:#}");
}

#[test]
fn bad_input_of_an_import_is_reported_in_one_sentence() {
    let project = with_climpt_agent();
    project.write(".agent/second/agent.json", "{");
    let secret = project.path("secret.md");
    fs::write(&secret, "a secret").expect("written");
    fs::create_dir_all(project.path(".agent/third/prompts")).expect("created");
    fs::copy(project.path(".agent/helper/agent.json"), project.path(".agent/third/agent.json"))
        .expect("copied");
    std::os::unix::fs::symlink(&secret, project.path(".agent/third/prompts/system.md")).expect("linked");
    std::os::unix::fs::symlink(project.path(".agent/helper"), project.path("link")).expect("linked");
    for (args, words) in [
        (&["import", "link"][..], &["link is a symbolic link"][..]),
        (&["import", "nowhere"][..], &["There is no directory nowhere", ".agent/reviewer"][..]),
        (&["import", ".agent/helper/prompts"], &["no agent.json"]),
        (&["import", ".agent", "--name", "x"], &["3 agents", "--name is for one"]),
        (&["import", ".agent/helper", "--name", "X"], &["'X' is not a valid agent name"]),
        (&["import", ".agent/helper", "--entry", "x"], &["no step x", "initial.task"]),
        (&["import", ".agent/second"], &["agent.json, line 1", "not JSON"]),
        (&["import", ".agent/third"], &["prompts/system.md", "symbolic link"]),
    ] {
        let output = agent(&project, args);
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {printed}");
        assert!(words.iter().all(|word| printed.contains(word)), "{args:?}: {printed}");
        assert!(!printed.contains("a secret"), "{printed}");
    }
    assert!(!project.path(".autonoe/agents").exists(), "nothing was written");
}

/// A repository may bring a link in place of the directory of agents.
#[test]
fn nothing_is_written_through_a_link() {
    let project = with_climpt_agent();
    let outside = project.path("outside");
    fs::create_dir_all(&outside).expect("created");
    fs::create_dir_all(project.path(".autonoe")).expect("created");
    std::os::unix::fs::symlink(&outside, project.path(".autonoe/agents")).expect("linked");
    let output = agent(&project, &["import", ".agent/helper", "--force"]);
    assert!(!output.status.success(), "{}", text(&output));
    assert_eq!(fs::read_dir(&outside).expect("readable").count(), 0);
}
