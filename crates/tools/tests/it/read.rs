//! The Read tool, on text files.

use autonoe_tools::{MAX_LINE_CHARS, MAX_READ_BYTES};
use serde_json::json;

use crate::support::ToolFixture;

#[tokio::test]
async fn lines_are_numbered() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a.txt", "one\r\n\ntwo");
    let expected = "     1\tone\n     2\t\n     3\ttwo\n";
    assert_eq!(fixture.ok("Read", json!({"file_path": "a.txt"})).await, expected);
    assert_eq!(fixture.ok("Read", json!({"file_path": path})).await, expected);
}

#[tokio::test]
async fn a_partial_result_says_how_to_continue() {
    let fixture = ToolFixture::new();
    fixture.file("a", "1\n2\n3\n4\n5\n");
    let part = fixture.ok("Read", json!({"file_path": "a", "offset": 2, "limit": 2})).await;
    assert_eq!(part, "     2\t2\n     3\t3\n(2 more lines; continue with offset=4)");
    let rest = fixture.ok("Read", json!({"file_path": "a", "offset": 4})).await;
    assert_eq!(rest, "     4\t4\n     5\t5\n");
    let error = fixture.error("Read", json!({"file_path": "a", "offset": 6})).await;
    assert_eq!(error, "a has 5 lines; `offset` 6 is past its end.");
    fixture.file("long", "x\n".repeat(2_500));
    let long = fixture.ok("Read", json!({"file_path": "long"})).await;
    assert!(long.ends_with("  2000\tx\n(500 more lines; continue with offset=2001)"));
}

#[tokio::test]
async fn long_lines_and_long_files_are_truncated() {
    let fixture = ToolFixture::new();
    fixture.file("line", "ä".repeat(3 * MAX_LINE_CHARS) + "\nend");
    let line = fixture.ok("Read", json!({"file_path": "line"})).await;
    let cut = format!("ä … {} characters cut …\n     2\tend\n", 2 * MAX_LINE_CHARS);
    assert!(line.ends_with(&cut), "{}", &line[line.len() - 100..]);
    fixture.file("minified", "🦀".repeat(1_000_000));
    let line = fixture.ok("Read", json!({"file_path": "minified"})).await;
    assert!(line.ends_with("🦀 … 998000 characters cut …\n"));

    fixture.file("file", format!("{}\n", "x".repeat(1_000)).repeat(100));
    let file = fixture.ok("Read", json!({"file_path": "file"})).await;
    assert!(file.len() < MAX_READ_BYTES + 100);
    assert!(file.ends_with("(35 more lines; continue with offset=66)"), "{file}");
}

#[tokio::test]
async fn errors_name_what_cannot_be_read() {
    let fixture = ToolFixture::new();
    fixture.file("binary", b"ELF\0\x01");
    fixture.file("empty", "");
    fixture.file("latin", b"caf\xe9\n");
    let binary = fixture.error("Read", json!({"file_path": "binary"})).await;
    assert_eq!(binary, "binary is a binary file (5 bytes), not text.");
    assert_eq!(fixture.ok("Read", json!({"file_path": "empty"})).await, "empty is empty.");
    assert_eq!(fixture.ok("Read", json!({"file_path": "latin"})).await, "     1\tcaf\u{fffd}\n");
    assert!(fixture.error("Read", json!({"file_path": "."})).await.contains("is a directory"));
    assert!(fixture.error("Read", json!({"file_path": ""})).await.contains("is a directory"));
    assert!(fixture.error("Read", json!({"file_path": "no"})).await.contains("does not exist"));
    assert!(fixture.error("Read", json!({"file_path": "/dev/zero"})).await.contains("not a regular"));
}

/// Opening a pipe normally blocks until its other end is opened.
#[tokio::test]
async fn a_pipe_does_not_block_any_tool() {
    let fixture = ToolFixture::new();
    fixture.file("src/file", "text\n");
    for name in ["pipe", ".gitignore", "src/.ignore"] {
        let made = std::process::Command::new("mkfifo").arg(fixture.path(name)).status().unwrap();
        assert!(made.success());
    }
    for (tool, args) in [
        ("Read", json!({"file_path": "pipe"})),
        ("Write", json!({"file_path": "pipe", "content": ""})),
        ("Edit", json!({"file_path": "pipe", "old_string": "a", "new_string": "b"})),
        ("Grep", json!({"pattern": "text", "path": "pipe"})),
    ] {
        assert!(fixture.error(tool, args).await.contains("not a regular file"), "{tool}");
    }
    assert_eq!(fixture.ok("Grep", json!({"pattern": "text"})).await, "src/file");
    assert_eq!(fixture.ok("Glob", json!({"pattern": "**/*"})).await, "src/file");
}
