//! How servers start, end, restart and are closed.

use std::time::Duration;

use serde_json::json;

use autonoe_test_kit::{processes_with, until_async};

use crate::support::{McpFixture, echo, names, problems_until};

#[tokio::test]
async fn a_server_that_never_responds_times_out_and_is_killed() {
    let mut fixture = McpFixture::new();
    fixture.host.start_limit = Duration::from_millis(300);
    let servers = fixture.settled(fixture.misbehaving("mute")).await;
    assert_eq!(servers.problems(), ["MCP server `x` could not be started: it did not respond within 0.3 s."]);
    assert!(servers.tools().is_empty());
    assert_eq!(fixture.count("start"), 1, "it is not restarted");
    assert!(processes_with(&[fixture.log_file().to_str().unwrap()]).is_empty());
}

#[tokio::test]
async fn a_server_that_exits_at_once_is_restarted_and_its_stderr_is_reported() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("dies")).await;
    let why = "it exited with code 3; stderr: first line | no configuration.";
    assert_eq!(
        servers.problems(),
        [
            format!("MCP server `x` is being restarted: {why}"),
            format!("MCP server `x` failed after a restart: {why}")
        ]
    );
    assert_eq!(fixture.count("start"), 2);
    assert!(servers.problems().is_empty(), "each problem is reported once");
}

#[tokio::test]
async fn a_missing_program_is_reported() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(json!({"command": "no-such-program"})).await;
    let problems = servers.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("MCP server `x` could not be started: "), "{problems:?}");
}

#[tokio::test]
async fn a_server_that_exits_after_a_call_is_restarted_once() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("dies-after-call")).await;
    let generation = servers.generation();
    assert_eq!(echo(&servers).await.output, "hello");
    problems_until(&servers, "is being restarted: it exited with code 5").await;
    // The tools stay, and a call waits until the server has restarted.
    assert_eq!(servers.generation(), generation);
    assert_eq!(echo(&servers).await.output, "hello");
    let problems = problems_until(&servers, "failed after a restart").await;
    assert!(problems[0].contains("it exited with code 5; stderr: one call is enough"), "{problems:?}");
    assert_ne!(servers.changed(generation).await, generation);
    assert!(servers.tools().is_empty());
    assert_eq!(fixture.count("start"), 2);
}

#[tokio::test]
async fn a_call_that_kills_its_server_is_an_error_and_other_servers_continue() {
    let fixture = McpFixture::new();
    let servers = fixture.start([("x", fixture.misbehaving("dies-in-call")), ("y", fixture.misbehaving(""))]);
    servers.settled().await;
    let tool = crate::support::tool(&servers, "mcp__x__echo");
    let lost = echo(&servers).await;
    assert!(lost.is_error() && lost.output.contains("lost during the call"), "{}", lost.output);
    problems_until(&servers, "is being restarted").await;
    assert!(echo(&servers).await.is_error());
    problems_until(&servers, "failed after a restart").await;
    let gone = tool.call(json!({}), &Default::default()).await;
    assert!(gone.output.contains("`x` is not available: it exited with code 4"), "{}", gone.output);
    assert_eq!(names(&servers), ["mcp__y__echo"]);
}

#[tokio::test]
async fn garbage_between_messages_is_ignored() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("garbage")).await;
    assert_eq!(echo(&servers).await.output, "hello");
    assert!(servers.problems().is_empty());
}

#[tokio::test]
async fn a_slow_server_does_not_delay_others() {
    let fixture = McpFixture::new();
    let servers = fixture.start([("slow", fixture.misbehaving("slow")), ("x", fixture.misbehaving(""))]);
    let generation = servers.changed(0).await;
    assert_eq!(names(&servers), ["mcp__x__echo"]);
    assert_eq!(echo(&servers).await.output, "hello");
    fixture.go();
    servers.changed(generation).await;
    assert_eq!(names(&servers), ["mcp__slow__echo", "mcp__x__echo"]);
    servers.settled().await;
}

#[tokio::test]
async fn closing_lets_a_server_exit_by_itself_and_kills_one_that_does_not() {
    for behavior in ["", "stubborn"] {
        let fixture = McpFixture::new();
        let servers = fixture.settled(fixture.misbehaving(behavior)).await;
        servers.close().await;
        assert_eq!(fixture.count("closed"), 1, "its input was closed");
        assert!(processes_with(&[fixture.log_file().to_str().unwrap()]).is_empty(), "{behavior}");
        assert!(servers.problems().is_empty());
        let late = echo(&servers).await;
        assert!(late.is_error(), "{}", late.output);
    }
}

#[tokio::test]
async fn closing_does_not_wait_for_a_server_that_is_still_starting() {
    let fixture = McpFixture::new();
    let servers = fixture.start([("x", fixture.misbehaving("mute"))]);
    until_async("it was started", || fixture.count("start") == 1).await;
    servers.close().await;
    until_async("it is gone", || processes_with(&[fixture.log_file().to_str().unwrap()]).is_empty()).await;
}

#[tokio::test]
async fn dropping_the_servers_kills_them() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("stubborn")).await;
    drop(servers);
    until_async("it is gone", || processes_with(&[fixture.log_file().to_str().unwrap()]).is_empty()).await;
}

#[tokio::test]
async fn an_older_protocol_version_is_supported_and_an_unknown_one_is_not() {
    let fixture = McpFixture::new();
    let old = fixture.settled(fixture.misbehaving("old")).await;
    assert_eq!(echo(&old).await.output, "hello");
    assert!(fixture.events().contains(&"version \"2025-11-25\"".to_owned()), "{:?}", fixture.events());
    let future = fixture.settled(fixture.misbehaving("future")).await;
    assert_eq!(
        future.problems(),
        ["MCP server `x` could not be started: it uses protocol version 2199-01-01, which is not supported."]
    );
}
