//! Commands in the background: reading what they write, ending them, and that they end with the session.
#![cfg(target_os = "linux")]

use autonoe_tools::{MAX_JOBS, ToolErrorCode};
use serde_json::json;

use crate::support::{Bench, is_running, pid_in};

async fn begin(bench: &Bench, command: &str) -> String {
    let output = bench.call("Bash", json!({"command": command, "run_in_background": true})).await;
    assert!(!output.is_error(), "{}", output.output);
    output.metadata["bash_id"].as_str().unwrap().to_owned()
}

/// Looks until the output has what is awaited, and gives all that was seen.
async fn await_output(bench: &Bench, id: &str, wanted: &str) -> String {
    let mut seen = String::new();
    for _ in 0..2000 {
        seen += &bench.ok("BashOutput", json!({"bash_id": id})).await;
        if seen.contains(wanted) {
            return seen;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("waited in vain for {wanted}: {seen}");
}

#[tokio::test]
async fn a_command_goes_on_and_each_look_gives_what_is_new() {
    let bench = Bench::new();
    let id = begin(&bench, "echo one; while ! test -e go; do sleep 0.01; done; echo two; exit 3").await;
    assert_eq!(id, "bash_1");
    let seen = await_output(&bench, &id, "one").await;
    assert!(seen.starts_with("Status: running."), "{seen}");
    assert_eq!(bench.ok("BashOutput", json!({"bash_id": id})).await, "Status: running.\n(no new output)");
    bench.file("go", "");
    let seen = await_output(&bench, &id, "exited with code 3").await;
    assert!(seen.contains("two") && !seen.contains("one"), "{seen}");
    let output = bench.call("BashOutput", json!({"bash_id": id})).await;
    assert_eq!(output.metadata["exit_code"], 3);
    assert_eq!(output.metadata["running"], false);
    let said = bench.ok("KillShell", json!({"shell_id": id})).await;
    assert_eq!(said, "bash_1 was no longer running: exited with code 3.");
}

#[tokio::test]
async fn it_starts_where_the_last_command_ended_and_moves_nobody() {
    let bench = Bench::new();
    bench.file("sub/deeper/file", "");
    bench.ok("Bash", json!({"command": "cd sub"})).await;
    let id = begin(&bench, "ls; cd deeper; echo end").await;
    assert!(await_output(&bench, &id, "end").await.contains("deeper"));
    await_output(&bench, &id, "exited").await;
    assert_eq!(bench.workspace.cwd(), bench.path("sub").canonicalize().unwrap());
}

#[tokio::test]
async fn killing_ends_it_with_all_it_started() {
    let bench = Bench::new();
    let command = "sh -c 'trap \"\" TERM; echo $$ > pid.new; mv pid.new pid; exec sleep 300' & wait";
    let id = begin(&bench, command).await;
    let path = bench.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    assert_eq!(bench.ok("KillShell", json!({"shell_id": id})).await, "Ended bash_1 and all it started.");
    assert!(!is_running(pid));
    let seen = bench.ok("BashOutput", json!({"bash_id": id})).await;
    assert!(seen.starts_with("Status: ended by KillShell."), "{seen}");
}

#[tokio::test]
async fn it_ends_with_the_session() {
    let bench = Bench::new();
    let id = begin(&bench, "echo $$ > pid.new; mv pid.new pid; exec sleep 300").await;
    let path = bench.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    bench.session_sandbox.close().await;
    assert!(!is_running(pid));
    // Anyone who watches the job hears of it a moment later.
    for _ in 0..2000 {
        let told = bench.ok("BashOutput", json!({"bash_id": id})).await;
        if !told.contains("running") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it is still told to run");
}

#[tokio::test]
async fn it_ends_when_its_tools_are_dropped() {
    let bench = Bench::new();
    begin(&bench, "echo $$ > pid.new; mv pid.new pid; exec sleep 300").await;
    let path = bench.path("pid");
    let pid = tokio::task::spawn_blocking(move || pid_in(&path)).await.unwrap();
    let session_sandbox = bench.session_sandbox.clone();
    drop(bench);
    let gone = move || crate::support::until("it is gone", || !is_running(pid));
    tokio::task::spawn_blocking(gone).await.unwrap();
    drop(session_sandbox);
}

#[tokio::test]
async fn much_output_is_bounded_and_saved() {
    let bench = Bench::new();
    let id = begin(&bench, "seq 1000000; echo end").await;
    await_output_quietly(&bench, &id).await;
    let output = bench.ok("BashOutput", json!({"bash_id": id})).await;
    assert!(output.len() < 40_000 && output.ends_with("999999\n1000000\nend"), "{}", output.len());
    assert!(output.contains("bytes before this, saved at ") && output.contains(" more lines, saved at "));
    let path = output.split("saved at ").nth(1).unwrap().split(" …").next().unwrap();
    let saved = std::fs::read_to_string(path).unwrap();
    assert!(saved.starts_with("1\n2\n") && saved.ends_with("1000000\nend\n"));
    assert_eq!(saved.lines().count(), 1_000_001);
}

/// Waits for the end without looking at the output.
async fn await_output_quietly(bench: &Bench, id: &str) {
    for _ in 0..2000 {
        let output = bench.call("BashOutput", json!({"bash_id": id, "filter": "("})).await;
        assert!(output.is_error(), "a filter that is none shows nothing");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        if std::fs::read_dir(bench.outputs.path().join("outputs")).is_ok_and(|mut files| {
            files.any(|file| std::fs::metadata(file.unwrap().path()).unwrap().len() == 6_888_900)
        }) {
            return;
        }
    }
    panic!("it never wrote all of it");
}

#[tokio::test]
async fn a_filter_shows_matching_lines_only() {
    let bench = Bench::new();
    let id = begin(&bench, "echo ok 1; echo error 2; echo ok 3; echo error 4; exec true").await;
    let mut seen = String::new();
    for _ in 0..200 {
        seen += &bench.ok("BashOutput", json!({"bash_id": id, "filter": "^error"})).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(seen.contains("error 2") && seen.contains("error 4") && !seen.contains("ok"), "{seen}");
    let error = bench.error("BashOutput", json!({"bash_id": id, "filter": "a("})).await;
    assert!(error.contains("`filter` is not a valid regular expression"), "{error}");
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is() {
    let bench = Bench::new();
    let error = bench.fails("BashOutput", json!({"bash_id": "x"}), ToolErrorCode::NotFound).await;
    assert_eq!(error, "There is no background command x. There are: none.");
    begin(&bench, "true").await;
    let error = bench.fails("KillShell", json!({"shell_id": "bash_2"}), ToolErrorCode::NotFound).await;
    assert!(error.ends_with("There are: bash_1."), "{error}");
}

#[tokio::test]
async fn only_so_many_run_at_once() {
    let bench = Bench::new();
    for _ in 0..MAX_JOBS {
        begin(&bench, "exec sleep 300").await;
    }
    let args = json!({"command": "sleep 300", "run_in_background": true});
    let error = bench.fails("Bash", args, ToolErrorCode::RateLimited).await;
    assert!(error.contains("KillShell"), "{error}");
    bench.ok("KillShell", json!({"shell_id": "bash_7"})).await;
    assert_eq!(begin(&bench, "exec sleep 300").await, format!("bash_{}", MAX_JOBS + 1));
    bench.session_sandbox.close().await;
}
