//! Signals and closed pipes: a running session stops at once, state is saved, nothing keeps running.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::support::{Place, assert_nothing_left, builder, model, signal, wait_until};

const LONG_COMMAND: &str = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'trap \"\" TERM INT; (trap \"\" TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300' } }]\n\
     [[conversation.turn]]\ntext = 'x'";

#[test]
fn a_signal_stops_a_running_command_and_the_next_run_goes_on() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::with_status(&[("A", "pending")]);
        let model = model(LONG_COMMAND);
        let mut command = place.command(&model, &["run"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        wait_until("the command runs", || place.path("ready.txt").exists());
        signal(&child, kind);
        let run = super::support::Run::from(child.wait_with_output().expect("ended"));
        run.assert_ended("interrupted", 130);
        assert!(run.stderr.contains("stopping"), "{}", run.stderr);
        assert_nothing_left(&place);
        let status = place.autonoe(None).args(["status"]).output().expect("started");
        assert!(String::from_utf8_lossy(&status.stdout).contains("interrupted"), "the end is on record");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(LONG_COMMAND);
    let mut command = place.command(&model, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    signal(&child, Signal::INT);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert_nothing_left(&place);
}

#[test]
fn a_reader_that_goes_away_stops_the_run_quietly() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(LONG_COMMAND);
    let mut command = place.command(&model, &["run"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("one line");
    drop(reader);
    // The next event meets a closed pipe.
    wait_until("the command runs", || {
        place.path("ready.txt").exists() || child.try_wait().expect("asked").is_some()
    });
    if child.try_wait().expect("asked").is_none() {
        signal(&child, Signal::INT);
    }
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("read");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert!(!stderr.contains("panicked") && !stderr.contains("Broken pipe"), "{stderr}");
    assert_nothing_left(&place);
}

#[test]
fn printing_into_a_closed_pipe_ends_quietly() {
    let place = Place::new();
    let script = format!(
        "{} man | true; {} --help | true; {} completions bash | true",
        env!("CARGO_BIN_EXE_autonoe"),
        env!("CARGO_BIN_EXE_autonoe"),
        env!("CARGO_BIN_EXE_autonoe")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.home())
        .output()
        .expect("started");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_second_run_says_who_holds_the_project() {
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(LONG_COMMAND);
    let mut command = place.command(&model, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    let second = place.command(&model, &["sync"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains(&format!("process {}", child.id())) && stderr.contains("autonoe run"),
        "{stderr}"
    );
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    let third = place.run(&super::support::model(&builder()), &["run", "-n", "1"]);
    assert_ne!(third.code, Some(2), "a dead process blocks nobody: {}", third.stderr);
}
