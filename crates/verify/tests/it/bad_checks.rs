//! Misbehaving checks: each gets a clear verdict, none passes, and none leaves anything behind.

use std::fs;

use autonoe_sandbox::RoomLimits;
use autonoe_test_kit::{has_bubblewrap, processes_with, until};
use autonoe_verify::CheckVerdict;
use serde_json::json;

use super::fixture::{VerifyFixture, check};

const MIB: u64 = 1 << 20;

/// A `sleep` duration that is unique on this machine.
fn mark(which: u32) -> String {
    format!("{which}{:07}", std::process::id())
}

#[tokio::test]
async fn a_hanging_check_is_ended_with_its_children() {
    if !has_bubblewrap() {
        return;
    }
    let (fixture, mark) = (VerifyFixture::without_repository("# Spec\n"), mark(7));
    let command = format!("sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark}");
    let result =
        fixture.run_check(RoomLimits::default(), check(&command, json!({ "timeLimit": "1s" }))).await;
    assert!(matches!(result.verdict, CheckVerdict::TimedOut { .. }), "{result:?}");
    assert_eq!(result.sentence(), "it was killed after its time limit of 1s");
    until("all are gone", || processes_with(&[&mark]).is_empty());
}

#[tokio::test]
async fn a_checks_leftovers_are_gone_before_the_next_check() {
    if !has_bubblewrap() {
        return;
    }
    let (fixture, mark) = (VerifyFixture::without_repository("# Spec\n"), mark(8));
    let looks = "grep -lzx '[s]leep' /proc/[0-9]*/cmdline";
    let leaves = format!("setsid nohup sleep {mark} > /dev/null 2>&1 & until {looks}; do :; done");
    let checks = [check(&leaves, json!({})), check(looks, json!({}))];
    let reproduction = fixture.run_checks(fixture.project.root(), RoomLimits::default(), &checks).await;
    let runs: Vec<_> = reproduction.runs.iter().map(|(_, now)| now).collect();
    assert!(runs[0].passed(), "{:?}", runs[0]);
    assert!(!runs[1].passed(), "it must not find the other check's process: {:?}", runs[1]);
    until("it is gone", || processes_with(&[&mark]).is_empty());
}

#[tokio::test]
async fn a_fork_bomb_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let (fixture, mark) = (VerifyFixture::without_repository("# Spec\n"), mark(9));
    // Bounded in case the limit does not work.
    let command = format!("for i in $(seq 1000); do sleep {mark} & done; wait");
    let limits = RoomLimits { processes: 60, ..RoomLimits::default() };
    let result = fixture.run_check(limits, check(&command, json!({ "timeLimit": "60s" }))).await;
    assert!(result.sentence().contains("more than 60 processes"), "{result:?}");
    assert!(!result.passed());
    until("all are gone", || processes_with(&[&mark]).is_empty());
}

#[tokio::test]
async fn a_check_that_fills_the_disk_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let fixture = VerifyFixture::without_repository("# Spec\n");
    let disk = rustix::fs::statvfs(fixture.home()).expect("a disk");
    // As if the disk had only 64 MiB to spare.
    let disk_reserve = disk.f_bavail * disk.f_frsize - 64 * MIB;
    let command = "for i in $(seq 400); do head -c 4194304 /dev/zero > $i || exit 1; sleep 0.02; done";
    let result = fixture
        .run_check(RoomLimits { disk_reserve, ..RoomLimits::default() }, check(command, json!({})))
        .await;
    assert!(result.sentence().contains("left on the project's disk"), "{result:?}");
    let left = fs::read_dir(fixture.scratch()).expect("scratch").filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("checkout-"));
    assert_eq!(left.count(), 0, "its files are gone");

    let limits = RoomLimits { file_size: MIB, ..RoomLimits::default() };
    let result = fixture.run_check(limits, check("head -c 3000000 /dev/zero > large", json!({}))).await;
    assert!(matches!(result.verdict, CheckVerdict::WrongExit { .. }), "{result:?}");
}

#[tokio::test]
async fn endless_output_is_ended_and_truncated() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    let result = fixture.run_check(RoomLimits::default(), check("yes | head -c 1000000000", json!({}))).await;
    assert_eq!(result.verdict, CheckVerdict::TooMuchOutput, "{}", result.sentence());
    assert!(result.output.len() < 1_000_000, "{} bytes are kept", result.output.len());
    assert!(result.output_bytes < 100_000_000, "{} bytes were read", result.output_bytes);
    assert!(result.output.contains("bytes left out"));
}

#[tokio::test]
async fn a_missing_command_is_reported() {
    let fixture = VerifyFixture::without_repository("# Spec\n");
    let result = fixture.run_check(RoomLimits::default(), check("no-such-program --all", json!({}))).await;
    assert_eq!(result.sentence(), "its command was not found (expected exit 0, got 127)");
    let result = fixture.run_check(RoomLimits::default(), check("sh missing.sh", json!({ "exit": 0 }))).await;
    assert!(!result.passed() && result.output.contains("missing.sh"), "{result:?}");
}
