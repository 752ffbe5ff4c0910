//! Output that nobody reads: the run continues, and ends at its limits and on signals. A slow reader gets everything.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::support::{CliTestProject, assert_no_processes_left, model, signal, until};

/// How long a run may take to end, with a busy machine.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Says more than a pipe can hold, several times, and leaves a file after the last time.
fn talkative(then: &str) -> String {
    let mut script = "[[conversation]]\nname = 'talkative'\n".to_owned();
    let text = "All work and no play makes Jack a dull boy. ".repeat(2_000);
    for number in 0..8 {
        script.push_str(&format!(
            "[[conversation.turn]]\ntext = '{number}: {text}'\n\
             call = [{{ tool = 'Bash', input = {{ command = 'echo {number} > said-{number}.txt' }} }}]\n"
        ));
    }
    script + then
}

const THEN_WAIT: &str = "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'sleep 300' } }]\n\
                         [[conversation.turn]]\ntext = 'x'";

const THEN_PASS: &str = "[[conversation.turn]]\n\
     call = [{ tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
     [[conversation.turn]]\ntext = 'done'";

fn ended(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waited") {
            return status.code();
        }
        assert!(start.elapsed() < END_LIMIT, "it did not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run with `--verbose`, whose output of the chosen kind nobody reads.
fn start(command: &mut Command, json: bool) -> Child {
    command.stdout(Stdio::piped());
    command.stderr(if json { Stdio::null() } else { Stdio::piped() });
    command.spawn().expect("started")
}

fn run(project: &CliTestProject, json: bool, model: &autonoe_scripted::ScriptedServer) -> Command {
    let mut command = project.autonoe(Some(model));
    command.args(["run", "--backend", "native", "--session-delay", "0s"]);
    command.args(if json { ["--json"] } else { ["--verbose"] });
    command
}

#[test]
fn a_signal_ends_a_run_whose_output_is_not_read() {
    for (json, kind) in [(true, Signal::INT), (false, Signal::TERM)] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let model = model(&talkative(THEN_WAIT));
        let mut child = start(&mut run(&project, json, &model), json);
        until("everything was said", || project.agents_path("said-7.txt").exists());
        signal(&child, kind);
        assert_eq!(ended(&mut child), Some(130));
        assert_no_processes_left(&project);
    }
}

#[test]
fn the_time_limit_ends_a_run_whose_output_is_not_read() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&talkative(THEN_WAIT));
    let mut command = run(&project, true, &model);
    let mut child = start(command.args(["--max-duration", "10s"]), true);
    assert_eq!(ended(&mut child), Some(4));
    assert!(project.agents_path("said-1.txt").exists(), "the run did not wait for a reader");
    assert_no_processes_left(&project);
}

#[test]
fn an_error_message_that_nobody_reads_ends_the_process() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let (reader, mut writer) = std::io::pipe().expect("pipe");
    let filler = writer.try_clone().expect("cloned");
    rustix::fs::fcntl_setfl(&filler, rustix::fs::OFlags::NONBLOCK).expect("set");
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&filler, rustix::fs::OFlags::empty()).expect("set");
    drop(filler);
    let mut command = project.autonoe(None);
    let mut child =
        command.args(["run", "-p", "missing"]).stdout(Stdio::null()).stderr(writer).spawn().expect("started");
    assert_eq!(ended(&mut child), Some(2));
    drop(reader);
}

#[test]
fn a_slow_reader_gets_every_line_in_order() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&talkative(THEN_PASS));
    let mut child = start(&mut run(&project, true, &model), true);
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    until("the work is done, and no line was read", || project.statuses() == [("A".to_owned(), "passed")]);
    let mut events = Vec::new();
    for line in lines {
        events.push(serde_json::from_str::<Value>(&line.expect("read")).expect("JSON"));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ended(&mut child), Some(0));
    let said: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "text")
        .map(|event| &event["text"].as_str().expect("text")[..1])
        .collect();
    assert_eq!(said, ["0", "1", "2", "3", "4", "5", "6", "7", "d"]);
    assert_eq!(events.last().expect("events")["type"], "outcome");
    assert!(events.is_sorted_by_key(|event| event["at"].as_str().expect("a time").to_owned()));
}
