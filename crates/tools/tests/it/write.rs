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
