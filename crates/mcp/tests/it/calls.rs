//! Lists of tools, results of calls, and cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_tools::{MAX_RESULT_CHARS, Outputs, ProgressReporter, ToolContext, ToolErrorCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use autonoe_test_kit::until_async;

use crate::support::{McpFixture, call, echo, names, problems_until, tool};

#[tokio::test]
async fn a_tool_has_the_description_of_its_server() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("")).await;
    let spec = tool(&servers, "mcp__x__echo").spec();
    assert_eq!((spec.description.as_str(), spec.read_only), ("Says it again.", true));
    assert_eq!(spec.input_schema["properties"]["text"]["type"], "string");
}

#[tokio::test]
async fn a_changed_list_is_read_again() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("changes")).await;
    let generation = servers.generation();
    assert_eq!(names(&servers), ["mcp__x__echo"]);
    assert_eq!(echo(&servers).await.output, "changed");
    servers.changed(generation).await;
    assert_eq!(names(&servers), ["mcp__x__echo", "mcp__x__new_one"]);
    let spec = tool(&servers, "mcp__x__new_one").spec();
    assert_eq!((spec.input_schema, spec.read_only), (json!({"type": "object"}), false));
    assert_eq!(call(&servers, "mcp__x__new_one", json!({})).await.output, "changed");
}

#[tokio::test]
async fn a_paginated_list_is_read_completely_but_not_endlessly() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("pages")).await;
    assert_eq!(names(&servers), ["mcp__x__p0", "mcp__x__p1", "mcp__x__p2", "mcp__x__echo"]);
    assert_eq!(names(&fixture.settled(fixture.misbehaving("endless")).await), ["mcp__x__echo"]);
    assert!(fixture.settled(fixture.misbehaving("toolless")).await.tools().is_empty());
}

#[tokio::test]
async fn ten_megabytes_are_truncated_and_saved() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("huge")).await;
    let (tool, outputs) = (tool(&servers, "mcp__x__echo"), Outputs::new(fixture.dir.path().join("outputs")));
    let output = autonoe_tools::call(tool.as_ref(), json!({}), &ToolContext::default(), &outputs).await;
    let chars = output.output.chars().count();
    assert!(!output.is_error() && (MAX_RESULT_CHARS..MAX_RESULT_CHARS + 1000).contains(&chars), "{chars}");
    assert!(output.output.starts_with("beginxxx"));
    let saved = outputs.directory().read_dir().unwrap().next().unwrap().unwrap();
    assert_eq!(saved.metadata().unwrap().len(), 8 + 10 * 1024 * 1024);
}

#[tokio::test]
async fn an_endless_message_is_an_error() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("endless-line")).await;
    let output = echo(&servers).await;
    assert!(output.is_error() && output.output.contains("lost during the call"), "{}", output.output);
    problems_until(&servers, "is being restarted: it sent a message of more than 64 MiB").await;
}

#[tokio::test]
async fn a_server_may_write_any_amount_to_stderr() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("noisy")).await;
    assert_eq!(echo(&servers).await.output, "calm");
}

#[tokio::test]
async fn a_rejected_call_is_reported_to_the_model() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("refuses")).await;
    let output = echo(&servers).await;
    assert!(output.is_error());
    assert_eq!(output.output, "The MCP server `x` rejected the call: no such thing ({\"hint\":\"other\"})");
}

#[tokio::test]
async fn arguments_must_be_an_object() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("")).await;
    let output = call(&servers, "mcp__x__echo", json!("hello")).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::ValidationError));
    assert_eq!(fixture.count("call"), 0);
    assert_eq!(call(&servers, "mcp__x__echo", json!(null)).await.output, "nothing");
}

#[tokio::test]
async fn progress_is_reported() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("progress")).await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (recorded, expected) =
        (Arc::clone(&reports), ["step 1: 1.0/3.0", "step 2: 2.0/3.0", "step 3: 3.0/3.0"]);
    let progress = ProgressReporter::new(move |title, metadata| {
        recorded.lock().unwrap().push(format!("{title}: {}/{}", metadata["progress"], metadata["total"]));
    });
    let (tool, cx) = (tool(&servers, "mcp__x__echo"), ToolContext { progress, ..ToolContext::default() });
    let calling = tokio::spawn(async move { tool.call(json!({}), &cx).await });
    until_async("all reports have arrived", || reports.lock().unwrap().len() == expected.len()).await;
    assert_eq!(*reports.lock().unwrap(), expected);
    fixture.go();
    assert_eq!(calling.await.unwrap().output, "done");
}

#[tokio::test]
async fn cancelling_a_call_notifies_the_server() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("hangs")).await;
    let cancel = CancellationToken::new();
    let (tool, cx) = (tool(&servers, "mcp__x__echo"), ToolContext::new(cancel.clone()));
    let calling = tokio::spawn(async move { tool.call(json!({}), &cx).await });
    until_async("it was called", || fixture.count("call") == 1).await;
    cancel.cancel();
    let output = calling.await.unwrap();
    assert!(output.is_error() && output.output.starts_with("Cancelled "), "{}", output.output);
    assert_cancelled(&fixture).await;
}

#[tokio::test]
async fn dropping_a_call_notifies_the_server() {
    let fixture = McpFixture::new();
    let servers = fixture.settled(fixture.misbehaving("hangs")).await;
    let tool = tool(&servers, "mcp__x__echo");
    let calling = tokio::spawn(async move { tool.call(json!({}), &ToolContext::default()).await });
    until_async("it was called", || fixture.count("call") == 1).await;
    calling.abort();
    assert_cancelled(&fixture).await;
}

#[tokio::test]
async fn a_call_that_times_out_notifies_the_server() {
    let fixture = McpFixture::new();
    let mut config = fixture.misbehaving("hangs");
    config["timeout"] = json!(Duration::from_millis(200).as_millis() as u64);
    let servers = fixture.settled(config).await;
    let output = echo(&servers).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::Timeout));
    assert_eq!(output.output, "The MCP server `x` did not respond within 0.2 s. The call was cancelled.");
    assert_cancelled(&fixture).await;
}

async fn assert_cancelled(fixture: &McpFixture) {
    until_async("it was cancelled", || fixture.count("cancelled") == 1).await;
    let events = fixture.events();
    let id = |prefix: &str| events.iter().find_map(|event| event.strip_prefix(prefix)).unwrap().to_owned();
    assert_eq!(id("call "), id("cancelled "));
}
