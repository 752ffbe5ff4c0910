//! A run is paused, resumed and stopped from another terminal.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::process::{Child, Stdio};
use std::time::Duration;

use autonoe_scripted::ScriptedServer;

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, two_sessions, until};

fn started(project: &CliTestProject, model: &ScriptedServer) -> Child {
    let mut command = project.command(model, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the first session works", || project.agents_path("waiting").exists());
    child
}

/// Exit code, and what was printed.
fn autonoe(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String) {
    let output = project.autonoe(None).args(args).output().expect("started");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn ended(child: Child) -> RunOutput {
    RunOutput::from(child.wait_with_output().expect("ended"))
}

#[test]
fn a_paused_run_waits_and_continues() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let child = started(&project, &model);
    assert_eq!(autonoe(&project, &["pause"]).0, Some(0));
    let (_, status) = autonoe(&project, &["status"]);
    assert!(status.contains("autonoe resume"), "{status}");
    std::thread::sleep(Duration::from_millis(600));
    fs::write(project.agents_path("go"), "").expect("written");
    until("A has passed", || project.statuses()[0].1 == "passed");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(project.statuses()[1].1, "pending", "the second session has not started");
    assert_eq!(autonoe(&project, &["resume"]), (Some(0), "The run continues.\n".to_owned()));
    let run = ended(child);
    run.assert_ended("all_passed", 0);
    let notices: Vec<_> = run.of_type("notice").filter_map(|event| event["message"].as_str()).collect();
    assert!(notices.iter().any(|notice| notice.starts_with("Paused.")), "{notices:?}");
}

#[test]
fn a_stop_ends_the_run_after_its_session() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let child = started(&project, &model);
    let (code, answer) = autonoe(&project, &["stop"]);
    assert_eq!(code, Some(0), "{answer}");
    std::thread::sleep(Duration::from_millis(600));
    fs::write(project.agents_path("go"), "").expect("written");
    let run = ended(child);
    run.assert_ended("interrupted", 130);
    assert_eq!(project.statuses()[0].1, "passed", "the session was finished");
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"], "the request was for the run before");
}

#[test]
fn a_stop_ends_the_run_at_once() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let child = started(&project, &model);
    let (code, answer) = autonoe(&project, &["stop", "--now"]);
    assert_eq!((code, answer.starts_with("Stopped.")), (Some(0), true), "{answer}");
    ended(child).assert_ended("interrupted", 130);
    assert_no_processes_left(&project);
}

#[test]
fn without_a_run_there_is_nothing_to_steer() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    for command in ["pause", "resume", "stop"] {
        let (code, answer) = autonoe(&project, &[command]);
        assert_eq!(code, Some(2), "{answer}");
        assert!(answer.contains("No run is in progress"), "{answer}");
    }
    let (code, answer) = autonoe(&project, &["tell", " "]);
    assert_eq!((code, answer.contains("empty")), (Some(2), true), "{answer}");
    let (code, answer) = autonoe(&project, &["tell", &"x".repeat(100_000)]);
    assert_eq!((code, answer.contains("64 KiB")), (Some(2), true), "{answer}");
    // What was left for nobody reaches the next run.
    autonoe(&project, &["tell", "prefer short names"]);
    let model = two_sessions();
    fs::write(project.agents_path("go"), "").expect("written");
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    let told: Vec<_> = run.of_type("user_message").map(|event| event["session"].clone()).collect();
    assert_eq!(told, [1], "once, to the first session");
    assert!(model.requests()[0].request.to_string().contains("prefer short names"));
}

#[test]
fn requests_that_are_not_the_users_are_ignored() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = two_sessions();
    let child = started(&project, &model);
    let state = project.journal().parent().expect("the state directory").join("control");
    fs::create_dir_all(state.join("inbox")).expect("directory");
    symlink("/etc/hostname", state.join("inbox/link")).expect("link");
    fs::write(state.join("inbox/large"), "x".repeat(10 << 20)).expect("written");
    fs::write(state.join("pause"), "").expect("written");
    // Only root can give a file to another user.
    let is_foreign = chown(state.join("pause"), Some(65534), None).is_ok();
    std::thread::sleep(Duration::from_millis(600));
    fs::write(project.agents_path("go"), "").expect("written");
    if !is_foreign {
        fs::remove_file(state.join("pause")).expect("removed");
    }
    let run = ended(child);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("user_message").count(), 0);
    for why in ["it is a symbolic link", "large is ignored"] {
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    assert_eq!(run.stderr.contains("belongs to another user"), is_foreign, "{}", run.stderr);
}
