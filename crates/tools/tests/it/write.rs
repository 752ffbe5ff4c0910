//! Write.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn files_are_created_with_their_directories_and_overwritten() {
    let bench = Bench::new();
    let said = bench.ok("Write", json!({"file_path": "a/b/c", "content": "1\n2\n"})).await;
    assert_eq!(said, "Created a/b/c (2 lines).");
    let said = bench.ok("Write", json!({"file_path": "a/b/c", "content": "1"})).await;
    assert_eq!(said, "Overwrote a/b/c (1 line).");
    assert_eq!(fs::read_to_string(bench.path("a/b/c")).unwrap(), "1");
    // Nothing temporary is left behind.
    assert_eq!(fs::read_dir(bench.path("a/b")).unwrap().count(), 1);
}

#[tokio::test]
async fn an_existing_mode_is_kept_and_a_new_one_is_usual() {
    let bench = Bench::new();
    let script = bench.file("script", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    bench.ok("Write", json!({"file_path": "script", "content": "new"})).await;
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
    bench.ok("Write", json!({"file_path": "fresh", "content": "new"})).await;
    let usual = bench.file("usual", "");
    assert_eq!(
        fs::metadata(bench.path("fresh")).unwrap().permissions(),
        fs::metadata(usual).unwrap().permissions()
    );
}

#[tokio::test]
async fn links_are_written_through() {
    let bench = Bench::new();
    let real = bench.file("real", "old");
    symlink("real", bench.path("link")).unwrap();
    symlink("sub/new", bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    bench.ok("Write", json!({"file_path": "link", "content": "x"})).await;
    assert_eq!(fs::read_to_string(real).unwrap(), "x");
    assert!(bench.path("link").is_symlink());
    let error = bench.error("Write", json!({"file_path": "dangling", "content": "y"})).await;
    assert!(error.contains("link to something that does not exist"), "{error}");
    assert!(!bench.path("sub").exists() && bench.path("dangling").is_symlink());
    bench.error("Write", json!({"file_path": "loop", "content": "z"})).await;
}

#[tokio::test]
async fn what_is_not_a_file_is_refused() {
    let bench = Bench::new();
    bench.file("file", "");
    let error = bench.error("Write", json!({"file_path": ".", "content": ""})).await;
    assert!(error.contains("is a directory"), "{error}");
    let error = bench.error("Write", json!({"file_path": "/dev/null", "content": ""})).await;
    assert!(error.contains("not a regular file"), "{error}");
    let error = bench.error("Write", json!({"file_path": "file/x", "content": ""})).await;
    assert!(error.contains("file/x"), "{error}");
    let error = bench.error("Write", json!({"file_path": "new/../x", "content": ""})).await;
    assert!(error.contains("does not exist") && !bench.path("new").exists(), "{error}");
}

/// What other names a file has is not ours to know: they keep what they had.
#[tokio::test]
async fn only_the_name_that_is_written_changes() {
    let bench = Bench::new();
    let file = bench.file("file", "old");
    fs::hard_link(&file, bench.path("name")).unwrap();
    fs::hard_link(&file, bench.path("edited")).unwrap();
    bench.ok("Write", json!({"file_path": "name", "content": "new"})).await;
    bench.ok("Edit", json!({"file_path": "edited", "old_string": "old", "new_string": "new"})).await;
    assert_eq!(fs::read_to_string(file).unwrap(), "old");
    assert_eq!(fs::read_to_string(bench.path("name")).unwrap(), "new");
    assert_eq!(fs::read_to_string(bench.path("edited")).unwrap(), "new");
}

#[tokio::test]
async fn what_may_not_be_written_is_not_replaced_either() {
    let bench = Bench::new();
    let file = bench.file("file", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::File::options().write(true).open(&file).is_ok() {
        return; // Modes do not hold the superuser.
    }
    let error = bench.error("Write", json!({"file_path": "file", "content": "new"})).await;
    assert!(error.contains("denied"), "{error}");
    assert_eq!(fs::read_to_string(file).unwrap(), "old");
}

#[tokio::test]
async fn a_file_changed_behind_our_back_is_not_overwritten() {
    let bench = Bench::new();
    let path = bench.file("a", "one\n");
    // What was never seen may be replaced, as with a shell.
    bench.ok("Write", json!({"file_path": "a", "content": "two\n"})).await;
    fs::write(&path, "mine\n").unwrap();
    let error = bench.error("Write", json!({"file_path": "a", "content": "three\n"})).await;
    assert!(error.contains("Read it again before you overwrite it"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    bench.ok("Read", json!({"file_path": "a"})).await;
    bench.ok("Write", json!({"file_path": "a", "content": "three\n"})).await;
    bench.ok("Write", json!({"file_path": "a", "content": "four\n"})).await;
}

#[tokio::test]
async fn line_ends_and_a_byte_order_mark_are_kept() {
    let bench = Bench::new();
    for (before, content, after) in [
        ("a\r\nb\r\n", "1\n2\n", "1\r\n2\r\n"),
        ("\u{feff}a\r\n", "1\n", "\u{feff}1\r\n"),
        ("\u{feff}a\n", "\u{feff}1\n", "\u{feff}1\n"),
        ("a\r\nb\n", "1\n2\n", "1\n2\n"),
        ("a\r\n", "1\r\n2\n", "1\r\n2\n"),
        ("a\n", "1\r\n", "1\r\n"),
        ("", "1\n", "1\n"),
    ] {
        let path = bench.file("a", before);
        bench.ok("Read", json!({"file_path": "a"})).await;
        bench.ok("Write", json!({"file_path": "a", "content": content})).await;
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?} {content:?}");
        // What was written is what is known of the file.
        bench.ok("Write", json!({"file_path": "a", "content": ""})).await;
    }
}
