//! What reaches the program and what is said about its end.

use std::process::Stdio;

use autonoe_sandbox::{EXIT_KEEPER_FAILED, EXIT_NOT_FOUND, EXIT_NOT_STARTED, KEEP_ARG, Launcher};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{KEEPER, script};

async fn code_of(text: &str) -> Option<i32> {
    let dir = tempdir().unwrap();
    script(dir.path(), text).spawn().unwrap().wait().await.unwrap().code()
}

#[tokio::test]
async fn exit_status_passes_through() {
    assert_eq!(code_of("exit 0").await, Some(0));
    assert_eq!(code_of("exit 7").await, Some(7));
}

#[tokio::test]
async fn death_by_signal_is_128_and_its_number() {
    assert_eq!(code_of("kill -TERM $$").await, Some(143));
    assert_eq!(code_of("kill -KILL $$").await, Some(137));
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named() {
    let dir = tempdir().unwrap();
    let cases = [("no-such-program", EXIT_NOT_FOUND), ("/etc/passwd", EXIT_NOT_STARTED)];
    for (program, code) in cases {
        let mut child =
            Launcher::new(KEEPER).command(program).cwd(dir.path()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(code));
        assert!(said.contains(program), "{said}");
    }
}

#[tokio::test]
async fn a_missing_keeper_is_named() {
    let error = Launcher::new("/no/such/keeper").command("true").spawn().unwrap_err();
    assert!(error.to_string().contains("/no/such/keeper"), "{error}");
}

#[tokio::test]
async fn environment_is_empty_but_for_the_named() {
    let mut child = Launcher::new(KEEPER)
        .command("/usr/bin/env")
        .env("NAMED", "value")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "NAMED=value\n");
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn streams_belong_to_the_program() {
    let dir = tempdir().unwrap();
    let mut child = script(dir.path(), "read line; echo got $line; exec >&-; read again; exit 5")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"this\n").await.unwrap();
    // The program has closed its output and lives on: the keeper must not hold it open.
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "got this\n");
    stdin.write_all(b"that\n").await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(5));
}

#[test]
fn wrong_arguments_are_refused() {
    let cases: [&[&str]; 4] =
        [&[], &["--parent", "x", "--", "true"], &["--parent", "1"], &["--parent", "1", "true", "x"]];
    for args in cases {
        let output = std::process::Command::new(KEEPER).arg(KEEP_ARG).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(EXIT_KEEPER_FAILED), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage"), "{args:?}");
    }
}

#[test]
fn a_parent_that_is_not_ours_counts_as_gone() {
    let output =
        std::process::Command::new(KEEPER).args([KEEP_ARG, "--parent", "1", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(EXIT_KEEPER_FAILED));
    assert!(String::from_utf8_lossy(&output.stderr).contains("already gone"));
}
