//! Declarative agents end to end: invalid definitions, actions, and resuming after a kill.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};

use autonoe_store::JournalPoint;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{
    CliTestProject, RunOutput, assert_no_processes_left, assert_script_followed, model, signal, until,
};
use super::vendors::interrupted_in_a_tool;

pub fn conversation(when: &str, turns: &[String]) -> String {
    format!("[[conversation]]\nwhen = {when}\n{}", turns.concat())
}

pub fn says(text: &str) -> String {
    format!("[[conversation.turn]]\ntext = '{text}'\n")
}

pub fn path(run: &RunOutput) -> Vec<String> {
    serde_json::from_value(run.outcome()["agent"]["path"].clone()).expect("a path")
}

fn with_agent(agent: &Value, steps: &Value, prompts: &[(&str, &str)]) -> CliTestProject {
    let project = CliTestProject::empty();
    write_agent(&project, "worker", agent, steps, prompts);
    project
}

fn write_agent(
    project: &CliTestProject,
    directory: &str,
    agent: &Value,
    steps: &Value,
    prompts: &[(&str, &str)],
) {
    let mut whole = json!({ "version": "1.0.0", "name": "worker", "description": "Works." });
    for (name, value) in agent.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    let steps = json!({ "version": "1.0.0", "entryStep": "work", "steps": steps });
    project.write(&format!(".autonoe/agents/{directory}/agent.json"), &format!("{whole:#}"));
    project.write(&format!(".autonoe/agents/{directory}/steps.json"), &format!("{steps:#}"));
    for (path, text) in prompts {
        project.write(&format!(".autonoe/agents/{directory}/prompts/{path}"), text);
    }
}

pub fn agent(project: &CliTestProject, args: &[&str]) -> Output {
    project.autonoe(None).arg("agent").args(args).output().expect("started")
}

pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

const ONE_STEP: [(&str, &str); 1] = [("work.md", "Work on {uv-task}.")];

fn one_step() -> (Value, Value) {
    let agent = json!({
        "parameters": { "task": { "type": "string", "required": true } },
        "completion": { "type": "keywordSignal", "keywords": ["ALL_DONE"] },
    });
    (agent, json!({ "work": { "prompt": "work.md" } }))
}

