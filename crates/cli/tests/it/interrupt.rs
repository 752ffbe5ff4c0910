//! Signals and closed pipes: a running session stops at once, state is saved, and no process keeps running.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::support::{
    CliTestProject, assert_no_processes_left, builder, has_bubblewrap, model, signal, until,
};

const LONG_COMMAND: &str = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'trap \"\" TERM INT; (trap \"\" TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300' } }]\n\
     [[conversation.turn]]\ntext = 'x'";

#[test]
fn a_signal_stops_a_running_command() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(LONG_COMMAND);
        let mut command = project.command(&model, &["run"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        until("the command runs", || project.agents_path("ready.txt").exists());
        signal(&child, kind);
        let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
        run.assert_ended("interrupted", 130);
        assert!(run.stderr.contains("stopping"), "{}", run.stderr);
        assert_no_processes_left(&project);
        let status = project.autonoe(None).args(["status"]).output().expect("started");
        assert!(String::from_utf8_lossy(&status.stdout).contains("interrupted"), "the end is recorded");
    }
}

/// A model service whose response is one line that would take longer than the test waits; with the number of bytes that it has sent.
fn endless_line() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                let mut piece = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ".to_vec();
                piece.resize(1 << 20, b'x');
                while client.write_all(&piece).is_ok() {
                    counter.fetch_add(piece.len(), Ordering::Relaxed);
                    piece.truncate(1 << 10);
                    piece.fill(b'x');
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
        }
    });
    (address, sent)
}

#[test]
fn a_signal_stops_a_run_whose_model_sends_an_endless_line() {
    for kind in [Signal::INT, Signal::TERM] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let (address, sent) = endless_line();
        let unused = model(LONG_COMMAND);
        let mut command = project.command(&unused, &["run"]);
        command.env("ANTHROPIC_BASE_URL", address).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("started");
        until("the response is being read", || sent.load(Ordering::Relaxed) > 1 << 20);
        signal(&child, kind);
        until("it has ended", || child.try_wait().expect("waited").is_some());
        assert_eq!(child.wait().expect("ended").code(), Some(130));
        assert_no_processes_left(&project);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(LONG_COMMAND);
    let mut command = project.command(&model, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::INT);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert_no_processes_left(&project);
}

#[test]
fn closed_output_stops_the_run_and_is_reported() {
    for json in [true, false] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(LONG_COMMAND);
        let mut command = project.autonoe(Some(&model));
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
        assert_no_processes_left(&project);
        let status = project.autonoe(None).args(["status"]).output().expect("started");
        assert!(String::from_utf8_lossy(&status.stdout).contains("interrupted"), "the run can be resumed");
    }
}

#[test]
fn failing_output_is_an_error() {
    let project = CliTestProject::new();
    for command in ["doctor", "status", "man"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
        let output = project.autonoe(None).arg(command).stdout(full).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {stderr}");
        assert!(stderr.contains("Standard output cannot be written: No space left"), "{command}: {stderr}");
    }
}

#[test]
fn signals_ignored_at_the_start_stay_ignored() {
    for (ignored, kind) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM)] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
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
        let autonoe = project.command(&model, &["run"]);
        // Like `nohup`.
        let mut started = Command::new("sh");
        started.args(["-c", &format!("trap '' {ignored}; exec \"$@\""), "sh"]);
        started.arg(autonoe.get_program()).args(autonoe.get_args()).current_dir(project.root());
        started.env_clear().envs(autonoe.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        until(&format!("the command runs, with {ignored} ignored"), || {
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "it ended instead: {ended:?}");
            project.agents_path("ready.txt").exists()
        });
        signal(&child, kind);
        signal(&child, kind);
        std::fs::write(project.agents_path("go.txt"), "").expect("written");
        let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
        run.assert_ended("all_passed", 0);
        super::support::assert_script_followed(&model);
        assert_no_processes_left(&project);
    }
}

#[test]
fn printing_into_a_closed_pipe_ends_quietly() {
    let project = CliTestProject::new();
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
        .env("HOME", project.home())
        .output()
        .expect("started");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_second_run_reports_the_process_that_holds_the_lock() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(LONG_COMMAND);
    let mut command = project.command(&model, &["run"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    let second = project.command(&model, &["sync"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains(&format!("process {}", child.id())) && stderr.contains("autonoe run"),
        "{stderr}"
    );
    let doctor = project.autonoe(Some(&model)).arg("doctor").output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(2), "{printed}");
    assert!(
        printed.contains(&format!("process {}", child.id())) && printed.contains("would not start"),
        "{printed}"
    );
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    let third = project.run(&super::support::model(&builder()), &["run", "-n", "1"]);
    assert_ne!(third.code, Some(2), "a dead process does not hold the lock: {}", third.stderr);
}

#[test]
fn a_killed_sandbox_is_reported_and_the_session_continues() {
    if !has_bubblewrap() {
        return;
    }
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(
        "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'echo ready > ready.txt; sleep 300' } }]\n\
         [[conversation.turn]]\nexpect = 'the room was killed by SIGKILL'\n\
         call = [{ tool = 'Bash', input = { command = 'echo there is another room' } }]\n\
         [[conversation.turn]]\nexpect = 'there is another room'\ntext = 'done'",
    );
    let mut command = project.command(&model, &["run", "-n", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    // Kills the outermost process of the sandbox, as the OOM killer might.
    let root = project.root().canonicalize().expect("path").display().to_string();
    let rooms = autonoe_test_kit::processes_with(&["bwrap", "__room", &root]);
    for room in rooms {
        let room = rustix::process::Pid::from_raw(room).expect("pid");
        rustix::process::kill_process(room, Signal::KILL).expect("killed");
    }
    let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("max_iterations", 4);
    super::support::assert_script_followed(&model);
    let message =
        "The session's sandbox was lost with everything that ran in it: the room was killed by SIGKILL";
    assert!(
        run.of_type("trouble")
            .any(|event| event["message"].as_str().is_some_and(|printed| printed.contains(message))),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert_no_processes_left(&project);
}

/// Without git the files are copied for the checks, which takes long here.
fn with_large_file_and_check() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\n```check A name=a\n$ test -f x\n```\n");
    let large = std::fs::File::create(project.path("large")).expect("file");
    large.set_len(2_000_000_000).expect("grown");
    project
}

#[test]
fn a_signal_stops_the_copying_of_a_large_project() {
    let project = with_large_file_and_check();
    let model = model(&builder());
    let mut command = project.command(&model, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let checkouts = project.home().join(".local/state/autonoe");
    let is_copying = || {
        let mut found = Command::new("find");
        let found =
            found.arg(&checkouts).args(["-path", "*/files/large", "-size", "+1M"]).output().expect("find");
        !found.stdout.is_empty()
    };
    until("the files are copied", is_copying);
    let start = Instant::now();
    signal(&child, Signal::TERM);
    let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("interrupted", 130);
    assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn max_duration_stops_the_copying_of_a_large_project() {
    let project = with_large_file_and_check();
    let model = model(&builder());
    let start = Instant::now();
    let run = project.run(&model, &["run", "--max-duration", "1s"]);
    run.assert_ended("duration_exceeded", 4);
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
}
