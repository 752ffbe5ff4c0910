use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use jiff::Timestamp;

use super::{HarnessDirectory, HarnessStop, LogLevel, LoopStatus, MAX_INSTRUCTION, Priority, StatusFile};

fn now() -> Timestamp {
    "2026-01-02T03:04:05.678901Z".parse().expect("a time")
}

fn harness(project: &Path) -> HarnessDirectory {
    HarnessDirectory::create(project, "main").expect("a harness")
}

#[test]
fn names_say_how_urgent_an_instruction_is() {
    for (name, number) in [
        ("000-x.txt", 0),
        ("001-x.txt", 1),
        ("004-x.txt", 1),
        ("005-x.txt", 5),
        ("20260102_030405_678901.txt", 5),
        ("900-x.txt", 9),
        ("999.txt", 9),
        ("zzz-later.txt", 9),
        ("low.txt", 9),
        ("this-is-urgent.txt", 0),
        ("High_1.txt", 1),
        ("fix.txt", 5),
        ("é.txt", 5),
    ] {
        assert_eq!(Priority::of_name(name).number(), number, "{name}");
    }
}

#[test]
fn instructions_come_by_priority_and_order_and_then_go_to_processed() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    let second = harness.send("later", Priority::Low, now()).expect("sent");
    let first = harness.send("one", Priority::Normal, now()).expect("sent");
    harness.send("two", Priority::Normal, now()).expect("sent");
    harness.send("first of all", Priority::Urgent, now()).expect("sent");
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("20260102_030405_678901.txt", "900-20260102_030405_678901.txt")
    );
    let inbox = harness.path().join("inbox");
    fs::write(inbox.join("empty.txt"), "").expect("written");
    fs::write(inbox.join("notes.md"), "not an instruction").expect("written");
    let requests = harness.requests().expect("requests");
    let prompts: Vec<String> = requests.instructions.iter().map(|instruction| instruction.prompt()).collect();
    assert_eq!(prompts, ["[URGENT] first of all", "one", "two", "later"]);
    assert_eq!(harness.requests().expect("requests"), requests, "they stay until they are settled");
    for instruction in &requests.instructions {
        harness.settle(&instruction.name, now()).expect("settled");
        harness.settle(&instruction.name, now()).expect("settled again after a crash");
    }
    assert!(harness.requests().expect("requests").instructions.is_empty());
    let processed = inbox.join("processed/20260102_030405_20260102_030405_678901.txt");
    assert_eq!(fs::read_to_string(processed).expect("text"), "one");
    harness.send(" \n", Priority::Normal, now()).expect_err("empty");
    harness.send(&"x".repeat(MAX_INSTRUCTION as usize + 1), Priority::Normal, now()).expect_err("long");
}

#[test]
fn large_files_links_and_pipes_are_refused_with_a_sentence_and_kept() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    harness.send("good", Priority::Normal, now()).expect("sent");
    let inbox = harness.path().join("inbox");
    fs::write(inbox.join("large.txt"), "x".repeat(10 * 1024 * 1024)).expect("written");
    fs::write(inbox.join("binary.txt"), [b'a', 0xff]).expect("written");
    symlink("/etc/passwd", inbox.join("link.txt")).expect("link");
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, inbox.join("pipe.txt"), fifo, mode, 0).expect("a pipe");
    let foreign = <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"zz\xff.txt");
    fs::write(inbox.join(foreign), "text").expect("written");
    fs::write(inbox.join(format!("{}.txt", "z".repeat(240))), "text").expect("written");
    let requests = harness.requests().expect("requests");
    assert_eq!(requests.instructions.len(), 1);
    for (sentence, words) in requests.refused.iter().zip([
        "inbox/binary.txt is not used: it is not UTF-8 text",
        "inbox/large.txt is not used: it is larger than 64 KiB, the limit for such a file. It was moved",
        "inbox/link.txt is not used: it is a symbolic link, not a regular file",
        "inbox/pipe.txt is not used: it is a named pipe, not a regular file",
        "zzz.txt is not used: its name has more than 200 bytes",
        ".txt is not used: its name is not UTF-8",
    ]) {
        assert!(sentence.contains(words), "{sentence}");
    }
    assert!(harness.requests().expect("requests").refused.is_empty(), "each is said once");
    assert_eq!(fs::read_dir(inbox.join("refused")).expect("entries").count(), 6, "nothing is lost");
}

#[test]
fn without_a_place_for_read_instructions_none_is_read_and_a_stop_counts() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    harness.send("good", Priority::Normal, now()).expect("sent");
    symlink("/tmp", harness.path().join("inbox/processed")).expect("link");
    fs::write(harness.path().join("stop"), "stop").expect("written");
    let requests = harness.requests().expect("requests");
    assert_eq!((requests.instructions.len(), requests.stop), (0, Some(HarnessStop::AfterSession)));
    assert!(requests.refused[0].contains("inbox/processed"), "{:?}", requests.refused);
    fs::remove_file(harness.path().join("inbox/processed")).expect("removed");
    assert_eq!(harness.requests().expect("requests").instructions.len(), 1, "nothing is lost");
}