#[test]
fn an_agent_is_created_shown_validated_dry_run_and_run() {
    let project = CliTestProject::empty();
    assert!(text(&agent(&project, &["list"])).contains("There are no agents"));
    assert!(agent(&project, &["init", "mine"]).status.success());
    assert_eq!(agent(&project, &["init", "mine"]).status.code(), Some(2));
    assert_eq!(agent(&project, &["init", "../mine"]).status.code(), Some(2));
    let listed = text(&agent(&project, &["list"]));
    assert!(listed.contains("mine") && listed.contains("ready"), "{listed}");
    let shown = text(&agent(&project, &["show", "mine"]));
    assert!(shown.contains("work"), "{shown}");
    assert!(text(&agent(&project, &["show", "mine", "--format", "mermaid"])).starts_with("flowchart"));
    assert!(text(&agent(&project, &["show", "mine", "--format", "svg"])).starts_with("<svg"));
    assert!(agent(&project, &["validate", "mine"]).status.success());
    let rehearsed = text(&agent(&project, &["run", "mine", "--dry-run", "--arg", "task=sweep the floor"]));
    assert!(rehearsed.contains("sweep the floor") && rehearsed.contains("TASK_COMPLETE"), "{rehearsed}");

    let model = model(&conversation("'sweep the floor'", &[says("TASK_COMPLETE")]));
    let run = project.run(&model, &["agent", "run", "mine", "--arg", "task=sweep the floor"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(run.outcome()["reason"], "The agent said 'TASK_COMPLETE' in iteration 1.");
    assert!(run.stderr.contains("Starting agent mine"), "{}", run.stderr);
    let sessions = text(&project.autonoe(None).args(["sessions", "list"]).output().expect("started"));
    assert!(sessions.contains("step work"), "{sessions}");
}

#[test]
fn definition_errors_are_found_before_any_model_request() {
    let (good, steps) = one_step();
    let unreachable = json!({ "work": { "prompt": "work.md" }, "lost": { "prompt": "work.md" } });
    let composite = json!({ "completion": { "type": "composite", "mode": "any", "conditions": [
        { "type": "composite", "mode": "any", "conditions": [{ "type": "stepMachine" }] }] } });
    let cases: [(&str, Value, Value, &str, &[&str]); 8] = [
        (
            "a step that is not there",
            good.clone(),
            json!({ "work": { "prompt": "work.md", "next": "nowhere" } }),
            "x",
            &["$.steps.work.next", "nowhere"],
        ),
        ("a step that nothing leads to", good.clone(), unreachable, "x", &["lost"]),
        (
            "a fallback without a step",
            good.clone(),
            json!({ "work": { "prompt": "work.md", "check": {
            "type": "keyword", "keywords": ["X"], "onFail": { "retry": { "onExhausted": "fallback" } } } } }),
            "x",
            &["fallbackStep"],
        ),
        ("a variable that nobody gives", good.clone(), steps.clone(), "{uv-nobody}", &["nobody", "work.md"]),
        (
            "a prompt that is not there",
            good.clone(),
            json!({ "work": { "prompt": "other.md" } }),
            "x",
            &["other.md"],
        ),
        ("a condition within a condition", composite, steps.clone(), "x", &["composite"]),
        (
            "a cycle without an exit",
            json!({}),
            json!({
            "work": { "prompt": "work.md", "next": "back" }, "back": { "prompt": "work.md", "next": "work" } }),
            "x",
            &["work", "back"],
        ),
        ("broken syntax", good, steps, "line one\n  {uv-task is not closed\n", &["work.md:2:3"]),
    ];
    for (what, agent_file, steps, prompt, words) in cases {
        let project = with_agent(&agent_file, &steps, &[("work.md", prompt)]);
        let model = model(&conversation("'x'", &[says("x")]));
        for args in [
            &["agent", "validate", "worker"][..],
            &["agent", "run", "worker", "--arg", "task=x", "--backend", "native"],
        ] {
            let output = project.autonoe(Some(&model)).args(args).output().expect("started");
            let printed = text(&output);
            assert_eq!(output.status.code(), Some(2), "{what}: {printed}");
            assert!(words.iter().all(|word| printed.contains(word)), "{what}: {printed}");
            assert!(printed.contains(".json") || printed.contains(".md"), "{what} names its file: {printed}");
        }
        assert!(model.requests().is_empty(), "{what}");
    }
}

#[test]
fn unreadable_definitions_are_reported_in_one_sentence() {
    let (agent_file, steps) = one_step();
    let project = with_agent(&agent_file, &steps, &ONE_STEP);
    let run = |words: &[&str], change: &dyn Fn(&CliTestProject)| {
        change(&project);
        let output = agent(&project, &["run", "worker", "--arg", "task=x"]);
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(words.iter().all(|word| printed.contains(word)), "{words:?}: {printed}");
        write_agent(&project, "worker", &agent_file, &steps, &ONE_STEP);
    };
    let file = |name: &str| format!(".autonoe/agents/worker/{name}");
    run(&["agent.json", "line 1"], &|project| project.write(&file("agent.json"), "{ not json"));
    run(&["agent.json", "$.completion"], &|project| {
        project.write(
            &file("agent.json"),
            r#"{"version":"1.0.0","name":"worker","description":"x","completion":{"type":"sometime"}}"#,
        );
    });
    run(&["steps.json", "promt"], &|project| {
        project.write(
            &file("steps.json"),
            r#"{"version":"1.0.0","entryStep":"work","steps":{"work":{"promt":"work.md"}}}"#,
        );
    });
    run(&["work.md", "1048576"], &|project| {
        project.write(&file("prompts/work.md"), &"x".repeat(1024 * 1024))
    });
    for (args, words) in [
        (&["run", "nobody"][..], &["nobody", "worker"][..]),
        (&["run", "../worker"], &["../worker"]),
        (&["run", "worker"], &["task", "--arg task="]),
        (&["run", "worker", "--arg", "task=x", "--arg", "other=y"], &["other"]),
        (&["run", "worker", "--arg", "task"], &["NAME=VALUE"]),
        (&["run", "worker", "--resume"], &["The agent 'worker' has no unfinished run"]),
    ] {
        let output = agent(&project, args);
        let printed = text(&output);
        let code = if args.contains(&"--resume") { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{args:?}: {printed}");
        assert!(words.iter().all(|word| printed.contains(word)), "{args:?}: {printed}");
    }
}

#[test]
fn all_errors_of_both_files_are_reported_at_once() {
    let (agent_file, steps) = one_step();
    let project = with_agent(&agent_file, &steps, &ONE_STEP);
    project.write(
        ".autonoe/agents/worker/agent.json",
        r#"{
  "version": "1",
  "name": "worker",
  "descripton": "x",
  "parameters": { "task": { "type": "text" } },
  "maxIterations": "many",
  "completion": { "type": "keywordSignal" }
}"#,
    );
    project.write(
        ".autonoe/agents/worker/steps.json",
        r#"{
  "version": "1.0.0",
  "entryStep": "work",
  "steps": {
    "work": { "promt": "work.md", "next": "nowhere" },
    "more": { "prompt": "gone.md" }
  }
}"#,
    );
    let places = [
        ("agent.json", 2, "$.version"),
        ("agent.json", 4, "$.descripton"),
        ("agent.json", 5, "$.parameters.task.type"),
        ("agent.json", 6, "$.maxIterations"),
        ("agent.json", 7, "$.completion"),
        ("steps.json", 5, "$.steps.work.promt"),
        ("steps.json", 5, "$.steps.work.next"),
        ("steps.json", 6, "$.steps.more.prompt"),
    ];
    for args in [&["validate", "worker"][..], &["run", "worker"]] {
        let output = agent(&project, args);
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        for (file, line, path) in places {
            let place = format!("{file}, line {line}, {path}");
            assert_eq!(printed.matches(&place).count(), 1, "{place}: {printed}");
        }
        assert_eq!(printed.matches(".json, line").count(), places.len(), "{printed}");
    }
    let output = agent(&project, &["validate", "worker", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = json[0]["errors"].as_array().expect("errors");
    assert_eq!((output.status.code(), found.len()), (Some(2), places.len()), "{json:#}");
    for (file, line, path) in places {
        let is_here =
            |error: &&Value| error["file"] == file && error["line"] == line && error["path"] == path;
        assert!(found.iter().any(|error| is_here(&error)), "{path}: {json:#}");
    }
}

#[test]
fn two_agents_with_the_same_name_are_refused() {
    let (agent_file, steps) = one_step();
    let project = with_agent(&agent_file, &steps, &ONE_STEP);
    write_agent(&project, "other", &agent_file, &steps, &ONE_STEP);
    for args in [&["run", "worker", "--arg", "task=x"][..], &["validate", "--all"]] {
        let output = agent(&project, args);
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains("other") && printed.contains("worker"), "{printed}");
    }
}

#[test]
fn an_endless_step_loop_ends_as_a_fault() {
    let steps = json!({ "work": { "prompt": "work.md", "check": {
        "type": "keyword", "keywords": ["GOOD"], "onFail": { "next": "work" } } } });
    let project = with_agent(&json!({}), &steps, &[("work.md", "Work.")]);
    let model = model(&conversation("'Work.'", &[says("bad")]));
    let run = project.run(&model, &["agent", "run", "worker"]);
    run.assert_ended("failed", 7);
    assert_eq!(run.outcome()["fault"]["code"], "step_loop");
    assert_eq!(run.sessions().len(), 10);
}

#[test]
fn a_webhook_needs_an_allowed_host_that_answers() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://127.0.0.1:{}/hook", listener.local_addr().expect("address").port());
    let steps = json!({ "work": {
        "prompt": "work.md",
        "check": { "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": false } },
        "escalation": { "escalateTo": address },
    } });
    let project = with_agent(&json!({}), &steps, &[("work.md", "Work.")]);
    let server = model(&conversation("'Work.'", &[says("bad")]));
    let output = project
        .autonoe(Some(&server))
        .args(["agent", "run", "worker", "--backend", "native"])
        .output()
        .expect("started");
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("[webhooks]"), "{printed}");
    assert!(server.requests().is_empty());

    let host = address.trim_start_matches("http://").trim_end_matches("/hook");
    project.write("../home/.config/autonoe/config.toml", &format!("[webhooks]\nhosts = ['{host}']\n"));
    // From here on nothing listens at the allowed address.
    drop(listener);
    let run = project.run(&server, &["agent", "run", "worker"]);
    run.assert_ended("failed", 7);
    assert_eq!(run.outcome()["fault"]["code"], "not_notified");
}

