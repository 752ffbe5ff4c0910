//! Bash: what it reports, its bounds, and that nothing survives it.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use autonoe_tools::{MAX_OUTPUT_CHARS, ToolContext, ToolOutput};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, is_running, pid_in};

/// Leaves a stubborn shell and a process in a session of its own, with their ids in `a` and `b`.
const STUBBORN: &str = r#"
    trap "" TERM
    echo $$ > a.new; mv a.new a
    setsid sh -c 'trap "" TERM; echo $$ > b.new; mv b.new b; exec sleep 300' &
    while ! test -e b; do sleep 0.01; done
"#;

async fn bash(command: &str) -> ToolOutput {
    Bench::new().call("Bash", json!({"command": command})).await
}

#[tokio::test]
async fn output_is_interleaved_and_the_exit_code_told() {
    assert_eq!(bash("echo 1; echo 2 >&2; echo 3").await, ToolOutput::ok("1\n2\n3"));
    assert_eq!(bash("true").await, ToolOutput::ok("(no output)"));
    assert_eq!(bash("echo no >&2; exit 3").await, ToolOutput::error("Exit code 3\nno"));
    assert_eq!(bash("kill -KILL $$").await, ToolOutput::error("Exit code 137\n(no output)"));
    let missing = bash("no-such-command").await;
    assert!(missing.is_error && missing.content.starts_with("Exit code 127\n"));
}

#[tokio::test]
async fn it_runs_in_the_root_with_the_named_environment_and_no_input() {
    let bench = Bench::new();
    let root = bench.dir.path().canonicalize().unwrap();
    let said = bench.ok("Bash", json!({"command": "pwd; cat; echo $0; exec env -u PWD -u SHLVL -u _"}));
    let expected = format!("{}\n/bin/bash\nNAMED=value\nPATH=/usr/bin:/bin", root.display());
    let said = said.await;
    let mut lines: Vec<_> = said.lines().collect();
    lines[2..].sort_unstable();
    assert_eq!(lines.join("\n"), expected);
}

#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_no_option() {
    let output = bash("-x; echo after").await;
    assert!(output.content.contains("after") && output.content.contains("not found"), "{}", output.content);
}

#[tokio::test]
async fn text_that_is_not_utf8_is_replaced() {
    assert_eq!(bash(r"printf 'a\xffb'").await, ToolOutput::ok("a\u{fffd}b"));
}

#[tokio::test]
async fn much_output_is_cut_in_its_middle() {
    let output = bash("echo begin; head -c 50000000 /dev/zero | tr '\\0' x; echo end").await;
    assert!(!output.is_error);
    assert!(output.content.starts_with("begin\nxxx") && output.content.ends_with("xxxend"));
    let chars = output.content.chars().count();
    assert!((MAX_OUTPUT_CHARS..MAX_OUTPUT_CHARS + 100).contains(&chars), "{chars}");
    assert!(output.content.contains("… 49970010 characters cut …"));
}

#[tokio::test]
async fn a_cut_never_splits_a_character() {
    let output = bash("yes äöü🦀 | head -c 1000003").await;
    assert!(output.content.contains("characters cut"));
    // Only the very end of the stream is torn.
    assert!(!output.content.trim_end_matches('\u{fffd}').contains('\u{fffd}'));
}

#[tokio::test]
async fn what_is_left_in_the_background_lasts_as_long_as_the_session_and_blocks_nobody() {
    let bench = Bench::new();
    let command = format!("{STUBBORN} echo done");
    assert_eq!(bench.ok("Bash", json!({"command": command})).await, "done");
    let left = pid_in(&bench.path("b"));
    assert!(
        bench.ok("Bash", json!({"command": format!("kill -0 {left} && echo there")})).await.contains("there")
    );
    bench.quarters.close().await;
    assert!(!is_running(left));
}

#[tokio::test]
async fn a_server_in_the_background_may_go_on_writing() {
    let bench = Bench::new();
    let server = "(while :; do echo noise || exit; echo $$ >> alive; sleep 0.02; done) & echo started";
    assert!(bench.ok("Bash", json!({"command": server})).await.contains("started"));
    let lines = || std::fs::read_to_string(bench.path("alive")).unwrap_or_default().lines().count();
    let before = lines();
    crate::support::until("it has gone on", || lines() > before + 20);
}

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_the_output() {
    let bench = Bench::new();
    let command = format!("{STUBBORN} echo so far; sleep 300");
    let error = bench.error("Bash", json!({"command": command, "timeout": 1000})).await;
    assert!(error.starts_with("Timed out after 1 s. "), "{error}");
    assert!(error.ends_with("so far"), "{error}");
    for name in ["a", "b"] {
        assert!(!is_running(pid_in(&bench.path(name))));
    }
}

#[tokio::test]
async fn cancelling_ends_everything() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let (tool, cx) = (bench.tool("Bash"), ToolContext::new(cancel.clone()));
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &cx).await });
    let (a, b) = (bench.path("a"), bench.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    cancel.cancel();
    let output = call.await.unwrap();
    assert!(output.is_error && output.content.starts_with("Cancelled. "), "{}", output.content);
    assert!(pids.iter().all(|&pid| !is_running(pid)));
}

#[tokio::test]
async fn an_abandoned_call_ends_everything() {
    let bench = Bench::new();
    let tool = bench.tool("Bash");
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &Default::default()).await });
    let (a, b) = (bench.path("a"), bench.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    call.abort();
    let gone = move || crate::support::until("all are gone", || !pids.iter().any(|&p| is_running(p)));
    tokio::task::spawn_blocking(gone).await.unwrap();
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for() {
    let output = bash("echo early; exec >&- 2>&-; sleep 0.2; exit 4").await;
    assert_eq!(output, ToolOutput::error("Exit code 4\nearly"));
}

#[tokio::test]
async fn a_missing_keeper_is_told() {
    let bench = Bench::with_keeper(PathBuf::from("/no/such/keeper"));
    let error = bench.error("Bash", json!({"command": "true"})).await;
    assert!(error.contains("/no/such/keeper"), "{error}");
}
