//! The real Codex without its app server: `codex exec`, which only the room confines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::ScriptedServer;
use serde_json::Value;

use super::codex::{PASS, program, with_own_tool_names};
use super::collector::{SpanCollector, assert_healthy};
use super::matrix::{LEAVES_COMMANDS, with_codex_tool_names};
use super::native::MCP_SERVER;
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, builder, model,
};
use super::vendors::TestVendor;

/// Puts a script on the search path that is the real Codex, but without the app server.
pub fn without_app_server(project: &CliTestProject, codex: &TestVendor) -> PathBuf {
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("directory");
    let script = bin.join("codex");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = app-server ]; then echo 'error: unrecognized subcommand' >&2; exit 2; fi\nexec '{}' \"$@\"\n",
        codex.program().display()
    );
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    script
}

/// `autonoe ARGS --backend codex` with that Codex, whose packages must be readable in the room.
fn command(
    project: &CliTestProject,
    model: &ScriptedServer,
    further: &str,
    args: &[&str],
) -> Option<Command> {
    let codex = program()?;
    without_app_server(project, &codex);
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    let text = format!("[sandbox]\nread = ['{}']\n{further}", codex.packages().display());
    fs::write(config.join("config.toml"), text).expect("written");
    Some(codex.command(project, model, &[args, &["--backend", "codex"]].concat()))
}

fn run(project: &CliTestProject, model: &ScriptedServer, further: &str, args: &[&str]) -> Option<RunOutput> {
    Some(RunOutput::from(command(project, model, further, args)?.output().expect("started")))
}

fn is_exec_notice(event: &&Value) -> bool {
    event["message"].as_str().is_some_and(|message| message.contains("`codex exec` is used"))
}

#[test]
fn codex_completes_a_run_without_its_app_server() {
    let project = CliTestProject::new();
    let model = model(&with_own_tool_names(&builder()));
    let Some(mut command) = command(&project, &model, "", &["run"]) else { return };
    let collector = SpanCollector::start();
    collector.watch(&mut command);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_healthy(&collector.spans(), 4);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert_eq!(project.read("work-A.txt"), "built\n");
    assert_eq!(run.of_type("trouble").filter(is_exec_notice).count(), 4, "each session reports it once");
    assert_eq!(run.of_type("trouble").count(), 4);
    let names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(names[..3], ["mcp__autonoe__create", "Bash", "mcp__autonoe__set_status"]);
    assert!(run.of_type("usage").all(|event| event["cost_usd"].is_f64()), "its price is known");
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn background_commands_do_not_delay_the_end() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&with_codex_tool_names(&always(LEAVES_COMMANDS)));
    let Some(run) = run(&project, &model, "", &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn a_refused_command_ends_the_turn() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    // The command keeps running, so that it is still there when it is refused.
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"exec_command\", input = {{ cmd = \"tail -f SPEC.md; wget http://127.0.0.1:1/\" }} }}]\n{}",
        PASS.replacen("call =", "expect = \"'wget' is not in the list\"\ncall =", 1)
    )));
    let Some(run) = run(&project, &model, "", &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 1, "the session continues");
    let refused: Vec<_> =
        run.of_type("tool_result").filter(|event| event["denied_by"] == "commands").collect();
    assert_eq!(refused.len(), 1, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn the_room_blocks_commands_that_are_reported_too_late() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let before = project.read(".autonoe/status.json");
    let model = model(&always(
        "[[conversation.turn]]\ncall = [{ tool = \"exec_command\", input = \
         { cmd = \"echo '{}' > .autonoe/status.json; echo x > ../outside.txt; tail -f SPEC.md\" } }]\n\
         [[conversation.turn]]\ntext = \"done\"\n",
    ));
    let Some(run) = run(&project, &model, "", &["run", "-n", "1"]) else { return };
    assert_eq!(run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count(), 1);
    assert_eq!(project.read(".autonoe/status.json"), before);
    assert!(!project.path("../outside.txt").exists());
    assert_no_processes_left(&project);
}

#[test]
fn tools_of_other_mcp_servers_need_no_approval() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("server.sh", MCP_SERVER);
    let servers = "[mcp_servers.mine]\ncommand = \"bash\"\nargs = [\"server.sh\"]\n";
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"mcp__mine__greet\", input = {{ }} }}]\n{}",
        PASS.replacen("call =", "expect = \"hello from the server\"\ncall =", 1)
    )));
    let Some(run) = run(&project, &model, servers, &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
}

#[test]
fn resume_continues_the_conversation_and_counts_usage_once() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let turn = "[[conversation.turn]]\ntext = \"remember the word barbarossa\"\n";
    let output = |run: &RunOutput| -> u64 {
        run.of_type("usage").map(|event| event["output_tokens"].as_u64().expect("tokens")).sum()
    };
    let first = model(&always(turn));
    let Some(before) = run(&project, &first, "", &["run", "-n", "1"]) else { return };
    before.assert_ended("max_iterations", 4);
    let second = model(&always(&turn.repeat(2)));
    let Some(after) = run(&project, &second, "", &["run", "-n", "1", "--resume"]) else { return };
    after.assert_ended("max_iterations", 4);
    assert!(
        second.requests()[0].request.to_string().contains("barbarossa"),
        "the first request includes the conversation"
    );
    assert!(output(&before) > 0);
    assert_eq!(output(&after), output(&before), "only the new output is counted");
    assert_script_followed(&second);
}

#[test]
fn codex_exec_is_refused_where_only_the_gates_protect() {
    let hook = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    for (command_name, without_sandbox, config) in
        [("sync", false, "{}"), ("run", true, "{}"), ("run", false, hook)]
    {
        let args = [command_name, "--max-retries", "0"];
        let project = CliTestProject::with_status(&[("A", "pending")]);
        project.write(".autonoe/agent.json", config);
        let trusted = project.autonoe(None).args(["trust", "--yes"]).status().expect("started");
        assert!(trusted.success());
        let model = model(&always(PASS));
        let Some(mut command) = command(&project, &model, "", &args) else { return };
        if without_sandbox {
            command.env("AUTONOE_NO_SANDBOX", "1");
        }
        let run = RunOutput::from(command.output().expect("started"));
        run.assert_ended("max_retries_exceeded", 6);
        assert_eq!(run.outcome()["fault"]["code"], "agent_crashed", "{args:?}");
        assert_eq!(model.requests().len(), 0, "{args:?}: nothing was done");
    }
}
