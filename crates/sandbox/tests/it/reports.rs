//! What reaches the program and what is said about its end.

use std::process::Stdio;

use autonoe_sandbox::{
    EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SUPERVISOR_FAILED, Exit, KEEP_ARG, ROOM_ARG, Sandbox,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{House, SUPERVISOR, piped};

#[tokio::test]
async fn exit_status_passes_through() {
    let house = House::open().await;
    for (text, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        assert_eq!(house.run(text).await.0, code, "{text}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named() {
    let house = House::open().await;
    for (program, wanted) in [("no-such-program", EXIT_NOT_FOUND), ("/etc/passwd", EXIT_NOT_STARTED)] {
        let exit = house.room.command(program).spawn().unwrap().wait().await.unwrap();
        assert!(
            matches!(&exit, Exit::NotStarted { code, why } if *code == wanted && why.contains(program)),
            "{exit:?}"
        );
    }
}

#[tokio::test]
async fn a_missing_supervisor_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = autonoe_sandbox::Bounds::new(dir.path(), dir.path().join("h"), dir.path().join("t"));
    let error = Sandbox::none("/no/such/supervisor").open(bounds).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/supervisor"), "{error}");
}

#[tokio::test]
async fn environment_is_empty_but_for_the_named() {
    let house = House::open().await;
    let launch = piped(house.room.command("/usr/bin/env").envs([("NAMED", "value")]));
    let mut child = launch.spawn().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "NAMED=value\n");
    assert!(child.wait().await.unwrap().is_success());
}

#[tokio::test]
async fn streams_belong_to_the_program() {
    let house = House::open().await;
    let mut child =
        piped(house.script("read line; echo got $line; exec >&-; read again; exit 5")).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"this\n").await.unwrap();
    // The program has closed its output and lives on: nobody else must hold it open.
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "got this\n");
    stdin.write_all(b"that\n").await.unwrap();
    assert_eq!(child.wait().await.unwrap(), Exit::Code(5));
}

#[tokio::test]
async fn long_commands_arrive_whole() {
    let house = House::open().await;
    let long = "x".repeat(100_000);
    assert_eq!(house.done(&format!("printf %s {long} | wc -c")).await.trim(), "100000");
}

#[tokio::test]
async fn many_programs_run_at_once() {
    let house = House::open().await;
    let running = (0..20).map(|number| house.script(&format!("exit {number}")).spawn().unwrap());
    for (number, mut child) in running.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(child.wait().await.unwrap().code() as usize, number);
    }
}

#[test]
fn by_hand_they_say_that_they_are_not_for_that() {
    for part in [KEEP_ARG, ROOM_ARG] {
        let output = std::process::Command::new(SUPERVISOR).arg(part).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(EXIT_SUPERVISOR_FAILED), "{part}");
        assert!(!output.stderr.is_empty(), "{part}");
    }
}
