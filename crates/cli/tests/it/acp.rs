//! Agents by their command line: real ones that speak the Agent Client Protocol, on a scripted model.

use std::fs;
use std::process::{Command, Stdio};

use autonoe_scripted::Server;

use super::codex::{WRITES, out_of_usage};
use super::support::{Place, Run, always, assert_followed, assert_nothing_left, coding, model, wait_until};
use super::vendors::{Vendor, kill_in, vendor};

pub fn codex() -> Option<Vendor> {
    vendor("codex-acp", "@zed-industries/codex-acp-linux-x64/bin/codex-acp")
}

/// `autonoe ARGS`, with an agent `mine` in the user's configuration: codex-acp, whose model is the scripted one.
pub fn command(codex: &Vendor, place: &Place, model: &Server, args: &[&str]) -> Command {
    let home = place.home().join("codex");
    fs::create_dir_all(&home).expect("directory");
    let base_url = model.base_url();
    fs::write(home.join("config.toml"), CODEX_CONFIG.replace("BASE_URL", &base_url)).expect("written");
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    let allowed = base_url.trim_start_matches("http://");
    let text = format!(
        "[agents.mine]\ncommand = ['codex-acp']\nenv = ['CODEX_HOME', 'FAKE_KEY', 'NO_PROXY', 'no_proxy']\n\
         hosts = ['{allowed}']\n[sandbox]\nwrite = ['{}']\n[network]\nallow = ['{allowed}']\n",
        home.display(),
    );
    fs::write(config.join("config.toml"), text).expect("written");
    let mut command = codex.command(place, model, args);
    command.env("CODEX_HOME", &home).env("FAKE_KEY", "test-key-never-real");
    // Loopback is the room's own; the model is reached through the egress proxy.
    command.env("NO_PROXY", "nowhere.invalid").env("no_proxy", "nowhere.invalid");
    command
}

fn run(codex: &Vendor, place: &Place, model: &Server, args: &[&str]) -> Run {
    Run::from(command(codex, place, model, args).output().expect("started"))
}

const CODEX_CONFIG: &str = r#"
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
[model_providers.fake]
name = "fake"
base_url = "BASE_URL/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
supports_websockets = false
stream_max_retries = 5
"#;

/// A script with the names that codex has for tools.
pub fn in_its_words(script: &str) -> String {
    script
        .replace(r#"tool = "Bash", input = { command = "#, r#"tool = "exec_command", input = { cmd = "#)
        .replace(r#"tool = "Bash", input = {{ command = "#, r#"tool = "exec_command", input = {{ cmd = "#)
}

#[test]
fn what_it_does_unasked_is_broken_off_and_explained() {
    let Some(codex) = codex() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always(HOSTILE));
    let run = run(&codex, &place, &model, &["run", "--backend", "mine"]);
    run.assert_ended("all_passed", 0);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 4, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!place.path("../outside.txt").exists());
    // How far it got with each before it was broken off is a matter of luck.
    let asked: Vec<String> = model.requests().iter().map(|asked| asked.request.to_string()).collect();
    for reason in ["autonoe's rules refused", "Direct writes to .autonoe/", "'curl' is not in the list"] {
        assert!(asked.iter().any(|request| request.contains(reason)), "{reason}");
    }
}

#[test]
fn what_it_writes_in_sync_is_refused() {
    let Some(codex) = codex() else { return };
    let place = Place::with_status(&[("A", "passed")]);
    let model = model(&always(WRITES));
    let run = run(&codex, &place, &model, &["sync", "--backend", "mine", "-n", "1"]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 2, "{:#?}", run.events);
    assert_followed(&model);
}

#[test]
fn another_agent_goes_on_when_its_quota_is_used_up() {
    let Some(codex) = codex() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let (spent, working) = (model(&out_of_usage()), model(&coding("A", "passed")));
    let mut command = command(&codex, &place, &spent, &["run", "--backend", "mine", "--fallback", "native"]);
    command.env("ANTHROPIC_BASE_URL", working.base_url());
    let run = Run::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    let backends: Vec<_> = run.of_type("session_started").map(|event| event["backend"].clone()).collect();
    assert_eq!(backends, ["mine", "native"], "{:#?}", run.of_type("session_ended").collect::<Vec<_>>());
    assert_eq!(run.of_type("backend_changed").next().expect("a change")["reason"], "quota_exceeded");
    assert_followed(&working);
}

#[test]
fn it_is_started_again_when_it_dies() {
    let Some(codex) = codex() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&in_its_words(&[WAITING_ONCE, &coding("A", "passed")].concat()));
    let mut command = command(&codex, &place, &model, &["run", "--backend", "mine"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    kill_in(&place, |line| line.trim_end().ends_with("codex-acp"));
    let run = Run::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("retrying").count(), 1);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_nothing_left(&place);
    assert_followed(&model);
}

#[test]
fn an_agent_is_typed_with_what_it_needs() {
    let Some(codex) = codex() else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&in_its_words(&coding("A", "passed")));
    let home = place.home().join("codex");
    let backend = format!(
        "acp:CODEX_HOME='{}' FAKE_KEY=test-key-never-real NO_PROXY=nowhere.invalid no_proxy=nowhere.invalid codex-acp",
        home.display()
    );
    let run = run(&codex, &place, &model, &["run", "--backend", &backend]);
    run.assert_ended("all_passed", 0);
    assert!(run.of_type("session_started").all(|event| event["backend"] == "acp"));
    assert_followed(&model);
}

#[test]
fn an_agent_is_named_by_its_command_and_its_last_words_are_told() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'never asked'"));
    let backend = r#"acp:sh -c 'echo "no agent here" >&2; exit 3'"#;
    let run = place.run(&model, &["run", "--backend", backend, "--max-retries", "0"]);
    run.assert_ended("max_retries_exceeded", 6);
    let message = run.outcome()["fault"]["message"].as_str().expect("message").to_owned();
    assert!(message.contains("exit code 3") && message.contains("no agent here"), "{message}");
}

#[test]
fn an_agent_that_is_not_there_or_cannot_be_split_is_refused() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'never asked'"));
    for (backend, wanted) in [
        ("acp:no-such-agent --acp", "no-such-agent"),
        ("acp:", "acp:'opencode acp'"),
        ("acp:a | b", "no shell is started"),
        ("nobody", "[agents.NAME]"),
    ] {
        let output = place.command(&model, &["run", "--backend", backend]).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{backend}: {stderr}");
        assert!(stderr.contains(wanted), "{backend}: {stderr}");
    }
}

/// A command in the first conversation that never ends.
pub const WAITING_ONCE: &str = r#"
  [[conversation]]
  plays = 1
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo ready > ready.txt; tail -f ready.txt" } }]
  [[conversation.turn]]
  text = "never"
"#;

/// A write to the status file's directory, a dangerous command, a denied command in a chain, a write outside the project.
const HOSTILE: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: .autonoe/other.json\n+{}\n*** End Patch\n" }]
  [[conversation.turn]]
  call = [{ tool = "exec_command", input = { cmd = "rm -rf ~" } }]
  [[conversation.turn]]
  call = [{ tool = "exec_command", input = { cmd = "ls && curl http://127.0.0.1:1/" } }]
  [[conversation.turn]]
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: ../outside.txt\n+x\n*** End Patch\n" }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;
