//! TodoWrite.

use autonoe_tools::ToolErrorCode;
use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn the_list_is_kept_and_returned() {
    let bench = Bench::new();
    let todos = json!([
        {"content": "Look", "status": "completed"},
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Test", "status": "pending"},
    ]);
    let output = bench.call("TodoWrite", json!({"todos": todos})).await;
    assert_eq!(output.output, "1. [x] Look\n2. [>] Build\n3. [ ] Test");
    assert_eq!(output.title, "1 of 3 done");
    assert_eq!(output.metadata["todos"], todos);
    assert_eq!(output.metadata["counts"], json!({"pending": 1, "in_progress": 1, "completed": 1}));
    assert_eq!(bench.ok("TodoWrite", json!({"todos": []})).await, "The list is empty.");
}

#[tokio::test]
async fn what_is_no_list_is_told() {
    let bench = Bench::new();
    let entry = json!({"content": "x", "status": "pending"});
    for (todos, said) in [
        (json!([{"content": "x"}]), "missing field `status`"),
        (json!([{"content": "x", "status": "done"}]), "`in_progress`"),
        (json!([{"content": " ", "status": "pending"}]), "`todos[0].content`"),
        (json!([{"content": "x".repeat(1001), "status": "pending"}]), "`todos[0].content`"),
        (json!(vec![entry; 201]), "at most 200"),
    ] {
        let error = bench.fails("TodoWrite", json!({"todos": todos}), ToolErrorCode::ValidationError).await;
        assert!(error.contains(said), "{error}");
    }
}
