//! Read.

use autonoe_tools::{MAX_LINE_CHARS, MAX_READ_BYTES};
use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn lines_are_numbered() {
    let bench = Bench::new();
    let path = bench.file("a.txt", "one\r\n\ntwo");
    let expected = "     1\tone\n     2\t\n     3\ttwo\n";
    assert_eq!(bench.ok("Read", json!({"file_path": "a.txt"})).await, expected);
    assert_eq!(bench.ok("Read", json!({"file_path": path})).await, expected);
}

#[tokio::test]
async fn a_part_says_how_to_read_on() {
    let bench = Bench::new();
    bench.file("a", "1\n2\n3\n4\n5\n");
    let part = bench.ok("Read", json!({"file_path": "a", "offset": 2, "limit": 2})).await;
    assert_eq!(part, "     2\t2\n     3\t3\n(2 more lines; read on with offset=4)");
    let rest = bench.ok("Read", json!({"file_path": "a", "offset": 4})).await;
    assert_eq!(rest, "     4\t4\n     5\t5\n");
    let error = bench.error("Read", json!({"file_path": "a", "offset": 6})).await;
    assert_eq!(error, "a has 5 lines; `offset` 6 is past its end.");
    bench.file("long", "x\n".repeat(2_500));
    let long = bench.ok("Read", json!({"file_path": "long"})).await;
    assert!(long.ends_with("  2000\tx\n(500 more lines; read on with offset=2001)"));
}

#[tokio::test]
async fn long_lines_and_long_files_are_cut() {
    let bench = Bench::new();
    bench.file("line", "ä".repeat(3 * MAX_LINE_CHARS) + "\nend");
    let line = bench.ok("Read", json!({"file_path": "line"})).await;
    let cut = format!("ä … {} characters cut …\n     2\tend\n", 2 * MAX_LINE_CHARS);
    assert!(line.ends_with(&cut), "{}", &line[line.len() - 100..]);
    bench.file("minified", "🦀".repeat(1_000_000));
    let line = bench.ok("Read", json!({"file_path": "minified"})).await;
    assert!(line.ends_with("🦀 … 998000 characters cut …\n"));

    bench.file("file", format!("{}\n", "x".repeat(1_000)).repeat(100));
    let file = bench.ok("Read", json!({"file_path": "file"})).await;
    assert!(file.len() < MAX_READ_BYTES + 100);
    assert!(file.ends_with("(35 more lines; read on with offset=66)"), "{file}");
}

#[tokio::test]
async fn what_is_not_text_is_said() {
    let bench = Bench::new();
    bench.file("binary", b"ELF\0\x01");
    bench.file("empty", "");
    bench.file("latin", b"caf\xe9\n");
    let binary = bench.error("Read", json!({"file_path": "binary"})).await;
    assert_eq!(binary, "binary is a binary file (5 bytes), not text.");
    assert_eq!(bench.ok("Read", json!({"file_path": "empty"})).await, "empty is empty.");
    assert_eq!(bench.ok("Read", json!({"file_path": "latin"})).await, "     1\tcaf\u{fffd}\n");
    assert!(bench.error("Read", json!({"file_path": "."})).await.contains("is a directory"));
    assert!(bench.error("Read", json!({"file_path": ""})).await.contains("is a directory"));
    assert!(bench.error("Read", json!({"file_path": "no"})).await.contains("does not exist"));
    assert!(bench.error("Read", json!({"file_path": "/dev/zero"})).await.contains("not a regular"));
}

/// Opening a pipe waits for its other end, which may never come.
#[tokio::test]
async fn a_pipe_makes_nobody_wait() {
    let bench = Bench::new();
    bench.file("src/file", "text\n");
    for name in ["pipe", ".gitignore", "src/.ignore"] {
        let made = std::process::Command::new("mkfifo").arg(bench.path(name)).status().unwrap();
        assert!(made.success());
    }
    for (tool, args) in [
        ("Read", json!({"file_path": "pipe"})),
        ("Write", json!({"file_path": "pipe", "content": ""})),
        ("Edit", json!({"file_path": "pipe", "old_string": "a", "new_string": "b"})),
        ("Grep", json!({"pattern": "text", "path": "pipe"})),
    ] {
        assert!(bench.error(tool, args).await.contains("not a regular file"), "{tool}");
    }
    assert_eq!(bench.ok("Grep", json!({"pattern": "text"})).await, "src/file");
    assert_eq!(bench.ok("Glob", json!({"pattern": "**/*"})).await, "src/file");
}
