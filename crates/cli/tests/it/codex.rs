//! The real Codex, driven through the binary, on a scripted model.

use std::fs;

use super::native::MCP_SERVER;
use super::support::{CliTestProject, RunOutput, always, assert_script_followed, model};
use super::vendors::{TestVendor, vendor};

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
fn codex_settings_of_user_and_repository_are_ignored() {
    let Some(codex) = codex() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let hostile =
        "approval_policy = \"never\"\n[mcp_servers.theirs]\ncommand = \"touch\"\nargs = [\"started.txt\"]\n";
    project.write(".codex/config.toml", hostile);
    fs::create_dir_all(project.home().join(".codex")).expect("directory");
    fs::write(project.home().join(".codex/config.toml"), hostile).expect("written");
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"exec_command\", input = {{ cmd = \"ls && wget x\" }} }}]\n{PASS}"
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