#[test]
fn a_stop_is_consumed_and_one_from_before_the_start_is_ignored() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    harness.request_stop(HarnessStop::Now).expect("stop");
    let said = harness.begin().expect("begun");
    assert!(
        said.len() == 1
            && said[0].ends_with(".harness/main/stop was there before the start; it was removed.")
    );
    assert_eq!(harness.requests().expect("requests").stop, None);
    for (content, expected) in [
        ("stop", HarnessStop::AfterSession),
        ("", HarnessStop::AfterSession),
        ("please", HarnessStop::AfterSession),
        (" Abort\n", HarnessStop::Now),
    ] {
        fs::write(harness.path().join("stop"), content).expect("written");
        assert_eq!(harness.requests().expect("requests").stop, Some(expected), "{content}");
        assert_eq!(harness.requests().expect("requests").stop, None, "it is consumed");
    }
    symlink("/nowhere", harness.path().join("stop")).expect("link");
    assert_eq!(harness.requests().expect("requests").stop, Some(HarnessStop::AfterSession));
}

#[test]
fn a_pause_lasts_until_its_file_is_removed() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    let ignored = fs::read_to_string(project.path().join(".harness/.gitignore")).expect("text");
    assert_eq!(ignored, "*\n", "no repository takes these files for its own");
    harness.request_pause().expect("paused");
    assert!(
        harness.begin().expect("begun")[0]
            .contains("/pause exists, so the harness is paused; `autonoe resume`")
    );
    assert!(harness.requests().expect("requests").is_paused);
    fs::remove_file(harness.path().join("pause")).expect("removed");
    assert!(!harness.requests().expect("requests").is_paused);
}

#[test]
fn command_files_pause_resume_and_ask_for_the_status() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    harness.requests().expect("the inbox is made");
    let send = |text: &str| fs::write(harness.path().join("inbox/cmd-1.txt"), text).expect("written");
    send("pause\n");
    assert!(harness.requests().expect("requests").is_paused);
    send("resume");
    assert!(!harness.requests().expect("requests").is_paused);
    send("Status");
    let requests = harness.requests().expect("requests");
    assert!(requests.wants_status && requests.instructions.is_empty());
    send("dance");
    assert_eq!(harness.requests().expect("requests").instructions.len(), 1, "not a command, so a text");
}

#[test]
fn no_link_leads_out_of_the_project() {
    let project = tempfile::tempdir().expect("directory");
    let outside = tempfile::tempdir().expect("directory");
    symlink(outside.path(), project.path().join(".harness")).expect("link");
    let error = HarnessDirectory::create(project.path(), "main").expect_err("a link").to_string();
    assert!(error.contains("is a symbolic link"), "{error}");
    fs::remove_file(project.path().join(".harness")).expect("removed");
    let harness = harness(project.path());
    symlink(outside.path().join("file"), harness.path().join("harness.log")).expect("link");
    harness.log(LogLevel::Info, 1, "x", now()).expect_err("a link");
    symlink(outside.path(), harness.path().join("inbox")).expect("link");
    harness.send("x", Priority::Normal, now()).expect_err("a link");
    assert_eq!(fs::read_dir(outside.path()).expect("entries").count(), 0);
    for id in ["", "..", "a/b", ".hidden", "shared", "ä", &"x".repeat(65)] {
        HarnessDirectory::create(project.path(), id).expect_err(id);
    }
    let error = HarnessDirectory::open(project.path(), "other").expect_err("none").to_string();
    assert!(error.starts_with("There is no harness 'other' in "), "{error}");
}

#[test]
fn the_log_has_a_line_for_each_message() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    assert!(harness.read_log(100).expect("no log yet").is_empty());
    harness.log(LogLevel::of_progress(0.31), 7, "done\nwell", now()).expect("logged");
    // A process that was killed while it wrote.
    let path = harness.path().join("harness.log");
    fs::write(&path, format!("{}[2026", fs::read_to_string(&path).expect("text"))).expect("written");
    harness.log(LogLevel::of_progress(0.1), 8, "again", now()).expect("logged");
    let expected = [
        "[2026-01-02T03:04:05Z] [SUCCESS] [iter=7] done well",
        "[2026",
        "[2026-01-02T03:04:05Z] [WARNING] [iter=8] again",
    ];
    assert_eq!(harness.read_log(100).expect("lines"), expected);
    assert_eq!(harness.read_log(1).expect("lines"), expected[2..]);
    assert_eq!(LogLevel::of_progress(0.2), LogLevel::Info);
}

#[test]
fn the_status_file_is_short_and_can_be_read_back() {
    let project = tempfile::tempdir().expect("directory");
    let harness = harness(project.path());
    assert_eq!(harness.read_status().expect("none yet"), None);
    let status = StatusFile {
        task_description: Some("ä".repeat(200)),
        status: LoopStatus::Complete,
        recent_markers: (0..9).map(|number| number.to_string()).collect(),
        ..StatusFile::default()
    };
    harness.write_status(&status).expect("written");
    let text = fs::read_to_string(harness.path().join("status.json")).expect("text");
    assert!(text.contains("\"status\": \"COMPLETE\""), "{text}");
    let read = harness.read_status().expect("read").expect("a status");
    assert_eq!(read.task_description.map(|text| text.chars().count()), Some(100));
    assert_eq!(read.recent_markers, ["4", "5", "6", "7", "8"]);
    fs::write(harness.path().join("status.json"), "{").expect("written");
    let error = harness.read_status().expect_err("broken").to_string();
    assert!(error.contains("it is not a status"), "{error}");
}
