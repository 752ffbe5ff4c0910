//! The real Codex without its app server: `codex exec`, where the room alone holds it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::Server;
use serde_json::Value;

use super::codex::{PASS, in_its_words, program};
use super::collector::{Collector, assert_healthy};
use super::matrix::{LEAVES_COMMANDS, in_codex_words};
use super::native::MCP_SERVER;
use super::support::{Place, Run, always, assert_followed, assert_nothing_left, builder, model};
use super::vendors::Vendor;

/// Puts a Codex on the search path that knows no app server, and is the real one otherwise.
pub fn without_app_server(place: &Place, codex: &Vendor) -> PathBuf {
    let bin = place.home().join("bin");
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

/// `autonoe ARGS --backend codex` with that Codex. What it really is must be readable in the room.
fn command(place: &Place, model: &Server, further: &str, args: &[&str]) -> Option<Command> {
    let codex = program()?;
    without_app_server(place, &codex);
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("directory");
    let text = format!("[sandbox]\nread = ['{}']\n{further}", codex.packages().display());
    fs::write(config.join("config.toml"), text).expect("written");
    Some(codex.command(place, model, &[args, &["--backend", "codex"]].concat()))
}

fn run(place: &Place, model: &Server, further: &str, args: &[&str]) -> Option<Run> {
    Some(Run::from(command(place, model, further, args)?.output().expect("started")))
}

fn says_so(event: &&Value) -> bool {
    event["message"].as_str().is_some_and(|message| message.contains("`codex exec` is used"))
}

#[test]
fn codex_does_the_main_job_without_its_app_server() {
    let place = Place::new();
    let model = model(&in_its_words(&builder()));
    let Some(mut command) = command(&place, &model, "", &["run"]) else { return };
    let collector = Collector::start();
    collector.watch(&mut command);
    let run = Run::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_healthy(&collector.spans(), 4);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert_eq!(place.read("work-A.txt"), "built\n");
    assert_eq!(run.of_type("trouble").filter(says_so).count(), 4, "each session says so once");
    assert_eq!(run.of_type("trouble").count(), 4);
    let names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(names[..3], ["mcp__autonoe__create", "Bash", "mcp__autonoe__set_status"]);
    assert!(run.of_type("usage").all(|event| event["cost_usd"].is_f64()), "its price is known");
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn commands_in_the_background_do_not_hold_its_end_up() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&in_codex_words(&always(LEAVES_COMMANDS)));
    let Some(run) = run(&place, &model, "", &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"]);
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn what_the_gates_refuse_breaks_the_turn_off() {
    let place = Place::with_status(&[("A", "pending")]);
    // The command lasts, so that it is still there when it is refused.
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"exec_command\", input = {{ cmd = \"tail -f SPEC.md; curl http://127.0.0.1:1/\" }} }}]\n{}",
        PASS.replacen("call =", "expect = \"'curl' is not in the list\"\ncall =", 1)
    )));
    let Some(run) = run(&place, &model, "", &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 1, "the session goes on");
    let refused: Vec<_> =
        run.of_type("tool_result").filter(|event| event["denied_by"] == "commands").collect();
    assert_eq!(refused.len(), 1, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn the_room_holds_what_is_told_too_late() {
    let place = Place::with_status(&[("A", "pending")]);
    let before = place.read(".autonoe/status.json");
    let model = model(&always(
        "[[conversation.turn]]\ncall = [{ tool = \"exec_command\", input = \
         { cmd = \"echo '{}' > .autonoe/status.json; echo x > ../outside.txt; tail -f SPEC.md\" } }]\n\
         [[conversation.turn]]\ntext = \"done\"\n",
    ));
    let Some(run) = run(&place, &model, "", &["run", "-n", "1"]) else { return };
    assert_eq!(run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count(), 1);
    assert_eq!(place.read(".autonoe/status.json"), before);
    assert!(!place.path("../outside.txt").exists());
    assert_nothing_left(&place);
}

#[test]
fn tools_of_further_servers_are_called_without_a_question() {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("server.sh", MCP_SERVER);
    let servers = "[mcp_servers.mine]\ncommand = \"bash\"\nargs = [\"server.sh\"]\n";
    let model = model(&always(&format!(
        "[[conversation.turn]]\ncall = [{{ tool = \"mcp__mine__greet\", input = {{ }} }}]\n{}",
        PASS.replacen("call =", "expect = \"hello from the server\"\ncall =", 1)
    )));
    let Some(run) = run(&place, &model, servers, &["run"]) else { return };
    run.assert_ended("all_passed", 0);
    assert_followed(&model);
}

#[test]
fn a_conversation_is_taken_up_and_nothing_is_booked_twice() {
    let place = Place::with_status(&[("A", "pending")]);
    let said = "[[conversation.turn]]\ntext = \"remember the word barbarossa\"\n";
    let output = |run: &Run| -> u64 {
        run.of_type("usage").map(|event| event["output_tokens"].as_u64().expect("tokens")).sum()
    };
    let first = model(&always(said));
    let Some(before) = run(&place, &first, "", &["run", "-n", "1"]) else { return };
    before.assert_ended("max_iterations", 4);
    let second = model(&always(&said.repeat(2)));
    let Some(after) = run(&place, &second, "", &["run", "-n", "1", "--resume"]) else { return };
    after.assert_ended("max_iterations", 4);
    assert!(second.requests()[0].request.to_string().contains("barbarossa"), "it brings what was said");
    assert!(output(&before) > 0);
    assert_eq!(output(&after), output(&before), "the same was said once more");
    assert_followed(&second);
}

#[test]
fn where_only_the_gates_hold_it_is_not_used() {
    for (args, without_sandbox) in
        [(["sync", "--max-retries", "0"], false), (["run", "--max-retries", "0"], true)]
    {
        let place = Place::with_status(&[("A", "pending")]);
        let model = model(&always(PASS));
        let Some(mut command) = command(&place, &model, "", &args) else { return };
        if without_sandbox {
            command.env("AUTONOE_NO_SANDBOX", "1");
        }
        let run = Run::from(command.output().expect("started"));
        run.assert_ended("max_retries_exceeded", 6);
        assert_eq!(run.outcome()["fault"]["code"], "agent_crashed", "{args:?}");
        assert_eq!(model.requests().len(), 0, "{args:?}: nothing was done");
    }
}
