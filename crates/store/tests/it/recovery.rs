//! What a killed process had begun to do to `status.json`, and what the next one makes of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ProjectStatus;
use autonoe_store::{StatusStore, sha256_hex};

use crate::support::{Bench, create, set};

/// A project with deliverable A pending, and the text that the change to `passed` leads to.
async fn about_to_pass() -> (Bench, String, String) {
    let bench = Bench::new();
    let store = bench.store().await;
    create(&store, &["A"]).await.unwrap();
    let before = bench.status_text();
    let after = before.replace("\"passed\": false", "\"passed\": true");
    assert_ne!(before, after);
    (bench, before, after)
}

async fn intend(bench: &Bench, before: &str, after: &str) {
    let (journal, _) = bench.begin("run").await;
    let hash = if before.is_empty() { String::new() } else { sha256_hex(before.as_bytes()) };
    journal.intend_status(&hash, after, &[]).await.unwrap();
}

#[tokio::test]
async fn an_intended_change_that_did_not_happen_happens_at_the_next_open() {
    let (bench, before, after) = about_to_pass().await;
    intend(&bench, &before, &after).await;
    assert_eq!(bench.status_text(), before);

    let store = bench.store().await;
    assert_eq!(bench.status_text(), after);
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].status, Passed);
    assert_eq!(bench.count("status_writes WHERE applied = 0"), 0);
}

#[tokio::test]
async fn the_very_first_write_is_finished_too() {
    let (other, text, _) = about_to_pass().await;
    drop(other);
    let bench = Bench::new();
    intend(&bench, "", &text).await;
    assert!(!bench.project.autonoe_dir().exists());
    bench.store().await;
    assert_eq!(bench.status_text(), text);
}

#[tokio::test]
async fn a_change_that_happened_is_only_marked() {
    let (bench, before, after) = about_to_pass().await;
    intend(&bench, &before, &after).await;
    bench.write_status(&after);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let path = bench.project.status_file();
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();

    bench.store().await;
    assert_eq!(bench.status_text(), after);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), long_ago);
    assert_eq!(bench.count("status_writes WHERE applied = 0"), 0);
}

#[tokio::test]
async fn what_the_user_did_in_between_is_left_alone() {
    let (bench, before, after) = about_to_pass().await;
    for edited in [before.replace("What A is", "Mine"), "not even JSON".to_owned()] {
        bench.write_status(&before);
        intend(&bench, &before, &after).await;
        bench.write_status(&edited);
        bench.store().await;
        assert_eq!(bench.status_text(), edited);
        assert_eq!(bench.count("status_writes WHERE applied = 0"), 0, "and it is not tried again");
    }
    bench.write_status(&before);
    intend(&bench, &before, &after).await;
    fs::remove_file(bench.project.status_file()).unwrap();
    bench.store().await;
    assert!(!bench.project.status_file().exists(), "deleted by the user");
}

#[tokio::test]
async fn only_the_newest_intention_counts() {
    let (bench, before, after) = about_to_pass().await;
    intend(&bench, &before, &before.replace("What A is", "Older")).await;
    intend(&bench, &before, &after).await;
    bench.store().await;
    assert_eq!(bench.status_text(), after);
    bench.store().await;
    assert_eq!(bench.status_text(), after);
    assert_eq!(bench.count("status_writes WHERE applied = 0"), 0);
}

/// A dangling link cannot be written into, not even by root; it stands for a full or failing disk.
#[tokio::test]
async fn a_write_that_fails_is_a_fault_and_is_finished_when_the_disk_is_mended() {
    let bench = Bench::new();
    let store = bench.store().await;
    symlink(bench.dir.path().join("nowhere"), bench.project.autonoe_dir()).unwrap();
    let fault = store
        .change(Box::new(|status: &mut ProjectStatus, _| {
            Ok(((), status.create(vec![crate::support::deliverable("A")])?))
        }))
        .await
        .expect_err("the directory cannot be made");
    assert_eq!(fault.code, "status_file");
    assert!(fault.message.contains("status.json"), "{}", fault.message);
    assert!(!fault.recoverable());
    assert!(fault.hint.unwrap().contains("kept in the journal"));
    drop(store);

    fs::remove_file(bench.project.autonoe_dir()).unwrap();
    let store = bench.store().await;
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].id, "A");
}