#[test]
fn an_action_runs_in_the_sandbox() {
    let steps = json!({ "work": {
        "prompt": "work.md",
        "actions": [{ "type": "look", "command": "ls ~/.local/state/autonoe; touch ../outside.txt; echo x > inside.txt" }],
        "check": { "type": "action", "action": "look", "onFail": { "retry": false } },
    } });
    let project = with_agent(&json!({}), &steps, &[("work.md", "Work.")]);
    let model = model(&conversation("'Work.'", &[says("done")]));
    project.run(&model, &["agent", "run", "worker"]).assert_ended("condition_met", 0);
    assert_eq!(project.read("inside.txt"), "x\n");
    assert!(!project.path("../outside.txt").exists());
    assert_no_processes_left(&project);
}

#[test]
fn an_interrupt_during_an_action_leaves_nothing_and_does_not_repeat_the_session() {
    let action = "test -e done.txt || { touch ready.txt; tail -f /dev/null; }";
    let steps = json!({ "work": {
        "prompt": "work.md",
        "actions": [{ "type": "wait", "command": action }],
        "check": { "type": "action", "action": "wait" },
    } });
    let project = with_agent(&json!({}), &steps, &[("work.md", "Work.")]);
    let model = model(&conversation("'Work.'", &[says("done")]));
    interrupted_in_a_tool(&project, project.command(&model, &["agent", "run", "worker"]));
    fs::write(project.agents_path("done.txt"), "").expect("written");
    let run = project.run(&model, &["agent", "run", "worker", "--resume"]);
    run.assert_ended("condition_met", 0);
    assert_eq!((run.sessions().len(), model.requests().len()), (0, 1));
}

