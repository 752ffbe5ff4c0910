//! The project lock applies to the whole machine, also for processes with another HOME.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;

use super::support::{CliTestProject, model, signal, until};

const WAITING: &str = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
     'echo ready > ready.txt; sleep 300' } }]\n[[conversation.turn]]\ntext = 'x'";

fn project_with_run(server: &autonoe_scripted::ScriptedServer) -> (CliTestProject, Child) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let mut command = project.command(server, &["run"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    (project, child)
}

fn output_with_other_home(project: &CliTestProject, mut command: Command, directory: &Path) -> Output {
    let home = project.home().join("another");
    fs::create_dir_all(&home).expect("home");
    command.env("HOME", home).current_dir(directory).output().expect("started")
}

#[test]
fn other_commands_report_the_process_that_holds_the_lock() {
    let server = model(WAITING);
    let (project, mut child) = project_with_run(&server);
    let agent = project.autonoe(None).args(["agent", "init", "worker"]).output().expect("started");
    assert!(agent.status.success(), "{}", String::from_utf8_lossy(&agent.stderr));
    let link = project.home().join("link");
    symlink(project.root(), &link).expect("linked");

    for directory in [project.root(), link] {
        for args in [&["run"][..], &["sync"], &["agent", "run", "worker", "--arg", "task=x"]] {
            let output = output_with_other_home(&project, project.command(&server, args), &directory);
            assert_refused(&output, &child, args);
        }
        let mut mcp = project.autonoe(None);
        mcp.arg("mcp");
        assert_refused(&output_with_other_home(&project, mcp, &directory), &child, &["mcp"]);

        let mut doctor = project.autonoe(Some(&server));
        doctor.arg("doctor");
        let doctor = output_with_other_home(&project, doctor, &directory);
        let printed = String::from_utf8_lossy(&doctor.stdout);
        assert_eq!(doctor.status.code(), Some(2), "{printed}");
        assert!(printed.contains("BAD  lock: held by another user"), "{printed}");

        let mut status = project.autonoe(None);
        status.args(["status", "--json"]);
        let status = output_with_other_home(&project, status, &directory);
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

#[test]
fn leftovers_of_a_killed_run_do_not_hold_the_lock() {
    let server = model(WAITING);
    let (project, mut child) = project_with_run(&server);
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    let mut doctor = project.autonoe(Some(&server));
    doctor.arg("doctor");
    let doctor = output_with_other_home(&project, doctor, &project.root());
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(printed.contains("ok   lock: free"), "{printed}");
}
