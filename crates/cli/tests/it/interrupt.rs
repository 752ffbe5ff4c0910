//! Signals and closed pipes: a running session stops at once, state is saved, nothing keeps running.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::support::{Place, assert_nothing_left, builder, has_bubblewrap, model, signal, wait_until};

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
fn a_reader_that_goes_away_stops_the_run_and_is_named_as_the_reason() {
    for json in [true, false] {
        let place = Place::with_status(&[("A", "pending")]);
        let model = model(LONG_COMMAND);
        let mut command = place.autonoe(Some(&model));
        command.args(["run", "--backend", "native"]).args(json.then_some("--json"));
        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let output =
            command.stdout(writer).stderr(Stdio::piped()).spawn().expect("started").wait_with_output();
        let output = output.expect("ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("standard output was closed (Broken pipe)"), "{stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("Interrupted"), "{stderr}");
        assert_nothing_left(&place);
        let status = place.autonoe(None).args(["status"]).output().expect("started");
        assert!(String::from_utf8_lossy(&status.stdout).contains("interrupted"), "it can be taken up");
    }
}

#[test]
fn what_cannot_be_printed_is_an_error() {
    let place = Place::new();
    for command in ["doctor", "status", "man"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
        let output = place.autonoe(None).arg(command).stdout(full).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {stderr}");
        assert!(stderr.contains("Standard output cannot be written: No space left"), "{command}: {stderr}");
    }
}

#[test]
fn signals_that_were_ignored_at_the_start_end_neither_the_run_nor_its_commands() {
    for (ignored, kind) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM)] {
        let place = Place::with_status(&[("A", "pending")]);
        let command = format!(
            "sleep 1 & kill -{ignored} $!; wait $!; echo ended with $?; echo ready > ready.txt; \
             while [ ! -f go.txt ]; do sleep 0.05; done"
        );
        let model = model(&format!(
            "[[conversation]]\n[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = '{command}' }} }}]\n\
             [[conversation.turn]]\nexpect = 'ended with 0'\n\
             call = [{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = 'A', status = 'passed' }} }}]\n\
             [[conversation.turn]]\ntext = 'done'"
        ));
        let autonoe = place.command(&model, &["run"]);
        // As `nohup` starts its command.
        let mut started = Command::new("sh");
        started.args(["-c", &format!("trap '' {ignored}; exec \"$@\""), "sh"]);
        started.arg(autonoe.get_program()).args(autonoe.get_args()).current_dir(place.project());
        started.env_clear().envs(autonoe.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        wait_until("the command runs", || place.path("ready.txt").exists());
        signal(&child, kind);
        signal(&child, kind);
        place.write("go.txt", "");
        let run = super::support::Run::from(child.wait_with_output().expect("ended"));
        run.assert_ended("all_passed", 0);
        super::support::assert_followed(&model);
        assert_nothing_left(&place);
    }
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
    let doctor = place.autonoe(Some(&model)).arg("doctor").output().expect("started");
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("process {}", child.id())) && said.contains("would not start"), "{said}");
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    let third = place.run(&super::support::model(&builder()), &["run", "-n", "1"]);
    assert_ne!(third.code, Some(2), "a dead process blocks nobody: {}", third.stderr);
}

#[test]
fn a_sandbox_that_something_kills_is_told_as_that_and_the_session_goes_on() {
    if !has_bubblewrap() {
        return;
    }
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(
        "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'echo ready > ready.txt; sleep 300' } }]\n\
         [[conversation.turn]]\nexpect = 'something killed the room with SIGKILL'\n\
         call = [{ tool = 'Bash', input = { command = 'echo there is another room' } }]\n\
         [[conversation.turn]]\nexpect = 'there is another room'\ntext = 'done'",
    );
    let mut command = place.command(&model, &["run", "-n", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    // The outermost process of the sandbox, as the system's memory killer may choose it.
    let project = place.project().canonicalize().expect("path").display().to_string();
    let rooms = super::support::processes_with(&["bwrap", "__room", &project]);
    for room in rooms {
        rustix::process::kill_process(room, Signal::KILL).expect("killed");
    }
    let run = super::support::Run::from(child.wait_with_output().expect("ended"));
    run.assert_ended("max_iterations", 4);
    super::support::assert_followed(&model);
    let told = "The sandbox of the session was lost, with everything that ran in it: something killed the room with SIGKILL";
    assert!(
        run.of_type("trouble").any(|event| event["message"].as_str().is_some_and(|said| said.contains(told))),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert_nothing_left(&place);
}