#[test]
fn without_a_sandbox_the_command_policy_applies_to_actions() {
    let run = |command: &str| {
        let steps = json!({ "work": {
            "prompt": "work.md",
            "actions": [{ "type": "look", "command": command }],
            "check": { "type": "action", "action": "look", "onFail": { "retry": false } },
        } });
        let project = with_agent(&json!({}), &steps, &[("work.md", "Work.")]);
        let model = model(&conversation("'Work.'", &[says("done")]));
        (project.run(&model, &["agent", "run", "worker", "--no-sandbox"]), project)
    };
    let (allowed, _) = run("ls");
    allowed.assert_ended("condition_met", 0);
    let (refused, project) = run("touch ../outside.txt; rm -rf ~");
    refused.assert_ended("failed", 7);
    let message = refused.outcome()["fault"]["message"].to_string();
    assert!(message.contains("without a sandbox the command policy applies"), "{message}");
    assert!(!project.path("../outside.txt").exists() && project.home().exists());
}

#[test]
fn a_custom_program_decides_completion() {
    use std::os::unix::fs::PermissionsExt;
    let agent_file = json!({ "completion": { "type": "custom", "program": "decide.sh" } });
    let project =
        with_agent(&agent_file, &json!({ "work": { "prompt": "work.md" } }), &[("work.md", "Work.")]);
    let program = ".autonoe/agents/worker/decide.sh";
    let missing = project
        .autonoe(None)
        .args(["agent", "run", "worker", "--backend", "native"])
        .output()
        .expect("started");
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
    assert!(
        !text(&missing).contains("chmod"),
        "a missing program cannot be made executable: {}",
        text(&missing)
    );
    project.write(program, "#!/bin/sh\ngrep -q '\"iteration\":3' && echo '{\"complete\":true,\"reason\":\"third\"}' || echo '{\"complete\":false}'\n");
    let model = model(&conversation("'Work.'", &[says("done")]));
    let output = project
        .autonoe(Some(&model))
        .args(["agent", "run", "worker", "--backend", "native"])
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(2), "the program must be executable");
    assert!(text(&output).contains("chmod +x"), "{}", text(&output));
    fs::set_permissions(project.path(program), fs::Permissions::from_mode(0o755)).expect("mode");
    let run = project.run(&model, &["agent", "run", "worker"]);
    run.assert_ended("condition_met", 0);
    assert_eq!((&run.outcome()["reason"], run.sessions().len()), (&json!("third"), 3));
}

