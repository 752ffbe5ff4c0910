//! What a server lists, what calls give, and what becomes of those that nobody waits for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_tools::{MAX_RESULT_CHARS, Outputs, Progress, ToolContext, ToolErrorCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, call, echo, names, problems_until, tool, until};

#[tokio::test]
async fn a_tool_is_described_as_its_server_describes_it() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("")).await;
    let spec = tool(&servers, "mcp__x__echo").spec();
    assert_eq!((spec.description.as_str(), spec.read_only), ("Says it again.", true));
    assert_eq!(spec.input_schema["properties"]["text"]["type"], "string");
}

#[tokio::test]
async fn a_list_that_changes_is_followed() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("changes")).await;
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
async fn a_list_in_pages_is_read_to_its_end_but_not_for_ever() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("pages")).await;
    assert_eq!(names(&servers), ["mcp__x__p0", "mcp__x__p1", "mcp__x__p2", "mcp__x__echo"]);
    assert_eq!(names(&bench.settled(bench.misbehaving("endless")).await), ["mcp__x__echo"]);
    assert!(bench.settled(bench.misbehaving("toolless")).await.tools().is_empty());
}

#[tokio::test]
async fn ten_megabytes_are_shown_in_part_and_saved() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("huge")).await;
    let (tool, outputs) = (tool(&servers, "mcp__x__echo"), Outputs::new(bench.dir.path().join("outputs")));
    let output = autonoe_tools::call(tool.as_ref(), json!({}), &ToolContext::default(), &outputs).await;
    let chars = output.output.chars().count();
    assert!(!output.is_error() && (MAX_RESULT_CHARS..MAX_RESULT_CHARS + 1000).contains(&chars), "{chars}");
    assert!(output.output.starts_with("beginxxx"));
    let saved = outputs.directory().read_dir().unwrap().next().unwrap().unwrap();
    assert_eq!(saved.metadata().unwrap().len(), 8 + 10 * 1024 * 1024);
}

#[tokio::test]
async fn a_message_without_an_end_is_told() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("endless-line")).await;
    let output = echo(&servers).await;
    assert!(output.is_error() && output.output.contains("lost during the call"), "{}", output.output);
    problems_until(&servers, "is started again: it sent a message of more than 64 MiB").await;
}

#[tokio::test]
async fn a_server_may_write_as_much_to_its_standard_error_as_it_likes() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("noisy")).await;
    assert_eq!(echo(&servers).await.output, "calm");
}

#[tokio::test]
async fn a_refusal_is_told_to_the_model() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("refuses")).await;
    let output = echo(&servers).await;
    assert!(output.is_error());
    assert_eq!(output.output, "The MCP server `x` refused the call: no such thing ({\"hint\":\"other\"})");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_refused() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("")).await;
    let output = call(&servers, "mcp__x__echo", json!("hello")).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::ValidationError));
    assert_eq!(bench.count("call"), 0);
    assert_eq!(call(&servers, "mcp__x__echo", json!(null)).await.output, "nothing");
}

#[tokio::test]
async fn progress_is_passed_on() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("progress")).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let (teller, expected) = (Arc::clone(&told), ["step 1: 1.0/3.0", "step 2: 2.0/3.0", "step 3: 3.0/3.0"]);
    let progress = Progress::to(move |title, metadata| {
        teller.lock().unwrap().push(format!("{title}: {}/{}", metadata["progress"], metadata["total"]));
    });
    let (tool, cx) = (tool(&servers, "mcp__x__echo"), ToolContext { progress, ..ToolContext::default() });
    let calling = tokio::spawn(async move { tool.call(json!({}), &cx).await });
    until("all was told", || told.lock().unwrap().len() == expected.len()).await;
    assert_eq!(*told.lock().unwrap(), expected);
    bench.go();
    assert_eq!(calling.await.unwrap().output, "done");
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("hangs")).await;
    let cancel = CancellationToken::new();
    let (tool, cx) = (tool(&servers, "mcp__x__echo"), ToolContext::new(cancel.clone()));
    let calling = tokio::spawn(async move { tool.call(json!({}), &cx).await });
    until("it was called", || bench.count("call") == 1).await;
    cancel.cancel();
    let output = calling.await.unwrap();
    assert!(output.is_error() && output.output.starts_with("Cancelled "), "{}", output.output);
    was_cancelled(&bench).await;
}

#[tokio::test]
async fn an_abandoned_call_is_cancelled_at_the_server() {
    let bench = Bench::new();
    let servers = bench.settled(bench.misbehaving("hangs")).await;
    let tool = tool(&servers, "mcp__x__echo");
    let calling = tokio::spawn(async move { tool.call(json!({}), &ToolContext::default()).await });
    until("it was called", || bench.count("call") == 1).await;
    calling.abort();
    was_cancelled(&bench).await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server() {
    let bench = Bench::new();
    let mut config = bench.misbehaving("hangs");
    config["timeout"] = json!(Duration::from_millis(200).as_millis() as u64);
    let servers = bench.settled(config).await;
    let output = echo(&servers).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::Timeout));
    assert_eq!(output.output, "The MCP server `x` did not answer within 0.2 s. It was told to stop.");
    was_cancelled(&bench).await;
}

async fn was_cancelled(bench: &Bench) {
    until("it was cancelled", || bench.count("cancelled") == 1).await;
    let traces = bench.traces();
    let id = |what: &str| traces.iter().find_map(|trace| trace.strip_prefix(what)).unwrap().to_owned();
    assert_eq!(id("call "), id("cancelled "));
}
