//! Processes, memory and disk have an end.

use std::fs;

use autonoe_sandbox::{Bounds, Layer};

use crate::support::{House, running_with};

const MIB: u64 = 1 << 20;

async fn house(change: impl FnOnce(&mut Bounds)) -> Option<House> {
    House::held_by(Layer::Bubblewrap, change).await
}

#[tokio::test]
async fn a_fork_bomb_is_ended_and_the_room_lives_on() {
    let Some(house) = house(|bounds| bounds.limits.processes = 60).await else { return };
    // It starts ever more, and each of them waits: bounded here, should nobody else bound it.
    let mark = format!("6{:06}", std::process::id());
    let bomb = format!("for i in $(seq 3000); do sleep {mark} & done; wait");
    let mut child = house.script(&bomb).leaving_background().spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was ended");
    assert!(error.to_string().contains("more than 60 processes"), "{error}");
    crate::support::until("all are gone", || running_with(&format!("sleep\0{mark}")) == 0);
    house.done("true").await;
}

#[tokio::test]
async fn a_file_has_a_largest_size() {
    let Some(house) = house(|bounds| bounds.limits.file_size = MIB).await else { return };
    house.done("head -c 1000000 /dev/zero > small").await;
    house.refused("head -c 3000000 /dev/zero > large").await;
    assert_eq!(fs::metadata(house.project().join("large")).unwrap().len(), MIB);
}

#[tokio::test]
async fn temporary_files_have_a_largest_size_together() {
    let Some(house) = house(|bounds| bounds.limits.temp_size = 4 * MIB).await else { return };
    house.refused("for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > /tmp/$i || exit 1; done").await;
}

#[tokio::test]
async fn a_disk_is_not_filled() {
    let free = |bounds: &Bounds| {
        let disk = rustix::fs::statvfs(&bounds.root).unwrap();
        disk.f_bavail * disk.f_frsize
    };
    // As though the disk had 64 MiB to spare.
    let Some(house) = house(|bounds| bounds.limits.disk_reserve = free(bounds) - 64 * MIB).await else {
        return;
    };
    let fill = "for i in $(seq 400); do head -c 4194304 /dev/zero > $i || exit 1; sleep 0.02; done";
    let mut child = house.script(fill).spawn().unwrap();
    let ended =
        tokio::time::timeout(std::time::Duration::from_secs(60), child.wait()).await.expect("it ends");
    let error = ended.expect_err("it was ended");
    assert!(error.to_string().contains("left on the project's disk"), "{error}");
}

#[tokio::test]
async fn a_process_has_a_largest_memory() {
    let Some(house) = house(|bounds| bounds.limits.memory = 64 * MIB).await else { return };
    if house.run("command -v python3").await.0 != 0 {
        return;
    }
    house.done("python3 -c 'x = bytearray(8 << 20)'").await;
    house.refused("python3 -c 'x = bytearray(200 << 20)'").await;
}
