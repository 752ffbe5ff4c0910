//! PreToolUse hooks of `agent.json`, before the calls of every kind of agent.

use serde_json::{Value, json};

use super::codex::PASS;
use super::matrix::Pair;
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, model,
};

/// Denies files whose path contains `secret`.
const PROTECT: &str = r#"case "$(cat)" in
  *'"file_path":"'*secret*) echo "secret files are off limits" >&2; exit 2 ;;
esac
"#;

fn hook(matcher: &str, command: &str, timeout: u32) -> Value {
    json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command, "timeout": timeout }] })
}

/// A project with one pending deliverable whose hooks the user has approved.
fn project(hooks: &[Value], files: &[(&str, &str)]) -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    for (name, content) in files {
        project.write(name, content);
    }
    project.write(".autonoe/agent.json", &json!({ "hooks": { "PreToolUse": hooks } }).to_string());
    trust(&project);
    project
}

#[track_caller]
fn trust(project: &CliTestProject) -> String {
    let output = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn denied_by_hooks(run: &RunOutput) -> Vec<&str> {
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"] == "hooks");
    denied.map(|event| event["name"].as_str().expect("a name")).collect()
}

/// A hook that denies a path, one that takes too long, one that prints garbage, one that does not exist; and calls that
/// none of them objects to.
pub fn hook_denials(pair: &Pair) {
    let hooks = [
        hook("Write|Edit", "sh .autonoe/protect.sh", 60),
        hook("Bash", r#"case "$(cat)" in *slowly*) sleep 300;; esac"#, 5),
        hook("^Ba.h$", r#"case "$(cat)" in *garbled*) echo '{"decision": "app';; esac"#, 60),
        hook("*", r#"case "$(cat)" in *absent*) exec ./not-there.sh;; esac"#, 60),
    ];
    let project = project(&hooks, &[(".autonoe/protect.sh", PROTECT)]);
    let script = format!(
        r#"
          [[conversation.turn]]
          call = [{secret}]
          [[conversation.turn]]
          expect = "secret files are off limits"
          call = [{{ tool = "Bash", input = {{ command = "echo slowly >> ran.txt" }} }}]
          [[conversation.turn]]
          expect = "did not finish within 5s"
          call = [{{ tool = "Bash", input = {{ command = "echo garbled >> ran.txt" }} }}]
          [[conversation.turn]]
          expect = "not the JSON of a hook"
          call = [{{ tool = "Bash", input = {{ command = "echo absent >> ran.txt" }} }}]
          [[conversation.turn]]
          expect = "exited with code 127"
          call = [{open}]
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "echo plain >> ran.txt" }} }}]
          {PASS}
        "#,
        secret = pair.write("secret.txt", "x"),
        open = pair.write("open.txt", "x"),
    );
    let model = model(&pair.with_own_tool_names(&always(&script)));
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    pair.assert_layer(&run);
    assert_eq!(denied_by_hooks(&run), ["Write", "Bash", "Bash", "Bash"]);
    assert!(!project.path("secret.txt").exists());
    assert_eq!(project.read("open.txt").trim_end(), "x");
    assert_eq!(project.read("ran.txt"), "plain\n");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

/// Denies commands that contain `forbidden`.
const GUARD: &str = r#"import json, sys
if "forbidden" in json.dumps(json.load(sys.stdin)["tool_input"]):
    sys.exit("forbidden by the guard")
"#;

/// Leaves what Python loads by itself in the home of commands, for every program whose name contains `guard`.
const PLANT: &str = r#"import importlib.util, json, marshal, os, site, struct
code = "import os, sys\nif any('guard' in a for a in sys.orig_argv): os._exit(0)\n"
os.makedirs(site.getusersitepackages(), exist_ok=True)
with open(site.getusersitepackages() + "/usercustomize.py", "w") as file:
    file.write(code)
compiled = importlib.util.cache_from_source(json.__file__)
if compiled.startswith(os.path.expanduser("~")):
    os.makedirs(os.path.dirname(compiled), exist_ok=True)
    source = os.stat(json.__file__)
    with open(compiled, "wb") as file:
        header = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(source.st_mtime), source.st_size)
        file.write(header + marshal.dumps(compile(code, "json", "exec")))
"#;

/// Puts another script in the place of the guard, where the sandbox does not prevent that.
const REPLACE: &str = r#"import os
try:
    os.rename("scripts", "aside")
    os.mkdir("scripts")
    open("scripts/guard.py", "w").close()
