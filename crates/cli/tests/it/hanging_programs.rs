//! Hanging key commands and MCP servers: each has a time limit, is named, and ends with the run.

use std::process::{Child, Stdio};

use autonoe_test_kit::processes_with;
use rustix::process::Signal;

use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, builder, model, processes_in, signal, until,
};

/// Configures a provider whose key command is this shell script.
fn configured(project: &CliTestProject, base_url: &str, script: &str) {
    let directory = project.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("made");
    let text = format!(
        "[providers.mine]\nkind = \"anthropic\"\nbase_url = \"{base_url}\"\nkey_command = [\"sh\", \"-c\", '''{script}''']\n"
    );
    std::fs::write(directory.join("config.toml"), text).expect("written");
}

/// A script that writes `hanging.txt` and hangs, with a child. The mark is in both command lines.
fn hanging(mark: &str) -> String {
    format!("(trap '' TERM; : {mark}; sleep 86401; :) & echo up > hanging.txt; sleep 86401; : {mark}")
}

fn start(project: &CliTestProject, args: &[&str]) -> Child {
    let mut command = project.autonoe(None);
    command.args(args).args(["--backend", "native", "--model", "mine/some-model"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

#[test]
fn an_interrupt_ends_a_hanging_key_command_and_its_children() {
    for (kind, times) in [(Signal::INT, 1), (Signal::TERM, 1), (Signal::INT, 2), (Signal::KILL, 1)] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let mark = format!("mark-{}", fastrand::u64(..));
        configured(&project, "http://127.0.0.1:9", &hanging(&mark));
        let child = start(&project, &["run"]);
        until("the command runs", || project.agents_path("hanging.txt").exists());
        for _ in 0..times {
            signal(&child, kind);
        }
        let output = child.wait_with_output().expect("ended");
        let printed = String::from_utf8_lossy(&output.stderr);
        if kind != Signal::KILL {
            assert_eq!(output.status.code(), Some(130), "{printed}");
            assert!(printed.contains("stopping..."), "{printed}");
        }
        until("nothing of it is left", || {
            processes_with(&[&mark]).is_empty() && processes_in(&project.root()).is_empty()
        });
    }
}

#[test]
fn the_time_limit_of_the_run_ends_a_hanging_key_command() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let mark = format!("mark-{}", fastrand::u64(..));
    configured(&project, "http://127.0.0.1:9", &hanging(&mark));
    let start_time = std::time::Instant::now();
    let output = start(&project, &["run", "--max-duration", "2s"]).wait_with_output().expect("ended");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{printed}");
    assert!(printed.contains("Stopped: the time limit of 2s was reached."), "{printed}");
    assert!(start_time.elapsed().as_secs() < 20, "{:?}", start_time.elapsed());
    until("nothing of it is left", || processes_with(&[&mark]).is_empty());
}

#[test]
fn a_hanging_key_command_is_shown_with_its_time_limit() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let mark = format!("mark-{}", fastrand::u64(..));
    configured(&project, "http://127.0.0.1:9", &hanging(&mark));
    let mut child = start(&project, &["run"]);
    let mut line = String::new();
    let mut printed = std::io::BufReader::new(child.stderr.take().expect("piped"));
    std::io::BufRead::read_line(&mut printed, &mut line).expect("a line");
    assert_eq!(line, "Waiting for `sh` (the key of the provider 'mine'), up to 1m...\n");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    until("nothing of it is left", || processes_with(&[&mark]).is_empty());
}

#[test]
fn a_failing_key_command_is_reported_with_its_output() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    for (script, words) in [
        (
            "echo no card is inserted >&2; exit 3",
            "it failed with exit code 3; it printed: no card is inserted",
        ),
        ("true", "it printed nothing"),
        ("echo", "the first line it printed is empty"),
    ] {
        configured(&project, "http://127.0.0.1:9", script);
        let output = start(&project, &["run"]).wait_with_output().expect("ended");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(
            printed.contains(words) && printed.contains("provider 'mine'") && printed.contains("60 s"),
            "{printed}"
        );
    }
}

#[test]
fn a_key_command_has_the_users_environment_and_directory() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    configured(&project, &model.base_url(), "test -f SPEC.md && echo \"key-of-$MY_VAULT-0123456789\"");
    let mut command = project.autonoe(None);
    command.env("MY_VAULT", "vault").args([
        "run",
        "-n",
        "1",
        "--backend",
        "native",
        "--model",
        "mine/some-model",
    ]);
    let run = RunOutput::from(command.args(["--json", "--session-delay", "0s"]).output().expect("started"));
    run.assert_ended("max_iterations", 4);
}

#[test]
fn an_unresponsive_mcp_server_is_reported_once_and_ends_with_the_run() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending"), ("C", "pending")]);
    let directory = project.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("made");
    let text = "[mcp_servers.mute]\ncommand = \"sleep\"\nargs = [\"86402\"]\n\
                [mcp_servers.missing]\ncommand = \"no-such-program\"\n";
    std::fs::write(directory.join("config.toml"), text).expect("written");
    let model = model(&builder());
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 3);
    let reports = |words: &str| {
        let messages = run.of_type("trouble").filter_map(|event| event["message"].as_str());
        messages.filter(|message| message.contains(words)).count()
    };
    assert_eq!(reports("MCP server `mute` did not answer within 5 s"), 1, "{}", run.stderr);
    assert_eq!(reports("MCP server `missing` could not be started"), 1, "{}", run.stderr);
    assert!(run.stderr.contains("`mute`") && run.stderr.contains("180 s"), "{}", run.stderr);
    assert_no_processes_left(&project);
}
