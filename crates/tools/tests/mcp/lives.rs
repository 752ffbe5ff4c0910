//! How servers start, end, are started again and are closed.

use std::time::Duration;

use serde_json::json;

use crate::support::{Bench, echo, is_running, names, problems_until, until};

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_and_ended() {
    let mut bench = Bench::new();
    bench.host.start_limit = Duration::from_millis(300);
    let servers = bench.settled(bench.misbehaving("mute")).await;
    assert_eq!(servers.problems(), ["MCP server `x` could not be started: it did not answer within 0.3 s."]);
    assert!(servers.tools().is_empty());
    assert_eq!(bench.count("start"), 1, "once is enough");
    assert!(!is_running(bench.trace_file().to_str().unwrap()));
}

#[tokio::test]
async fn a_server_that_dies_at_once_is_tried_twice_and_its_last_words_are_told() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("dies")).await;
    let why = "it ended with exit code 3; its last words: first line | no configuration.";
    assert_eq!(
        servers.problems(),
        [format!("MCP server `x` is started again: {why}"), format!("MCP server `x` was given up: {why}")]
    );
    assert_eq!(bench.count("start"), 2);
    assert!(servers.problems().is_empty(), "they are told once");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let bench = Bench::new();
    let servers = bench.settled(json!({"command": "no-such-program"})).await;
    let problems = servers.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("MCP server `x` could not be started: "), "{problems:?}");
}

#[tokio::test]
async fn a_server_that_dies_after_a_call_is_started_again_once() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("dies-after-call")).await;
    let generation = servers.generation();
    assert_eq!(echo(&servers).await.output, "hello");
    problems_until(&servers, "is started again: it ended with exit code 5").await;
    // The tools stay, and a call waits until the server is back.
    assert_eq!(servers.generation(), generation);
    assert_eq!(echo(&servers).await.output, "hello");
    let problems = problems_until(&servers, "was given up").await;
    assert!(problems[0].contains("exit code 5; its last words: one call is enough"), "{problems:?}");
    assert_ne!(servers.changed(generation).await, generation);
    assert!(servers.tools().is_empty());
    assert_eq!(bench.count("start"), 2);
}

#[tokio::test]
async fn a_call_that_kills_the_server_is_told_and_others_go_on() {
    let bench = Bench::new();
    let servers = bench.start([("x", bench.misbehaving("dies-in-call")), ("y", bench.misbehaving(""))]);
    servers.settled().await;
    let tool = crate::support::tool(&servers, "mcp__x__echo");
    let lost = echo(&servers).await;
    assert!(lost.is_error() && lost.output.contains("lost during the call"), "{}", lost.output);
    problems_until(&servers, "is started again").await;
    assert!(echo(&servers).await.is_error());
    problems_until(&servers, "was given up").await;
    let gone = tool.call(json!({}), &Default::default()).await;
    assert!(gone.output.contains("`x` is not there: it ended with exit code 4"), "{}", gone.output);
    assert_eq!(names(&servers), ["mcp__y__echo"]);
}

#[tokio::test]
async fn garbage_between_messages_is_passed_over() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("garbage")).await;
    assert_eq!(echo(&servers).await.output, "hello");
    assert!(servers.problems().is_empty());
}

#[tokio::test]
async fn a_slow_server_holds_up_nobody() {
    let bench = Bench::new();
    let servers = bench.start([("slow", bench.misbehaving("slow")), ("x", bench.misbehaving(""))]);
    let generation = servers.changed(0).await;
    assert_eq!(names(&servers), ["mcp__x__echo"]);
    assert_eq!(echo(&servers).await.output, "hello");
    bench.go();
    servers.changed(generation).await;
    assert_eq!(names(&servers), ["mcp__slow__echo", "mcp__x__echo"]);
    servers.settled().await;
}

#[tokio::test]
async fn closing_lets_a_server_end_by_itself_and_ends_one_that_does_not() {
    for how in ["", "stubborn"] {
        let bench = Bench::new();
        let servers = bench.settled(bench.misbehaving(how)).await;
        servers.close().await;
        assert_eq!(bench.count("closed"), 1, "its input was closed");
        assert!(!is_running(bench.trace_file().to_str().unwrap()), "{how}");
        assert!(servers.problems().is_empty());
        let late = echo(&servers).await;
        assert!(late.is_error(), "{}", late.output);
    }
}

#[tokio::test]
async fn closing_does_not_wait_for_a_server_that_is_still_starting() {
    let bench = Bench::new();
    let servers = bench.start([("x", bench.misbehaving("mute"))]);
    until("it was started", || bench.count("start") == 1).await;
    servers.close().await;
    until("it is gone", || !is_running(bench.trace_file().to_str().unwrap())).await;
}

#[tokio::test]
async fn servers_that_are_dropped_are_ended() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("stubborn")).await;
    drop(servers);
    until("it is gone", || !is_running(bench.trace_file().to_str().unwrap())).await;
}

#[tokio::test]
async fn an_older_version_is_spoken_and_an_unknown_one_is_not() {
    let bench = Bench::new();
    let old = bench.settled(bench.misbehaving("old")).await;
    assert_eq!(echo(&old).await.output, "hello");
    assert!(bench.traces().contains(&"version \"2025-11-25\"".to_owned()), "{:?}", bench.traces());
    let future = bench.settled(bench.misbehaving("future")).await;
    assert_eq!(
        future.problems(),
        [
            "MCP server `x` could not be started: it speaks version 2199-01-01 of the protocol, which we do not."
        ]
    );
}