#[tokio::test]
async fn a_read_only_directory_is_a_fault_and_nothing_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may write into read-only directories");
        return;
    }
    let (bench, before, _) = about_to_pass().await;
    let store = bench.store().await;
    let mode = |mode| fs::set_permissions(bench.project.autonoe_dir(), fs::Permissions::from_mode(mode));
    mode(0o555).unwrap();
    let fault = store
        .change(Box::new(|status: &mut ProjectStatus, _| Ok(((), vec![status.set_status("A", Passed)?]))))
        .await
        .expect_err("read-only");
    assert_eq!(fault.code, "status_file");
    assert_eq!(bench.status_text(), before);
    drop(store);
    mode(0o755).unwrap();
    let store = bench.store().await;
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].status, Passed);
}

#[tokio::test]
async fn a_later_change_settles_an_earlier_one_that_failed() {
    let bench = Bench::new();
    let store = bench.store().await;
    symlink(bench.dir.path().join("nowhere"), bench.project.autonoe_dir()).unwrap();
    let failing = store.change(Box::new(|status: &mut ProjectStatus, _| {
        Ok(((), status.create(vec![crate::support::deliverable("lost")])?))
    }));
    assert!(failing.await.is_err());
    fs::remove_file(bench.project.autonoe_dir()).unwrap();
    create(&store, &["A"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    drop(store);
    let store: StatusStore = bench.store().await;
    let ids: Vec<_> =
        store.load().await.unwrap().unwrap().deliverables.into_iter().map(|item| item.id).collect();
    assert_eq!(ids, ["A"], "an old intention never comes back over newer changes");
}

#[tokio::test]
async fn a_deleted_file_is_restored_as_the_journal_has_it() {
    let bench = Bench::new();
    let store = bench.store().await;
    create(&store, &["A", "B"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    let text = bench.status_text();
    assert_eq!(store.restore().await.unwrap(), None, "it is there");
    assert_eq!(bench.count("status_writes WHERE after IS NOT NULL"), 1, "only the newest text is kept");
    drop(store);

    fs::remove_dir_all(bench.project.autonoe_dir()).unwrap();
    let known = StatusStore::deleted(&bench.project).unwrap().expect("on record");
    assert_eq!(known.deliverables.len(), 2);
    let store = bench.store().await;
    assert_eq!(store.restore().await.unwrap(), Some(known));
    assert_eq!(bench.status_text(), text);
    assert_eq!(store.restore().await.unwrap(), None);
    assert_eq!(StatusStore::deleted(&bench.project).unwrap(), None);
    set(&store, "B", Passed).await.unwrap();
}

#[tokio::test]
async fn what_was_never_written_is_not_restored() {
    let bench = Bench::new();
    assert_eq!(StatusStore::deleted(&bench.project).unwrap(), None, "there is no journal");
    let store = bench.store().await;
    assert_eq!(store.restore().await.unwrap(), None, "nothing is on record");
    assert_eq!(StatusStore::deleted(&bench.project).unwrap(), None);
}

#[tokio::test]
async fn who_starts_over_plans_anew_and_loses_nothing() {
    let (bench, before, _) = about_to_pass().await;
    let store = bench.store().await;
    let aside = bench.dir.path().join("aside.json");
    assert!(store.start_over(&aside).await.unwrap());
    assert_eq!(fs::read_to_string(&aside).unwrap(), before);
    assert!(!bench.project.status_file().exists());
    drop(store);
    let store = bench.store().await;
    assert_eq!(store.restore().await.unwrap(), None, "it stays so at the next start");
    assert_eq!(StatusStore::deleted(&bench.project).unwrap(), None);
    assert!(!store.start_over(&aside).await.unwrap(), "there is nothing to put aside");
    create(&store, &["B"]).await.unwrap();
    fs::remove_file(bench.project.status_file()).unwrap();
    assert_eq!(store.restore().await.unwrap().unwrap().deliverables[0].id, "B");
}

#[tokio::test]
async fn starting_over_that_was_cut_off_is_finished() {
    let (bench, before, _) = about_to_pass().await;
    intend(&bench, &before, "").await;
    assert_eq!(bench.status_text(), before);
    bench.store().await;
    assert!(!bench.project.status_file().exists());
}

#[tokio::test]
async fn a_journal_that_kept_no_copy_asks_what_to_do() {
    let (bench, _, _) = about_to_pass().await;
    bench.sql().execute("UPDATE status_writes SET after = NULL", []).unwrap();
    assert_eq!(StatusStore::deleted(&bench.project).unwrap(), None, "the file is there");
    fs::remove_file(bench.project.status_file()).unwrap();
    let fault = StatusStore::deleted(&bench.project).expect_err("nobody knows what they were");
    assert!(fault.message.contains("is gone") && fault.message.contains("1 deliverable"), "{fault}");
    let hint = fault.hint.unwrap();
    assert!(hint.contains("version control") && hint.contains("--start-over"), "{hint}");
}
