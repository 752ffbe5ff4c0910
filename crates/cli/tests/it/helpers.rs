//! Programs of the user's that hang: each has a limit that is told, is named, and ends with us.

use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::support::{
    Place, Run, always, assert_nothing_left, builder, model, processes_in, processes_with, signal, wait_until,
};

/// A user with a provider whose key is printed by this shell script.
fn configured(place: &Place, base_url: &str, script: &str) {
    let directory = place.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("made");
    let text = format!(
        "[providers.mine]\nkind = \"anthropic\"\nbase_url = \"{base_url}\"\nkey_command = [\"sh\", \"-c\", '''{script}''']\n"
    );
    std::fs::write(directory.join("config.toml"), text).expect("written");
}

/// Hangs, with a child of its own, after it has said that it does. The mark is in both command lines.
fn hanging(mark: &str) -> String {
    format!("(trap '' TERM; : {mark}; sleep 86401; :) & echo up > asked.txt; sleep 86401; : {mark}")
}

fn start(place: &Place, args: &[&str]) -> Child {
    let mut command = place.autonoe(None);
    command.args(args).args(["--backend", "native", "--model", "mine/some-model"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

#[test]
fn an_interrupt_ends_a_hanging_key_command_at_once_with_all_it_started() {
    for (kind, times) in [(Signal::INT, 1), (Signal::TERM, 1), (Signal::INT, 2), (Signal::KILL, 1)] {
        let place = Place::with_status(&[("A", "pending")]);
        let mark = format!("mark-{}", fastrand::u64(..));
        configured(&place, "http://127.0.0.1:9", &hanging(&mark));
        let child = start(&place, &["run"]);
        wait_until("the command runs", || place.path("asked.txt").exists());
        for _ in 0..times {
            signal(&child, kind);
        }
        let output = child.wait_with_output().expect("ended");
        let said = String::from_utf8_lossy(&output.stderr);
        if kind != Signal::KILL {
            assert_eq!(output.status.code(), Some(130), "{said}");
            assert!(said.contains("stopping..."), "{said}");
        }
        wait_until("nothing of it is left", || {
            processes_with(&[&mark]).is_empty() && processes_in(&place.project()).is_empty()
        });
    }
}

#[test]
fn a_key_command_that_hangs_is_named_with_its_limit_while_it_is_waited_for() {
    let place = Place::with_status(&[("A", "pending")]);
    let mark = format!("mark-{}", fastrand::u64(..));
    configured(&place, "http://127.0.0.1:9", &hanging(&mark));
    let mut child = start(&place, &["run"]);
    let mut line = String::new();
    let mut said = std::io::BufReader::new(child.stderr.take().expect("piped"));
    std::io::BufRead::read_line(&mut said, &mut line).expect("a line");
    assert_eq!(line, "Waiting for `sh` (the key of the provider 'mine'), for at most 1m...\n");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    wait_until("nothing of it is left", || processes_with(&[&mark]).is_empty());
}

#[test]
fn a_key_command_that_fails_says_what_it_complained_about() {
    let place = Place::with_status(&[("A", "pending")]);
    for (script, words) in [
        ("echo no card is inserted >&2; exit 3", "it ended with exit code 3; it said: no card is inserted"),
        ("true", "it printed nothing"),
        ("echo", "the first line that it printed is empty"),
    ] {
        configured(&place, "http://127.0.0.1:9", script);
        let output = start(&place, &["run"]).wait_with_output().expect("ended");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.contains("provider 'mine'") && said.contains("60 s"), "{said}");
    }
}

#[test]
fn a_key_command_has_the_users_environment_and_directory() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    configured(&place, &model.base_url(), "test -f SPEC.md && echo \"key-of-$MY_VAULT-0123456789\"");
    let mut command = place.autonoe(None);
    command.env("MY_VAULT", "vault").args([
        "run",
        "-n",
        "1",
        "--backend",
        "native",
        "--model",
        "mine/some-model",
    ]);
    let run = Run::from(command.args(["--json", "--session-delay", "0s"]).output().expect("started"));
    run.assert_ended("max_iterations", 4);
}

#[test]
fn an_mcp_server_that_does_not_answer_is_told_once_in_a_run_and_ends_with_it() {
    let place = Place::with_status(&[("A", "pending"), ("B", "pending"), ("C", "pending")]);
    let directory = place.home().join(".config/autonoe");
    std::fs::create_dir_all(&directory).expect("made");
    let text = "[mcp_servers.mute]\ncommand = \"sleep\"\nargs = [\"86402\"]\n\
                [mcp_servers.missing]\ncommand = \"no-such-program\"\n";
    std::fs::write(directory.join("config.toml"), text).expect("written");
    let model = model(&builder());
    let run = place.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions().len(), 3);
    let told = |words: &str| {
        let messages = run.of_type("trouble").filter_map(|event| event["message"].as_str());
        messages.filter(|message| message.contains(words)).count()
    };
    assert_eq!(told("MCP server `mute` did not answer within 5 s"), 1, "{}", run.stderr);
    assert_eq!(told("MCP server `missing` could not be started"), 1, "{}", run.stderr);
    assert!(run.stderr.contains("`mute`") && run.stderr.contains("180 s"), "{}", run.stderr);
    assert_nothing_left(&place);
}
