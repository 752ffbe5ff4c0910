//! A run in the background: it outlives its terminal, is watched from others, and its events are kept.

use std::fs;
use std::process::{Command, Output, Stdio};

use autonoe_scripted::ScriptedServer;

use super::support::{CliTestProject, assert_no_processes_left, two_sessions, until};

fn detached(project: &CliTestProject, model: &ScriptedServer) -> Output {
    let mut command = project.autonoe(Some(model));
    command.args(["run", "--detach", "--in-place", "--backend", "native", "--session-delay", "0s"]);
    command.output().expect("started")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// The number in `(process N)`.
fn process_id(text: &str) -> i32 {
    let number = text.split("(process ").nth(1).and_then(|rest| rest.split(')').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no process in {text}"))
}

fn watching(project: &CliTestProject, args: &[&str]) -> Command {
    let mut command = project.autonoe(None);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the run itself shows, from its limits to what the user can do next.
const SHOWN: [&str; 9] = [
    "Autonoe v",
    "Max cost: none; --max-cost 20 sets one",
    "Session 1 started",
    "[PASS]",
    "Session 2 started",
    "Overall: 2 session(s)",
    "All achievable deliverables passed.",
    "Cost so far: A $",
    "Review it: autonoe report --open",
];

#[track_caller]
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let (_, after) =
            rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} at its place in:\n{text}"));
        rest = after;
    }
}

#[test]
fn a_detached_run_is_watched_and_outlives_its_terminal() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let output = detached(&project, &model);
    let started = text(&output);
    assert_eq!(output.status.code(), Some(0), "{started}");
    let process = process_id(&started);
    until("the first session works", || project.agents_path("waiting").exists());
    let pid = rustix::process::Pid::from_raw(process);
    assert_eq!(
        rustix::process::getsid(pid).expect("a session"),
        pid.expect("a process"),
        "no terminal can end it"
    );
    let watchers = [1, 2].map(|_| watching(&project, &["attach"]).spawn().expect("started"));
    let logs = watching(&project, &["logs", "-f", "-v"]).spawn().expect("started");
    let status = watching(&project, &["status", "--watch"]).spawn().expect("started");
    std::thread::sleep(std::time::Duration::from_millis(500));
    fs::write(project.agents_path("go"), "").expect("written");
    for watcher in watchers {
        let output = watcher.wait_with_output().expect("ended");
        let screen = text(&output);
        assert_eq!(output.status.code(), Some(0), "{screen}");
        assert_in_order(&screen, &SHOWN);
    }
    let followed = text(&logs.wait_with_output().expect("ended"));
    assert!(followed.contains("> Bash touch waiting"), "{followed}");
    let watched = text(&status.wait_with_output().expect("ended"));
    assert_in_order(&watched, &["0/2 deliverables passed", "2/2 deliverables passed"]);
    assert!(!watched.contains('\u{1b}'), "a pipe gets text only: {watched:?}");
    let logs = text(&watching(&project, &["logs"]).output().expect("started"));
    assert_in_order(&logs, &SHOWN);
    let first = logs.lines().find(|line| line.contains("Session 1 started")).unwrap_or_default();
    assert!(first.as_bytes().get(2) == Some(&b':'), "it has a time: {logs}");
    let output = watching(&project, &["attach"]).output().expect("started");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert_no_processes_left(&project);
}

#[test]
fn a_detached_run_that_cannot_begin_says_why() {
    let project = CliTestProject::empty();
    let output = detached(&project, &two_sessions());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("SPEC.md not found"), "{}", text(&output));
    let output = watching(&project, &["logs"]).output().expect("started");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("There is no log"), "{}", text(&output));
}

#[test]
fn a_detached_run_whose_directory_is_removed_ends() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let output = detached(&project, &model);
    let process = process_id(&text(&output));
    until("the first session works", || project.agents_path("waiting").exists());
    let log = project.journal().parent().expect("the state directory").join("logs/1.jsonl");
    fs::remove_dir_all(project.root()).expect("removed");
    until("it ends", || !fs::exists(format!("/proc/{process}")).expect("/proc"));
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("was removed or replaced during the run"), "{log}");
}

#[test]
fn a_run_in_the_background_can_be_stopped() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    detached(&project, &model);
    until("the first session works", || project.agents_path("waiting").exists());
    let watcher = watching(&project, &["attach"]).spawn().expect("started");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let stopped = watching(&project, &["stop", "--now"]).output().expect("started");
    assert!(text(&stopped).starts_with("Stopped."), "{}", text(&stopped));
    let output = watcher.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert_no_processes_left(&project);
}
