//! The Edit and MultiEdit tools, beyond the replacement itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use autonoe_tools::{MAX_EDIT_BYTES, ToolErrorCode};
use serde_json::{Value, json};

use crate::support::ToolFixture;

fn args(old: &str, new: &str) -> Value {
    json!({"file_path": "a", "old_string": old, "new_string": new})
}

#[tokio::test]
async fn an_edit_keeps_the_mode_and_the_link() {
    let fixture = ToolFixture::new();
    let real = fixture.file("real", "one\r\ntwo\r\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real", fixture.path("a")).unwrap();
    let text = fixture.ok("Edit", args("one\ntwo", "1\n2\n3")).await;
    assert_eq!(text, "Edited a: replaced 1 time (line 1).");
    assert_eq!(fs::read_to_string(&real).unwrap(), "1\r\n2\r\n3\r\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(fixture.path("a").is_symlink());
}

#[tokio::test]
async fn a_file_changed_by_others_must_be_read_again() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a", "one two\n");
    fixture.ok("Read", json!({"file_path": "a"})).await;
    fs::write(&path, "one 2\n").unwrap();
    let error = fixture.error("Edit", args("one", "1")).await;
    assert!(error.contains("Read it again"), "{error}");
    fixture.ok("Read", json!({"file_path": path})).await;
    fixture.ok("Edit", args("one", "1")).await;
    // Our own change does not count, and neither does a touch.
    fs::File::options().append(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    fixture.ok("Edit", args("2", "two")).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "1 two\n");
}

#[tokio::test]
async fn impossible_edits_are_rejected() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a", "one one\n");
    assert!(fixture.error("Edit", args("", "x")).await.contains("use Write"));
    assert!(fixture.error("Edit", args("one", "one")).await.contains("nothing to do"));
    assert!(fixture.error("Edit", args("one", "x")).await.contains("found 2 times"));
    assert!(fixture.error("Edit", args("three", "x")).await.contains("not found"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one one\n");
    fs::write(&path, b"one\xff").unwrap();
    assert!(fixture.error("Edit", args("one", "x")).await.contains("not UTF-8"));
    fs::File::create(&path).unwrap().set_len(MAX_EDIT_BYTES + 1).unwrap();
    assert!(fixture.error("Edit", args("one", "x")).await.contains("at most"));
    fs::remove_file(&path).unwrap();
    assert!(fixture.error("Edit", args("one", "x")).await.contains("does not exist"));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_edits_are_all_applied() {
    let fixture = ToolFixture::new();
    let words: Vec<_> = (0..20).map(|n| format!("<{n}>")).collect();
    let path = fixture.file("a", words.concat());
    let edits = words.iter().map(|word| {
        let (tool, args) = (fixture.tool("Edit"), args(word, &word.replace('<', "[")));
        tokio::spawn(async move { tool.call(args, &Default::default()).await })
    });
    for edit in edits.collect::<Vec<_>>() {
        let output = edit.await.unwrap();
        assert!(!output.is_error(), "{}", output.output);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), words.concat().replace('<', "["));
}

#[tokio::test]
async fn several_edits_are_made_in_order() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a", "\u{feff}one\r\ntwo\r\ntwo\r\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let edits = json!([
        {"old_string": "one\ntwo", "new_string": "1\nzwei"},
        {"old_string": "zwei", "new_string": "2"},
        {"old_string": "two", "new_string": "3", "replace_all": true},
    ]);
    let text = fixture.ok("MultiEdit", json!({"file_path": "a", "edits": edits})).await;
    assert_eq!(
        text,
        "Edited a with 3 edits:\n1. replaced 1 time (line 1)\n2. replaced 1 time (line 2)\n3. replaced 1 time (line 3)"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}1\r\n2\r\n3\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn several_edits_are_all_made_or_none() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a", "one two\n");
    let edits = json!([{"old_string": "one", "new_string": "1"}, {"old_string": "three", "new_string": "3"}]);
    let error = fixture.error("MultiEdit", json!({"file_path": "a", "edits": edits})).await;
    assert!(error.contains("edit 2 of 2 failed, so none was made"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one two\n");
    for (edits, text) in [
        (json!([]), "`edits` is empty"),
        (json!({"old_string": "one"}), "`edits`"),
        (json!([{"old_string": "one"}]), "missing field `new_string`"),
        (json!([{"old_string": "one", "new_string": 1}]), "`edits[0].new_string`"),
        (json!([{"old_string": "", "new_string": "x"}]), "use Write"),
    ] {
        let error = fixture.fails(
            "MultiEdit",
            json!({"file_path": "a", "edits": edits}),
            ToolErrorCode::ValidationError,
        );
        let error = error.await;
        assert!(error.contains(text), "{error}");
    }
    fixture.ok("Read", json!({"file_path": "a"})).await;
    fs::write(&path, "one 2\n").unwrap();
    let edits = json!([{"old_string": "one", "new_string": "1"}]);
    let error = fixture.error("MultiEdit", json!({"file_path": "a", "edits": edits})).await;
    assert!(error.contains("Read it again"), "{error}");
}
