//! The Write tool.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::support::ToolFixture;

#[tokio::test]
async fn files_are_created_with_their_directories_and_overwritten() {
    let fixture = ToolFixture::new();
    let text = fixture.ok("Write", json!({"file_path": "a/b/c", "content": "1\n2\n"})).await;
    assert_eq!(text, "Created a/b/c (2 lines).");
    let text = fixture.ok("Write", json!({"file_path": "a/b/c", "content": "1"})).await;
    assert_eq!(text, "Overwrote a/b/c (1 line).");
    assert_eq!(fs::read_to_string(fixture.path("a/b/c")).unwrap(), "1");
    // Nothing temporary is left behind.
    assert_eq!(fs::read_dir(fixture.path("a/b")).unwrap().count(), 1);
}

#[tokio::test]
async fn an_existing_mode_is_kept_and_a_new_file_has_the_default_mode() {
    let fixture = ToolFixture::new();
    let script = fixture.file("script", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    fixture.ok("Write", json!({"file_path": "script", "content": "new"})).await;
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
    fixture.ok("Write", json!({"file_path": "new", "content": "new"})).await;
    let default = fixture.file("default", "");
    assert_eq!(
        fs::metadata(fixture.path("new")).unwrap().permissions(),
        fs::metadata(default).unwrap().permissions()
    );
}

#[tokio::test]
async fn a_write_to_a_link_changes_its_target() {
    let fixture = ToolFixture::new();
    let real = fixture.file("real", "old");
    symlink("real", fixture.path("link")).unwrap();
    symlink("sub/new", fixture.path("dangling")).unwrap();
    symlink("loop", fixture.path("loop")).unwrap();
    fixture.ok("Write", json!({"file_path": "link", "content": "x"})).await;
    assert_eq!(fs::read_to_string(real).unwrap(), "x");
    assert!(fixture.path("link").is_symlink());
    let error = fixture.error("Write", json!({"file_path": "dangling", "content": "y"})).await;
    assert!(error.contains("link to something that does not exist"), "{error}");
    assert!(!fixture.path("sub").exists() && fixture.path("dangling").is_symlink());
    fixture.error("Write", json!({"file_path": "loop", "content": "z"})).await;
}

#[tokio::test]
async fn only_regular_files_can_be_written() {
    let fixture = ToolFixture::new();
    fixture.file("file", "");
    let error = fixture.error("Write", json!({"file_path": ".", "content": ""})).await;
    assert!(error.contains("is a directory"), "{error}");
    let error = fixture.error("Write", json!({"file_path": "/dev/null", "content": ""})).await;
    assert!(error.contains("not a regular file"), "{error}");
    let error = fixture.error("Write", json!({"file_path": "file/x", "content": ""})).await;
    assert!(error.contains("file/x"), "{error}");
    let error = fixture.error("Write", json!({"file_path": "new/../x", "content": ""})).await;
    assert!(error.contains("does not exist") && !fixture.path("new").exists(), "{error}");
}

/// Other hard links of a file keep their content.
#[tokio::test]
async fn only_the_written_name_of_a_hard_linked_file_changes() {
    let fixture = ToolFixture::new();
    let file = fixture.file("file", "old");
    fs::hard_link(&file, fixture.path("name")).unwrap();
    fs::hard_link(&file, fixture.path("edited")).unwrap();
    fixture.ok("Write", json!({"file_path": "name", "content": "new"})).await;
    fixture.ok("Edit", json!({"file_path": "edited", "old_string": "old", "new_string": "new"})).await;
    assert_eq!(fs::read_to_string(file).unwrap(), "old");
    assert_eq!(fs::read_to_string(fixture.path("name")).unwrap(), "new");
    assert_eq!(fs::read_to_string(fixture.path("edited")).unwrap(), "new");
}

#[tokio::test]
async fn a_read_only_file_is_not_replaced() {
    let fixture = ToolFixture::new();
    let file = fixture.file("file", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::File::options().write(true).open(&file).is_ok() {
        return; // The superuser ignores file modes.
    }
    let error = fixture.error("Write", json!({"file_path": "file", "content": "new"})).await;
    assert!(error.contains("denied"), "{error}");
    assert_eq!(fs::read_to_string(file).unwrap(), "old");
}

#[tokio::test]
async fn a_file_changed_by_others_is_not_overwritten() {
    let fixture = ToolFixture::new();
    let path = fixture.file("a", "one\n");
    // A file that was never read may be replaced, as with a shell.
    fixture.ok("Write", json!({"file_path": "a", "content": "two\n"})).await;
    fs::write(&path, "mine\n").unwrap();
    let error = fixture.error("Write", json!({"file_path": "a", "content": "three\n"})).await;
    assert!(error.contains("Read it again before you overwrite it"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    fixture.ok("Read", json!({"file_path": "a"})).await;
    fixture.ok("Write", json!({"file_path": "a", "content": "three\n"})).await;
    fixture.ok("Write", json!({"file_path": "a", "content": "four\n"})).await;
}

#[tokio::test]
async fn line_endings_and_a_byte_order_mark_are_kept() {
    let fixture = ToolFixture::new();
    for (before, content, after) in [
        ("a\r\nb\r\n", "1\n2\n", "1\r\n2\r\n"),
        ("\u{feff}a\r\n", "1\n", "\u{feff}1\r\n"),
        ("\u{feff}a\n", "\u{feff}1\n", "\u{feff}1\n"),
        ("a\r\nb\n", "1\n2\n", "1\n2\n"),
        ("a\r\n", "1\r\n2\n", "1\r\n2\n"),
        ("a\n", "1\r\n", "1\r\n"),
        ("", "1\n", "1\n"),
    ] {
        let path = fixture.file("a", before);
        fixture.ok("Read", json!({"file_path": "a"})).await;
        fixture.ok("Write", json!({"file_path": "a", "content": content})).await;
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?} {content:?}");
        // The written content is recorded as known.
        fixture.ok("Write", json!({"file_path": "a", "content": ""})).await;
    }
}
