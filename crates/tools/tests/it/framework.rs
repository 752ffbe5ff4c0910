//! Guarantees for every tool, built-in or not.

use async_trait::async_trait;
use autonoe_tools::{
    MAX_RESULT_CHARS, Outputs, Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, call,
};
use serde_json::{Value, json};

struct StubTool(fn() -> ToolOutput);

#[async_trait]
impl Tool for StubTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "StubTool".into(),
            description: String::new(),
            input_schema: json!({}),
            read_only: true,
        }
    }

    async fn call(&self, _: Value, _: &ToolContext) -> ToolOutput {
        (self.0)()
    }
}

async fn run(work: fn() -> ToolOutput, outputs: &Outputs) -> ToolOutput {
    call(&StubTool(work), json!({}), &ToolContext::default(), outputs).await
}

#[tokio::test]
async fn a_panic_becomes_an_output() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(|| panic!("a bug"), &Outputs::new(dir.path())).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::Unknown));
    assert!(output.output.contains("failed unexpectedly") && !output.output.contains("a bug.rs"));
}

#[tokio::test]
async fn ten_megabytes_are_truncated_and_saved() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("outputs"));
    let output = run(|| ToolOutput::ok("0123456789\n".repeat(1_000_000)).titled("Much"), &outputs).await;
    assert!(output.output.chars().count() < MAX_RESULT_CHARS + 300);
    assert_eq!(output.title, "Much");
    let path = output.metadata["saved_at"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 11_000_000);
    assert!(output.output.contains(" more lines, saved at "));
    // Short results stay unchanged, including failures.
    let small = run(|| ToolOutput::error(ToolErrorCode::NotFound, "no"), &outputs).await;
    assert_eq!(small, ToolOutput::error(ToolErrorCode::NotFound, "no"));
}

#[tokio::test]
async fn failures_have_the_right_codes() {
    use ToolErrorCode::{NotFound, ValidationError};
    let fixture = crate::support::ToolFixture::new();
    fixture.file("a", "x");
    for (tool, args, code) in [
        ("Read", json!({"file_path": "no"}), NotFound),
        ("Read", json!({"file_path": "."}), ValidationError),
        ("Read", json!({"file_path": "a/b"}), ValidationError),
        ("Edit", json!({"file_path": "no", "old_string": "a", "new_string": "b"}), NotFound),
        ("Glob", json!({"pattern": "*", "path": "a"}), ValidationError),
        ("Grep", json!({"pattern": "("}), ValidationError),
        ("Write", json!({"file_path": ".", "content": ""}), ValidationError),
    ] {
        fixture.fails(tool, args, code).await;
    }
}