#[test]
fn standard_input_and_named_variables_reach_a_prompt() {
    use std::io::Write;
    let agent_file = json!({
        "stdin": true, "environment": ["CITY"], "completion": { "type": "iterationBudget", "maxIterations": 1 },
    });
    let project = with_agent(
        &agent_file,
        &json!({ "work": { "prompt": "work.md" } }),
        &[("work.md", "In {uv-CITY}: {input_text}!")],
    );
    let model = model(&conversation("'In Tokyo: hello {uv-CITY}!'", &[says("ok")]));
    let mut command = project.command(&model, &["agent", "run", "worker"]);
    let mut child = command
        .env("CITY", "Tokyo")
        .env("SECRET", "no")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    child.stdin.take().expect("stdin").write_all(b"hello {uv-CITY}").expect("written");
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("condition_met", 0);
    assert_script_followed(&model);
}

/// Steps with a retry, a prompt check and a history session, for kills at any moment.
fn eventful() -> (Value, Value, String) {
    let steps = json!({
        "work": { "prompt": "work.md", "check": {
            "type": "keyword", "keywords": ["GOOD"], "onFail": { "retry": { "maxRetries": 2 } } }, "next": "look" },
        "look": { "prompt": "look.md", "check": { "type": "prompt", "prompt": "check.md" }, "next": "after" },
        "after": { "prompt": "after.md", "session": "history" },
    });
    let script = [
        "[[conversation]]\nname = 'bad'\nwhen = 'Work here'\nplays = 1\n[[conversation.turn]]\ntext = 'bad'\n".to_owned(),
        conversation("'Work here'", &[says("GOOD")]),
        conversation("'Look here'", &[says("looked")]),
        conversation("'Is it good'", &[says(r#"{ "passed": true, "reason": "yes" }"#)]),
        conversation("'After that'", &[says("over")]),
    ];
    (json!({}), steps, script.concat())
}

const EVENTFUL: [(&str, &str); 4] = [
    ("work.md", "Work here."),
    ("look.md", "Look here."),
    ("check.md", "Is it good?"),
    ("after.md", "After that."),
];

/// Kills an agent at every hit of a point; `--resume` finishes it each time.
pub fn kill_agent_at(point: JournalPoint) {
    let (agent_file, steps, script) = eventful();
    let args = ["agent", "run", "worker"];
    for hit in 1.. {
        let project = with_agent(&agent_file, &steps, &EVENTFUL);
        let model = model(&script);
        let crash = format!("{}:{hit}", point.name());
        let output =
            project.command(&model, &args).env("AUTONOE_CRASH_AT", &crash).output().expect("started");
        if output.status.signal() != Some(9) {
            assert!(output.status.success(), "{crash}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(hit > 1, "{} was never met", point.name());
            return;
        }
        assert_no_processes_left(&project);
        let run = project.run(&model, &["agent", "run", "worker", "--resume"]);
        run.assert_ended("condition_met", 0);
        assert_eq!(path(&run), ["work", "look", "after"], "{crash}");
        assert_eq!(run.outcome()["agent"]["visits"], json!({ "work": 1, "look": 1, "after": 1 }), "{crash}");
        let journal = rusqlite::Connection::open(project.journal()).expect("journal");
        let completed: i64 = journal
            .query_row(
                "SELECT COUNT(*) FROM sessions WHERE json_extract(outcome, '$.outcome') = 'completed'",
                [],
                |row| row.get(0),
            )
            .expect("count");
        assert!(completed <= 5, "{crash}: no finished session is run again, got {completed}");
    }
}

#[test]
fn an_agent_killed_after_a_session_start_can_be_resumed() {
    kill_agent_at(JournalPoint::SessionStarted);
}

#[test]
fn an_agent_killed_after_a_session_end_can_be_resumed() {
    kill_agent_at(JournalPoint::SessionEnded);
}

#[test]
fn a_changed_definition_is_refused_with_a_diff() {
    let (agent_file, steps, script) = eventful();
    let project = with_agent(&agent_file, &steps, &EVENTFUL);
    let model = model(&script);
    let output = project
        .command(&model, &["agent", "run", "worker"])
        .env("AUTONOE_CRASH_AT", "session-ended:1")
        .output()
        .expect("started");
    assert_eq!(output.status.signal(), Some(9));
    project.write(".autonoe/agents/worker/prompts/after.md", "After this.");
    let output = project.command(&model, &["agent", "run", "worker", "--resume"]).output().expect("started");
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("-After that.") && printed.contains("+After this."), "{printed}");
}

#[test]
fn an_interrupted_agent_resumes_and_a_finished_one_does_not() {
    let steps =
        json!({ "work": { "prompt": "work.md", "next": "after" }, "after": { "prompt": "after.md" } });
    let project = with_agent(&json!({}), &steps, &[("work.md", "Work here."), ("after.md", "After that.")]);
    let waits = "[[conversation]]\nname = 'waits'\nwhen = 'After that'\nplays = 1\n[[conversation.turn]]\n\
                 call = [{ tool = 'Bash', input = { command = 'touch ready.txt; tail -f /dev/null' } }]\n";
    let server = model(
        &[
            conversation("'Work here'", &[says("ok")]),
            waits.to_owned(),
            conversation("'After that'", &[says("over")]),
        ]
        .concat(),
    );
    let mut command = project.command(&server, &["agent", "run", "worker"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::INT);
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    assert_no_processes_left(&project);
    let run = project.run(&server, &["agent", "run", "worker", "--resume"]);
    run.assert_ended("condition_met", 0);
    assert_eq!(run.sessions().len(), 1, "only the interrupted step runs again");
    assert_eq!(path(&run), ["work", "after"]);
    let again = project.command(&server, &["agent", "run", "worker", "--resume"]).output().expect("started");
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
    assert!(text(&again).contains("unfinished"), "{}", text(&again));
}

/// SdkBridge: `@throws SdkConnectionError`
#[test]
fn a_model_that_cannot_be_reached_is_an_sdk_connection_error() {
    let (agent, steps) = one_step();
    let project = with_agent(&agent, &steps, &ONE_STEP);
    let server = model("[[conversation]]\n[[conversation.turn]]\ntext = 'never sent'");
    let closed =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let args = ["agent", "run", "worker", "--arg", "task=anything", "--max-outage", "500ms"];
    let mut command = project.command(&server, &args);
    let output = command.env("ANTHROPIC_BASE_URL", format!("http://{closed}")).output().expect("started");
    let run = RunOutput::from(output);
    run.assert_ended("outage", 6);
    let class = autonoe_workflow::faults::SDK_CONNECTION;
    let fault = &run.outcome()["fault"];
    assert_eq!(
        (&fault["code"], &fault["layer"]),
        (&class.code.into(), &class.layer.name().into()),
        "{fault}"
    );
    assert!(fault["message"].as_str().expect("a message").contains("Connection refused"), "{fault}");
    let ended = run.of_type("session_ended").next().expect("a session");
    assert_eq!(ended["fault"]["code"], class.code, "{ended}");
}
