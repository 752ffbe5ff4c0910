//! Background commands: reading their output, killing them, and that they end with the session.
#![cfg(target_os = "linux")]

use autonoe_tools::{MAX_JOBS, ToolErrorCode};
use serde_json::json;

use autonoe_test_kit::{is_running, pid_in, until};

use crate::support::ToolFixture;

async fn begin(fixture: &ToolFixture, command: &str) -> String {
    let output = fixture.call("Bash", json!({"command": command, "run_in_background": true})).await;
    assert!(!output.is_error(), "{}", output.output);
    output.metadata["bash_id"].as_str().unwrap().to_owned()
}

/// Polls until the output contains `expected`, and returns all output so far.
async fn await_output(fixture: &ToolFixture, id: &str, expected: &str) -> String {
    let mut output = String::new();
    for _ in 0..2000 {
        output += &fixture.ok("BashOutput", json!({"bash_id": id})).await;
        if output.contains(expected) {
            return output;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("timed out waiting for {expected}: {output}");
}

#[tokio::test]
async fn a_command_keeps_running_and_each_call_returns_the_new_output() {
    let fixture = ToolFixture::new();
    let id = begin(&fixture, "echo one; while ! test -e go; do sleep 0.01; done; echo two; exit 3").await;
    assert_eq!(id, "bash_1");
    let output = await_output(&fixture, &id, "one").await;
    assert!(output.starts_with("Status: running."), "{output}");
    assert_eq!(fixture.ok("BashOutput", json!({"bash_id": id})).await, "Status: running.\n(no new output)");
    fixture.file("go", "");
    let output = await_output(&fixture, &id, "exited with code 3").await;
    assert!(output.contains("two") && !output.contains("one"), "{output}");
    let output = fixture.call("BashOutput", json!({"bash_id": id})).await;
    assert_eq!(output.metadata["exit_code"], 3);
    assert_eq!(output.metadata["running"], false);
    let text = fixture.ok("KillShell", json!({"shell_id": id})).await;
    assert_eq!(text, "bash_1 was no longer running: exited with code 3.");
}

#[tokio::test]
async fn it_starts_in_the_current_directory_and_does_not_change_it() {
    let fixture = ToolFixture::new();
    fixture.file("sub/deeper/file", "");
    fixture.ok("Bash", json!({"command": "cd sub"})).await;
    let id = begin(&fixture, "ls; cd deeper; echo end").await;
    assert!(await_output(&fixture, &id, "end").await.contains("deeper"));
    await_output(&fixture, &id, "exited").await;
    assert_eq!(fixture.workspace.cwd(), fixture.path("sub").canonicalize().unwrap());
}

#[tokio::test]
async fn kill_shell_kills_it_and_its_descendants() {
    let fixture = ToolFixture::new();
    let command = "sh -c 'trap \"\" TERM; echo $$ > pid.new; mv pid.new pid; exec sleep 300' & wait";
    let id = begin(&fixture, command).await;
    let path = fixture.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    assert_eq!(
        fixture.ok("KillShell", json!({"shell_id": id})).await,
        "Killed bash_1 and everything it started."
    );
    assert!(!is_running(pid));
    let output = fixture.ok("BashOutput", json!({"bash_id": id})).await;
    assert!(output.starts_with("Status: killed by KillShell."), "{output}");
}

#[tokio::test]
async fn it_is_killed_when_the_session_ends() {
    let fixture = ToolFixture::new();
    let id = begin(&fixture, "echo $$ > pid.new; mv pid.new pid; exec sleep 300").await;
    let path = fixture.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    fixture.session_sandbox.close().await;
    assert!(!is_running(pid));
    // The state of the job is updated a moment later.
    for _ in 0..2000 {
        let output = fixture.ok("BashOutput", json!({"bash_id": id})).await;
        if !output.contains("running") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it is still reported as running");
}

#[tokio::test]
async fn it_is_killed_when_its_tools_are_dropped() {
    let fixture = ToolFixture::new();
    begin(&fixture, "echo $$ > pid.new; mv pid.new pid; exec sleep 300").await;
    let path = fixture.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    let session_sandbox = fixture.session_sandbox.clone();
    drop(fixture);
    let gone = move || until("it is gone", || !is_running(pid));
    tokio::task::spawn_blocking(gone).await.unwrap();
    drop(session_sandbox);
}

#[tokio::test]
async fn long_output_is_truncated_and_saved() {
    let fixture = ToolFixture::new();
    let id = begin(&fixture, "seq 1000000; echo end").await;
    await_output_quietly(&fixture, &id).await;
    let output = fixture.ok("BashOutput", json!({"bash_id": id})).await;
    assert!(output.len() < 40_000 && output.ends_with("999999\n1000000\nend"), "{}", output.len());
    assert!(output.contains("bytes before this, saved at ") && output.contains(" more lines, saved at "));
    let path = output.split("saved at ").nth(1).unwrap().split(" …").next().unwrap();
    let saved = std::fs::read_to_string(path).unwrap();
    assert!(saved.starts_with("1\n2\n") && saved.ends_with("1000000\nend\n"));
    assert_eq!(saved.lines().count(), 1_000_001);
}

/// Waits until all output is saved, without reading it.
async fn await_output_quietly(fixture: &ToolFixture, id: &str) {
    for _ in 0..2000 {
        let output = fixture.call("BashOutput", json!({"bash_id": id, "filter": "("})).await;
        assert!(output.is_error(), "an invalid filter reads no output");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        if std::fs::read_dir(fixture.outputs.path().join("outputs")).is_ok_and(|mut files| {
            files.any(|file| std::fs::metadata(file.unwrap().path()).unwrap().len() == 6_888_900)
        }) {
            return;
        }
    }
    panic!("the output was not saved completely");
}

#[tokio::test]
async fn a_filter_shows_matching_lines_only() {
    let fixture = ToolFixture::new();
    let id = begin(&fixture, "echo ok 1; echo error 2; echo ok 3; echo error 4; exec true").await;
    let mut output = String::new();
    for _ in 0..200 {
        output += &fixture.ok("BashOutput", json!({"bash_id": id, "filter": "^error"})).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(output.contains("error 2") && output.contains("error 4") && !output.contains("ok"), "{output}");
    let error = fixture.error("BashOutput", json!({"bash_id": id, "filter": "a("})).await;
    assert!(error.contains("`filter` is not a valid regular expression"), "{error}");
}

#[tokio::test]
async fn an_unknown_id_is_an_error_that_lists_the_known_ids() {
    let fixture = ToolFixture::new();
    let error = fixture.fails("BashOutput", json!({"bash_id": "x"}), ToolErrorCode::NotFound).await;
    assert_eq!(error, "There is no background command x. Known commands: none.");
    begin(&fixture, "true").await;
    let error = fixture.fails("KillShell", json!({"shell_id": "bash_2"}), ToolErrorCode::NotFound).await;
    assert!(error.ends_with("Known commands: bash_1."), "{error}");
}

#[tokio::test]
async fn the_number_of_running_commands_is_limited() {
    let fixture = ToolFixture::new();
    for _ in 0..MAX_JOBS {
        begin(&fixture, "exec sleep 300").await;
    }
    let args = json!({"command": "sleep 300", "run_in_background": true});
    let error = fixture.fails("Bash", args, ToolErrorCode::RateLimited).await;
    assert!(error.contains("KillShell"), "{error}");
    fixture.ok("KillShell", json!({"shell_id": "bash_7"})).await;
    assert_eq!(begin(&fixture, "exec sleep 300").await, format!("bash_{}", MAX_JOBS + 1));
    fixture.session_sandbox.close().await;
}
