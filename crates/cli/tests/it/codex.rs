//! The real Codex, driven through the binary, on a scripted model.

use std::fs;
use std::process::Stdio;

use super::native::MCP_SERVER;
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, model, until,
};
use super::vendors::{TestVendor, kill_in, vendor};
use autonoe_scripted::ScriptedServer;

pub fn codex() -> Option<TestVendor> {
    vendor("codex", "@openai/codex/bin/codex.js")
}

/// The native program that npm's script starts.
pub fn program() -> Option<TestVendor> {
    vendor("codex", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
}

pub fn with_own_tool_names(script: &str) -> String {
    script.replace(r#"tool = "Bash", input = { command ="#, r#"tool = "exec_command", input = { cmd ="#)
}

pub const PASS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

#[test]
fn codex_goes_through_the_same_gates() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(HOSTILE));
    let run = codex.run(&project, &model, &["run", "--backend", "codex"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 1, "the session continues");
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 5, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("../outside.txt").exists());
    assert_eq!(project.read("inside.txt"), "x\n");
    assert_script_followed(&model);
}

/// Writes a file with each of Codex's tools.
pub const WRITES: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: src.txt\n+x\n*** End Patch\n" }]
  [[conversation.turn]]
  call = [{ tool = "exec_command", input = { cmd = "echo x > other.txt" } }]
  [[conversation.turn]]
  text = "done"
"#;

#[test]
fn codex_changes_nothing_in_sync() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let model = model(&always(WRITES));
    let run = codex.run(&project, &model, &["sync", "--backend", "codex", "-n", "1"]);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 2, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("src.txt").exists() && !project.path("other.txt").exists());
    assert_script_followed(&model);
}

/// A write to the status file, a dangerous command, a denied command in a chain, a write outside the project with the tool
/// and with a command; and a permitted write.
const HOSTILE: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: .autonoe/status.json\n+{}\n*** End Patch\n" }]
  [[conversation.turn]]
  expect = "Direct writes to .autonoe/"
  call = [{ tool = "exec_command", input = { cmd = "rm -rf ~" } }]
  [[conversation.turn]]
  expect = "The rules of this project do not allow"
  call = [{ tool = "exec_command", input = { cmd = "ls && curl http://127.0.0.1:1/" } }]
  [[conversation.turn]]
  expect = "'curl' is not in the list"
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: ../outside.txt\n+x\n*** End Patch\n" }]
  [[conversation.turn]]
  expect = "The rules of this project do not allow"
  call = [{ tool = "exec_command", input = { cmd = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ../outside.txt\n+x\n*** End Patch\nEOF\n" } }]
  [[conversation.turn]]
  expect = "The rules of this project do not allow"
  call = [{ tool = "apply_patch", input = "*** Begin Patch\n*** Add File: inside.txt\n+x\n*** End Patch\n" }]
  [[conversation.turn]]
  expect = "Success"
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

/// A model whose usage limit is reached, as the service reports it to subscribers.
pub fn out_of_usage() -> String {
    let resets_at = jiff::Timestamp::now().as_second() + 3600;
    always(&format!(
        "[[conversation.turn]]\nfault = {{ kind = 'status', status = 429, times = 99, \
         error = {{ type = 'usage_limit_reached', plan_type = 'plus', resets_at = {resets_at} }} }}\n\
         [[conversation.turn]]\ntext = 'never'"
    ))
}

#[test]
fn a_usage_limit_of_codex_is_a_quota() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&out_of_usage());
    let run = codex.run(&project, &model, &["run", "--backend", "codex"]);
    run.assert_ended("quota_exceeded", 5);
    assert_eq!(model.requests().len(), 1, "it is not retried");
    assert!(run.outcome()["resets_at"].is_string(), "{}", run.outcome());
}

#[test]
fn the_fallback_takes_over_when_codex_is_out_of_quota() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let codex_model = model(&out_of_usage());
    let native_model = model(&always(PASS));
    let mut command =
        codex.command(&project, &codex_model, &["run", "--backend", "codex", "--fallback", "native"]);
    command.env("ANTHROPIC_BASE_URL", native_model.base_url());
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("backend_changed").count(), 1);
    let backends: Vec<_> = run.of_type("session_started").map(|event| event["backend"].clone()).collect();
    assert_eq!(backends, ["codex", "native"]);
}

#[test]
fn a_rejected_codex_key_is_reported() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(
        "[[conversation.turn]]\nfault = { kind = 'invalid_key', times = 99 }\n[[conversation.turn]]\ntext = 'never'",
    ));
    let run = codex.run(&project, &model, &["run", "--backend", "codex"]);
    run.assert_ended("failed", 2);
    assert_eq!(run.outcome()["fault"]["code"], "not_logged_in");
    assert!(run.stderr.contains("codex login"), "{}", run.stderr);
}