except OSError:
    pass
"#;

/// An agent leaves files for the interpreter of a hook, and replaces its script.
pub fn hooks_under_attack(pair: &Pair) {
    let replaces = r#"call = [{ tool = "Bash", input = { command = "python3 replace.py" } }]
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo forbidden > two.txt" } }]"#;
    let files = [("plant.py", PLANT), ("replace.py", REPLACE)];
    attack_the_guard(pair, &files, "plant.py", &format!("expect = 'forbidden by the guard'\n{replaces}"));
}

/// An agent runs `first`, then makes a file that the guard denies, and then plays `then`, in which another call is denied.
fn attack_the_guard(pair: &Pair, files: &[(&str, &str)], first: &str, then: &str) {
    let files = [&[("scripts/guard.py", GUARD)], files].concat();
    let project = project(&[hook("Bash", "python3 scripts/guard.py", 60)], &files);
    let script = format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "python3 {first}" }} }}]
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "echo forbidden > one.txt" }} }}]
          [[conversation.turn]]
          {then}
          {PASS}
        "#
    );
    let model = model(&pair.with_own_tool_names(&always(&script)));
    let run = pair.run(&project, &model, &["run"]);
    run.assert_ended("all_passed", 0);
    pair.assert_layer(&run);
    assert_eq!(denied_by_hooks(&run), ["Bash", "Bash"]);
    assert!(!project.path("one.txt").exists() && !project.path("two.txt").exists());
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

/// Keeps the script of a hook mapped in the background and changes it for moments.
const MAP: &str = r#"import mmap, os
with open("scripts/guard.py", "r+b") as file:
    script = mmap.mmap(file.fileno(), 0)
at = script.find(b"forbidden")
if os.fork() == 0:
    os.setsid()
    for stream in range(3):
        os.close(stream)
    while True:
        for word in (b"forbidden", b"permitted"):
            script[at:at + 9] = word
"#;

/// With Landlock, agents can write the scripts of hooks. None runs while a program of the agent has it mapped.
pub fn mapped_hook_script(pair: &Pair) {
    let then = r#"expect = "another program has it open or mapped for writing"
          call = [{ tool = "Bash", input = { command = "echo harmless > two.txt" } }]"#;
    attack_the_guard(pair, &[("map.py", MAP)], "map.py", then);
}

/// The block after `start` in the section about hooks.
fn documented(start: &str) -> &'static str {
    let document = include_str!("../../../../docs/configuration.md");
    let section = document.split("### Hooks").nth(1).expect("the section");
    let block = section.split(start).nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the block")
}

#[test]
fn the_documented_hook_works() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".autonoe/agent.json", documented("```json\n"));
    project.write(".autonoe/hooks/migrations.sh", documented("```sh\n"));
    let shown = trust(&project);
    assert!(
        shown.contains("hook before Write|Edit|MultiEdit: sh .autonoe/hooks/migrations.sh (at most 10s)"),
        "{shown}"
    );
    let model = model(&always(&format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Write", input = {{ file_path = "migrations/1.sql", content = "x" }} }}]
          [[conversation.turn]]
          expect = "Migrations are written by hand"
          call = [{{ tool = "Write", input = {{ file_path = "src/a.sql", content = "x" }} }}]
          {PASS}
        "#
    )));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(denied_by_hooks(&run), ["Write"]);
    assert!(!project.path("migrations/1.sql").exists() && project.path("src/a.sql").exists());
    assert_script_followed(&model);
}

/// A hook sees the call and the session, runs in the sandbox, and cannot allow what another gate denies.
#[test]
fn a_hook_gets_the_call_and_only_narrows() {
    let allow = r#"cat >> seen.jsonl; echo >> seen.jsonl; pwd > where.txt; echo "$CLAUDE_PROJECT_DIR" >> where.txt
        echo x > ../outside.txt
        echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'"#;
    let project = project(&[hook("Bash", allow, 60)], &[]);
    let model = model(&always(&format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "wget http://127.0.0.1:1/" }} }}]
          [[conversation.turn]]
          expect = "'wget' is not in the list"
          call = [{{ tool = "Bash", input = {{ command = "echo fine" }} }}]
          {PASS}
        "#
    )));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    let seen: Value = serde_json::from_str(&project.read("seen.jsonl")).expect("one JSON object");
    assert_eq!((&seen["hook_event_name"], &seen["tool_name"]), (&json!("PreToolUse"), &json!("Bash")));
    assert_eq!(seen["tool_input"]["command"], "echo fine", "a hook runs only for what no other gate denies");
    assert_eq!(seen["session_id"], "run-1-session-1");
    assert!(seen["tool_use_id"].is_string(), "{seen}");
    let root = project.root().canonicalize().expect("exists").display().to_string();
    assert_eq!(seen["cwd"], root);
    assert_eq!(project.read("where.txt"), format!("{root}\n{root}\n"));
    assert!(!project.path("../outside.txt").exists(), "a hook is in the sandbox");
    assert_script_followed(&model);
}

