//! One project, two homes: the lock is the machine's, anyone who asks and from wherever.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;

use super::support::{Place, model, signal, wait_until};

const WAITS: &str = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'echo ready > ready.txt; sleep 300' } }]\n[[conversation.turn]]\ntext = 'x'";

/// A place with a run under way in its project.
fn at_work(server: &autonoe_scripted::Server) -> (Place, Child) {
    let place = Place::with_status(&[("A", "pending")]);
    let mut command = place.command(server, &["run"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    (place, child)
}

/// The same user with another home, in `directory`.
fn elsewhere(place: &Place, mut command: Command, directory: &Path) -> Output {
    let home = place.home().join("another");
    fs::create_dir_all(&home).expect("home");
    command.env("HOME", home).current_dir(directory).output().expect("started")
}

#[test]
fn whoever_wants_to_work_on_it_is_told_who_does() {
    let server = model(WAITS);
    let (place, mut child) = at_work(&server);
    let agent = place.autonoe(None).args(["agent", "init", "worker"]).output().expect("started");
    assert!(agent.status.success(), "{}", String::from_utf8_lossy(&agent.stderr));
    let link = place.home().join("link");
    symlink(place.project(), &link).expect("linked");

    for directory in [place.project(), link] {
        for args in [&["run"][..], &["sync"], &["agent", "run", "worker", "--arg", "task=x"]] {
            let output = elsewhere(&place, place.command(&server, args), &directory);
            assert_refused(&output, &child, args);
        }
        let mut mcp = place.autonoe(None);
        mcp.arg("mcp");
        assert_refused(&elsewhere(&place, mcp, &directory), &child, &["mcp"]);

        let mut doctor = place.autonoe(Some(&server));
        doctor.arg("doctor");
        let doctor = elsewhere(&place, doctor, &directory);
        let said = String::from_utf8_lossy(&doctor.stdout);
        assert_eq!(doctor.status.code(), Some(2), "{said}");
        assert!(said.contains("BAD  lock: held by another user"), "{said}");

        let mut status = place.autonoe(None);
        status.args(["status", "--json"]);
        let status = elsewhere(&place, status, &directory);
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
        assert_eq!(status["running"]["pid"], child.id());
    }
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
}

#[track_caller]
fn assert_refused(output: &Output, holder: &Child, args: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(stderr.contains(&format!("process {}", holder.id())), "{args:?}: {stderr}");
}

/// What runs in a room does not keep the lock once the run is gone.
#[test]
fn what_is_left_of_a_killed_run_does_not_hold_the_project() {
    let server = model(WAITS);
    let (place, mut child) = at_work(&server);
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    let mut doctor = place.autonoe(Some(&server));
    doctor.arg("doctor");
    let doctor = elsewhere(&place, doctor, &place.project());
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("ok   lock: free"), "{said}");
}
