//! Limits on processes, memory and disk.

use std::fs;

use autonoe_sandbox::{Bounds, SandboxLayer};

use autonoe_test_kit::{processes_with, until};

use crate::support::TestRoom;

const MIB: u64 = 1 << 20;

async fn test_room(change: impl FnOnce(&mut Bounds)) -> Option<TestRoom> {
    TestRoom::with_layer(SandboxLayer::Bubblewrap, change).await
}

#[tokio::test]
async fn a_fork_bomb_is_killed_and_the_room_survives() {
    let Some(test_room) = test_room(|bounds| bounds.limits.processes = 60).await else { return };
    // The number is bounded in case the limit does not work.
    let mark = format!("6{:06}", std::process::id());
    let bomb = format!("for i in $(seq 3000); do sleep {mark} & done; wait");
    let mut child = test_room.script(&bomb).leaving_background().spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was killed");
    assert!(error.to_string().contains("more than 60 processes"), "{error}");
    until("all are gone", || processes_with(&[&format!("sleep\0{mark}")]).is_empty());
    test_room.succeeds("true").await;
}

#[tokio::test]
async fn the_size_of_a_file_is_limited() {
    let Some(test_room) = test_room(|bounds| bounds.limits.file_size = MIB).await else { return };
    test_room.succeeds("head -c 1000000 /dev/zero > small").await;
    test_room.fails("head -c 3000000 /dev/zero > large").await;
    assert_eq!(fs::metadata(test_room.project().join("large")).unwrap().len(), MIB);
}

#[tokio::test]
async fn the_total_size_of_temporary_files_is_limited() {
    let Some(test_room) = test_room(|bounds| bounds.limits.temp_size = 4 * MIB).await else { return };
    test_room.fails("for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > /tmp/$i || exit 1; done").await;
}

#[tokio::test]
async fn programs_that_fill_the_disk_are_killed() {
    let free = |bounds: &Bounds| {
        let disk = rustix::fs::statvfs(&bounds.root).unwrap();
        disk.f_bavail * disk.f_frsize
    };
    // As if the disk had 64 MiB to spare.
    let Some(test_room) = test_room(|bounds| bounds.limits.disk_reserve = free(bounds) - 64 * MIB).await
    else {
        return;
    };
    let fill = "for i in $(seq 400); do head -c 4194304 /dev/zero > $i || exit 1; sleep 0.02; done";
    let mut child = test_room.script(fill).spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was killed");
    assert!(error.to_string().contains("left on the project's disk"), "{error}");
}

#[tokio::test]
async fn the_memory_of_a_process_is_limited() {
    let Some(test_room) = test_room(|bounds| bounds.limits.memory = 64 * MIB).await else { return };
    if test_room.run("command -v python3").await.0 != 0 {
        return;
    }
    test_room.succeeds("python3 -c 'x = bytearray(8 << 20)'").await;
    test_room.fails("python3 -c 'x = bytearray(200 << 20)'").await;
}
