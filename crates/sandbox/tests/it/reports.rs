//! What a program receives, and what is reported about its end.

use std::process::Stdio;

use autonoe_sandbox::{
    EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SUPERVISOR_FAILED, Exit, ROOM_ARG, SUPERVISOR_ARG, Sandbox,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{SUPERVISOR, TestRoom, piped};

#[tokio::test]
async fn exit_status_passes_through() {
    let test_room = TestRoom::open().await;
    for (text, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        assert_eq!(test_room.run(text).await.0, code, "{text}");
    }
}

#[tokio::test]
async fn an_error_names_the_program_that_cannot_start() {
    let test_room = TestRoom::open().await;
    for (program, expected) in [("no-such-program", EXIT_NOT_FOUND), ("/etc/passwd", EXIT_NOT_STARTED)] {
        let exit = test_room.room.command(program).spawn().unwrap().wait().await.unwrap();
        assert!(
            matches!(&exit, Exit::NotStarted { code, why } if *code == expected && why.contains(program)),
            "{exit:?}"
        );
    }
}

#[tokio::test]
async fn an_error_names_a_missing_supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = autonoe_sandbox::Bounds::new(dir.path(), dir.path().join("h"), dir.path().join("t"));
    let error = Sandbox::none("/no/such/supervisor").open(bounds).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/supervisor"), "{error}");
}

#[tokio::test]
async fn the_environment_contains_only_the_given_variables() {
    let test_room = TestRoom::open().await;
    let launch = piped(test_room.room.command("/usr/bin/env").envs([("NAMED", "value")]));
    let mut child = launch.spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).await.unwrap();
    assert_eq!(output, "NAMED=value\n");
    assert!(child.wait().await.unwrap().is_success());
}

#[tokio::test]
async fn streams_belong_to_the_program() {
    let test_room = TestRoom::open().await;
    let mut child =
        piped(test_room.script("read line; echo got $line; exec >&-; read again; exit 5")).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"this\n").await.unwrap();
    // The program has closed its output and keeps running: no other process may keep the pipe open.
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).await.unwrap();
    assert_eq!(output, "got this\n");
    stdin.write_all(b"that\n").await.unwrap();
    assert_eq!(child.wait().await.unwrap(), Exit::Code(5));
}

#[tokio::test]
async fn long_commands_arrive_complete() {
    let test_room = TestRoom::open().await;
    let long = "x".repeat(100_000);
    assert_eq!(test_room.succeeds(&format!("printf %s {long} | wc -c")).await.trim(), "100000");
}

#[tokio::test]
async fn many_programs_run_at_the_same_time() {
    let test_room = TestRoom::open().await;
    let running = (0..20).map(|number| test_room.script(&format!("exit {number}")).spawn().unwrap());
    for (number, mut child) in running.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(child.wait().await.unwrap().code() as usize, number);
    }
}

#[test]
fn helper_roles_started_by_hand_fail_with_a_message() {
    for role in [SUPERVISOR_ARG, ROOM_ARG] {
        let output = std::process::Command::new(SUPERVISOR).arg(role).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(EXIT_SUPERVISOR_FAILED), "{role}");
        assert!(!output.stderr.is_empty(), "{role}");
    }
}