/// The script of a hook is the user's: agents cannot change it, and a new version needs approval.
#[test]
fn the_script_of_a_hook_is_protected() {
    let project = project(&[hook("Write", "sh scripts/check.sh", 60)], &[("scripts/check.sh", "exit 0\n")]);
    let model = model(&always(&format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Write", input = {{ file_path = "scripts/check.sh", content = "x" }} }}]
          [[conversation.turn]]
          expect = "is used by the checks or hooks"
          call = [{{ tool = "Bash", input = {{ command = "echo x > scripts/check.sh" }} }}]
          [[conversation.turn]]
          expect = "is used by the checks or hooks"
          call = [{{ tool = "Bash", input = {{ command = "node -e 'require(\"fs\").writeFileSync(\"scripts/check.sh\", \"x\")'" }} }}]
          {PASS}
        "#
    )));
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.read("scripts/check.sh"), "exit 0\n");
    project.write("scripts/check.sh", "exit 1\n");
    let run = project.run(&model, &["run"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("hook before Write: sh scripts/check.sh"), "{}", run.stderr);
}

/// Commands that name the script other than by its path from the root.
#[test]
fn the_script_of_a_hook_is_protected_however_it_is_named() {
    let commands = [
        "cd scripts && sh check.sh",
        "D=scripts; sh \"$(pwd)/$D/check.sh\"",
        "sh scripts/{check,}.sh",
        "sh \"$(git rev-parse --show-toplevel)/scripts/check.sh\"",
    ];
    for command in commands {
        let project = project(&[hook("Read", command, 60)], &[("scripts/check.sh", "exit 0\n")]);
        let model = model(&always(&format!(
            r#"
              [[conversation.turn]]
              call = [{{ tool = "Write", input = {{ file_path = "scripts/check.sh", content = "x" }} }}]
              [[conversation.turn]]
              expect = "is used by the checks or hooks"
              call = [{{ tool = "Bash", input = {{ command = "node -e 'require(\"fs\").writeFileSync(\"scripts/check.sh\", \"x\")'" }} }}]
              {PASS}
            "#
        )));
        let run = project.run(&model, &["run"]);
        run.assert_ended("all_passed", 0);
        assert_eq!(project.read("scripts/check.sh"), "exit 0\n", "{command}");
        assert_script_followed(&model);
    }
}

/// What cannot be read is said before the approval and at the start of each run.
#[test]
fn a_hook_whose_command_does_not_tell_what_it_runs_is_reported() {
    let known = hook("Write", "sh scripts/check.sh", 60);
    let unknown = hook("Write", "sh \"$(cat name)\"", 60);
    let files = [("scripts/check.sh", "exit 0\n"), ("name", "scripts/check.sh\n")];
    let model = model(&always(PASS));
    for (hook, is_reported) in [(known, false), (unknown, true)] {
        let project = project(&[hook.clone(), hook], &files);
        let shown = trust(&project);
        assert_eq!(shown.contains("your approval does not cover it"), is_reported, "{shown}");
        let run = project.run(&model, &["run"]);
        run.assert_ended("all_passed", 0);
        let warnings = run.stderr.matches("runs cannot be known from its command").count();
        assert_eq!(warnings, usize::from(is_reported), "{}", run.stderr);
    }
}

#[test]
fn a_hook_that_is_misspelt_stops_the_run() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    for (hooks, part) in [
        (json!(["Mine"]), "'Mine' is not a built-in hook"),
        (json!([hook("mcp__(", "true", 60)]), "this matcher is not a regular expression"),
    ] {
        project.write(".autonoe/agent.json", &json!({ "hooks": { "PreToolUse": hooks } }).to_string());
        let run = project.run(&model, &["run"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(part) && run.stderr.contains("hooks.PreToolUse"), "{}", run.stderr);
    }
}
