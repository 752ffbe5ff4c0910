use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{MAX_SAVED_BYTES, MAX_SAVED_FILES, OutputCapture, Outputs};
use crate::output::ToolOutput;

fn temporary_outputs() -> (tempfile::TempDir, Outputs) {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path().join("deep/outputs"));
    (dir, outputs)
}

#[tokio::test]
async fn a_short_output_is_not_saved() {
    let (_dir, outputs) = temporary_outputs();
    let output = outputs.capped(ToolOutput::ok("ä".repeat(10)), 10).await;
    assert_eq!(output, ToolOutput::ok("ä".repeat(10)));
    assert!(!outputs.directory().exists());
}

#[tokio::test]
async fn a_long_output_is_truncated_and_saved_privately() {
    let (_dir, outputs) = temporary_outputs();
    let text: String = (1..=1000).map(|line| format!("line {line}\n")).collect();
    let output = outputs.capped(ToolOutput::ok(&text), 100).await;
    let path = output.metadata["saved_at"].as_str().unwrap();
    assert!(output.output.starts_with("line 1\n") && output.output.ends_with("line 1000\n"));
    assert!(output.output.contains(&format!("more lines, saved at {path}: continue with Read and offset=8")));
    assert!(output.output.chars().count() < 300, "{}", output.output);
    assert_eq!(output.metadata["truncated"], true);
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(outputs.directory()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn chunks_of_any_size_are_saved_in_order() {
    for size in [1, 7, 64, 1000] {
        let (_dir, outputs) = temporary_outputs();
        let text: String = (0..300).map(|n| format!("{n} äöü\n")).collect();
        let mut capture = OutputCapture::new(&outputs, "test", 40);
        for bytes in text.as_bytes().chunks(size) {
            capture.push(bytes).await;
        }
        let captured = capture.finish().await;
        assert_eq!(fs::read_to_string(captured.saved.unwrap()).unwrap(), text, "{size}");
    }
}

#[tokio::test]
async fn the_oldest_file_is_deleted_and_the_size_of_a_file_is_limited() {
    let (_dir, outputs) = temporary_outputs();
    fs::create_dir_all(outputs.directory()).unwrap();
    for number in 0..MAX_SAVED_FILES + 5 {
        let path = outputs.directory().join(format!("old-{number:04}.txt"));
        let file = fs::File::create(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(number as u64)).unwrap();
    }
    let mut saved = outputs.create("test").await.unwrap();
    let names = || outputs.directory().read_dir().unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(names().count(), MAX_SAVED_FILES);
    assert!(names().all(|name| name != "old-0005.txt") && names().any(|name| name == "old-0006.txt"));
    let mebibyte = vec![b'x'; 1024 * 1024];
    for _ in 0..60 {
        saved.write(&mebibyte).await.unwrap();
    }
    saved.flush().await.unwrap();
    assert!(saved.is_full());
    assert_eq!(fs::metadata(&saved.path).unwrap().len(), MAX_SAVED_BYTES);
}

#[tokio::test]
async fn an_output_that_cannot_be_saved_is_truncated_with_a_note() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let outputs = Outputs::new(dir.path().join("file/outputs"));
    let output = outputs.capped(ToolOutput::ok("x".repeat(1000)), 100).await;
    assert!(output.output.contains("900 more characters, which could not be saved: "), "{}", output.output);
    assert!(!output.metadata.contains_key("saved_at"));
}