/// A command that ignores signals, with a child that does too.
const LONG_COMMAND: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "exec_command", input = { cmd = "trap '' TERM INT; (trap '' TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300", yield_time_ms = 30000 } }]
  [[conversation.turn]]
  text = "x"
"#;

#[test]
fn codex_is_restarted_after_a_crash() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script = format!("[[conversation]]\nplays = 1\n{LONG_COMMAND}\n[[conversation]]\n{PASS}");
    let model = model(&script);
    let mut command = codex.command(&project, &model, &["run", "--backend", "codex"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.path("ready.txt").exists());
    kill_in(&project, |line| line.ends_with("codex app-server "));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("retrying").count(), 1);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_no_processes_left(&project);
}

#[test]
fn resume_continues_a_codex_conversation() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let first = model(&always("[[conversation.turn]]\ntext = \"remember the word barbarossa\"\n"));
    let run = codex.run(&project, &first, &["run", "--backend", "codex", "--max-iterations", "1"]);
    run.assert_ended("max_iterations", 4);
    let second =
        model(&always(&format!("[[conversation.turn]]\ntext = \"remember the word barbarossa\"\n{PASS}")));
    let run = codex.run(&project, &second, &["run", "--backend", "codex", "--resume"]);
    run.assert_ended("all_passed", 0);
    assert!(first_request(&second).contains("barbarossa"), "the first request includes the conversation");
    assert_eq!(run.of_type("usage").count(), second.requests().len(), "no usage is counted twice");
    assert!(run.of_type("usage").all(|event| event["cost_usd"].is_f64()), "its price is known");
}

fn first_request(model: &ScriptedServer) -> String {
    model.requests()[0].request.to_string()
}

#[test]
fn codex_settings_of_user_and_repository_are_ignored() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let hostile =
        "approval_policy = \"never\"\n[mcp_servers.theirs]\ncommand = \"touch\"\nargs = [\"started.txt\"]\n";
    project.write(".codex/config.toml", hostile);
    fs::create_dir_all(project.home().join(".codex")).expect("directory");
    fs::write(project.home().join(".codex/config.toml"), hostile).expect("written");
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"exec_command\", input = {{ cmd = \"ls && curl x\" }} }}]\n{PASS}"
    )));
    let run = codex.run(&project, &model, &["run", "--backend", "codex"]);
    run.assert_ended("all_passed", 0);
    assert!(
        run.of_type("tool_result").any(|event| event["denied_by"].is_string()),
        "approval is still required"
    );
    assert!(!project.path("started.txt").exists());
    assert_script_followed(&model);
}

#[test]
fn codex_calls_mcp_tools_and_has_no_tty() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    // A slow server, which must be waited for.
    project.write("server.sh", &format!("sleep 2\n{MCP_SERVER}"));
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    let text = "[mcp_servers.mine]\ncommand = \"bash\"\nargs = [\"server.sh\"]\n\
                [mcp_servers.broken]\ncommand = \"no-such-program\"\n";
    fs::write(config.join("config.toml"), text).expect("written");
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"mcp__mine__greet\", input = {{ }} }}]\n\
         [[conversation.turn]]\nexpect = \"hello from the server\"\n\
         call = [{{ tool = \"exec_command\", input = {{ cmd = \"cat\", tty = true }} }}]\n{}",
        PASS.replacen("call =", "expect = \"TTY execution is disabled\"\ncall =", 1)
    )));
    let run = codex.run(&project, &model, &["run", "--backend", "codex"]);
    run.assert_ended("all_passed", 0);
    let names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(names, ["mcp__mine__greet", "mcp__autonoe__set_status"]);
    let mut troubles = run.of_type("trouble").filter_map(|event| event["message"].as_str());
    assert!(troubles.any(|message| message.contains("broken")), "a server that does not start is reported");
    assert_script_followed(&model);
}

#[test]
fn codex_uses_the_provider_of_the_users_settings() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always(PASS));
    fs::create_dir_all(project.home().join(".codex")).expect("directory");
    let theirs = format!(
        "model_provider = \"mine\"\n[model_providers.mine]\nname = \"mine\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"MINE_KEY\"\n",
        model.base_url()
    );
    fs::write(project.home().join(".codex/config.toml"), theirs).expect("written");
    let mut command = codex.command(&project, &model, &["run", "--backend", "codex"]);
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL").env("MINE_KEY", "test-key-never-real");
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
}
