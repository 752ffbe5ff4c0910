//! The TodoWrite tool.

use autonoe_tools::ToolErrorCode;
use serde_json::json;

use crate::support::ToolFixture;

#[tokio::test]
async fn the_list_is_kept_and_returned() {
    let fixture = ToolFixture::new();
    let todos = json!([
        {"content": "Look", "status": "completed"},
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Test", "status": "pending"},
    ]);
    let output = fixture.call("TodoWrite", json!({"todos": todos})).await;
    assert_eq!(output.output, "1. [x] Look\n2. [>] Build\n3. [ ] Test");
    assert_eq!(output.title, "1 of 3 done");
    assert_eq!(output.metadata["todos"], todos);
    assert_eq!(output.metadata["counts"], json!({"pending": 1, "in_progress": 1, "completed": 1}));
    assert_eq!(fixture.ok("TodoWrite", json!({"todos": []})).await, "The list is empty.");
}

#[tokio::test]
async fn invalid_lists_are_rejected() {
    let fixture = ToolFixture::new();
    let entry = json!({"content": "x", "status": "pending"});
    for (todos, text) in [
        (json!([{"content": "x"}]), "missing field `status`"),
        (json!([{"content": "x", "status": "done"}]), "`in_progress`"),
        (json!([{"content": " ", "status": "pending"}]), "`todos[0].content`"),
        (json!([{"content": "x".repeat(1001), "status": "pending"}]), "`todos[0].content`"),
        (json!(vec![entry; 201]), "at most 200"),
    ] {
        let error = fixture.fails("TodoWrite", json!({"todos": todos}), ToolErrorCode::ValidationError).await;
        assert!(error.contains(text), "{error}");
    }
}
