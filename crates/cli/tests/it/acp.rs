//! Real agents that speak the Agent Client Protocol, started by command line, on a scripted model.

use std::fs;
use std::process::{Command, Stdio};

use autonoe_scripted::ScriptedServer;

use super::codex::{WRITES, out_of_usage};
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, coding, model,
    wait_until,
};
use super::vendors::{TestVendor, kill_in, vendor};

pub fn codex() -> Option<TestVendor> {
    vendor("codex-acp", "@zed-industries/codex-acp-linux-x64/bin/codex-acp")
}

/// `autonoe ARGS`, with codex-acp configured as the agent `mine` on the scripted model.
pub fn command(
    codex: &TestVendor,
    project: &CliTestProject,
    model: &ScriptedServer,
    args: &[&str],
) -> Command {
    let home = project.home().join("codex");
    fs::create_dir_all(&home).expect("directory");
    let base_url = model.base_url();
    fs::write(home.join("config.toml"), CODEX_CONFIG.replace("BASE_URL", &base_url)).expect("written");
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    let allowed = base_url.trim_start_matches("http://");
    let text = format!(
        "[agents.mine]\ncommand = ['codex-acp']\nenv = ['CODEX_HOME', 'FAKE_KEY', 'NO_PROXY', 'no_proxy']\n\
         hosts = ['{allowed}']\n[sandbox]\nwrite = ['{}']\n[network]\nallow = ['{allowed}']\n",
        home.display(),
    );
    fs::write(config.join("config.toml"), text).expect("written");
    let mut command = codex.command(project, model, args);
    command.env("CODEX_HOME", &home).env("FAKE_KEY", "test-key-never-real");
    // The room has its own loopback, so the model is reached through the egress proxy.
    command.env("NO_PROXY", "nowhere.invalid").env("no_proxy", "nowhere.invalid");
    command
}

fn run(codex: &TestVendor, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> RunOutput {
    RunOutput::from(command(codex, project, model, args).output().expect("started"))
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

pub fn with_own_tool_names(script: &str) -> String {
    script
        .replace(r#"tool = "Bash", input = { command = "#, r#"tool = "exec_command", input = { cmd = "#)
        .replace(r#"tool = "Bash", input = {{ command = "#, r#"tool = "exec_command", input = {{ cmd = "#)
}

#[test]
fn unapproved_actions_are_cut_off_and_explained() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(HOSTILE));
    let run = run(&codex, &project, &model, &["run", "--backend", "mine"]);
    run.assert_ended("all_passed", 0);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 4, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("../outside.txt").exists());
    // How far each action got before it was cut off depends on timing.
    let requests: Vec<String> = model.requests().iter().map(|logged| logged.request.to_string()).collect();
    for reason in
        ["autonoe's rules, not a person, refused", "Direct writes to .autonoe/", "'curl' is not in the list"]
    {
        assert!(requests.iter().any(|request| request.contains(reason)), "{reason}");
    }
}

#[test]
fn writes_in_sync_are_refused() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let model = model(&always(WRITES));
    let run = run(&codex, &project, &model, &["sync", "--backend", "mine", "-n", "1"]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 2, "{:#?}", run.events);
    assert_script_followed(&model);
}

#[test]
fn the_fallback_takes_over_when_its_quota_is_exhausted() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let (spent, working) = (model(&out_of_usage()), model(&coding("A", "passed")));
    let mut command =
        command(&codex, &project, &spent, &["run", "--backend", "mine", "--fallback", "native"]);
    command.env("ANTHROPIC_BASE_URL", working.base_url());
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    let backends: Vec<_> = run.of_type("session_started").map(|event| event["backend"].clone()).collect();
    assert_eq!(backends, ["mine", "native"], "{:#?}", run.of_type("session_ended").collect::<Vec<_>>());
    assert_eq!(run.of_type("backend_changed").next().expect("a change")["reason"], "quota_exceeded");
    assert_script_followed(&working);
}

#[test]
fn it_is_restarted_after_a_crash() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&with_own_tool_names(&[WAITING_ONCE, &coding("A", "passed")].concat()));
    let mut command = command(&codex, &project, &model, &["run", "--backend", "mine"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the command runs", || project.path("ready.txt").exists());
    kill_in(&project, |line| line.trim_end().ends_with("codex-acp"));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("retrying").count(), 1);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

#[test]
fn an_agents_environment_can_be_given_on_the_command_line() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&with_own_tool_names(&coding("A", "passed")));
    let home = project.home().join("codex");
    let backend = format!(
        "acp:CODEX_HOME='{}' FAKE_KEY=test-key-never-real NO_PROXY=nowhere.invalid no_proxy=nowhere.invalid codex-acp",
        home.display()
    );
    let run = run(&codex, &project, &model, &["run", "--backend", &backend]);
    run.assert_ended("all_passed", 0);
    assert!(run.of_type("session_started").all(|event| event["backend"] == "acp"));
    assert_script_followed(&model);
}

#[test]
fn a_failing_agent_is_reported_with_its_output() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    let backend = r#"acp:sh -c 'echo "no agent here" >&2; exit 3'"#;
    let run = project.run(&model, &["run", "--backend", backend, "--max-retries", "0"]);
    run.assert_ended("max_retries_exceeded", 6);
    let message = run.outcome()["fault"]["message"].as_str().expect("message").to_owned();
    assert!(message.contains("exited with code 3") && message.contains("no agent here"), "{message}");
}

#[test]
fn a_missing_agent_or_invalid_command_line_is_refused() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    for (backend, wanted) in [
        ("acp:no-such-agent --acp", "no-such-agent"),
        ("acp:", "acp:'opencode acp'"),
        ("acp:a | b", "no shell is started"),
        ("nobody", "[agents.NAME]"),
    ] {
        let output = project.command(&model, &["run", "--backend", backend]).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{backend}: {stderr}");
        assert!(stderr.contains(wanted), "{backend}: {stderr}");
    }
}

/// A first conversation whose command never ends.
pub const WAITING_ONCE: &str = r#"
  [[conversation]]
  plays = 1
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo ready > ready.txt; tail -f ready.txt" } }]
  [[conversation.turn]]
  text = "never"
"#;

/// A write to `.autonoe`, a dangerous command, a denied command in a chain, a write outside the project.
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

#[test]
fn thinking_is_set_as_the_agent_offers_it() {
    let Some(codex) = codex() else { return };
    for (budget, effort) in [("1024", "low"), ("32000", "high")] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(&with_own_tool_names(&coding("A", "passed")));
        let run = run(&codex, &project, &model, &["run", "--backend", "mine", "--thinking", budget]);
        run.assert_ended("all_passed", 0);
        assert_eq!(model.requests()[0].request["reasoning"]["effort"], effort, "{budget}");
    }
}
