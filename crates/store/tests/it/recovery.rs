//! Recovery of `status.json` after a process was killed while changing it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use autonoe_core::deliverable::DeliverableStatus::{Passed, Pending};
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ProjectStatus;
use autonoe_store::{StatusStore, sha256_hex};

use crate::support::{StoreFixture, create, fault_of, set};

/// A project with deliverable A pending, and the text of `status.json` once it has passed.
async fn about_to_pass() -> (StoreFixture, String, String) {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    create(&store, &["A"]).await.unwrap();
    let before = fixture.status_text();
    let after = before.replace("\"passed\": false", "\"passed\": true");
    assert_ne!(before, after);
    (fixture, before, after)
}

async fn intend(fixture: &StoreFixture, before: &str, after: &str) {
    let (journal, _) = fixture.begin("run").await;
    let hash = if before.is_empty() { String::new() } else { sha256_hex(before.as_bytes()) };
    journal.intend_status(&hash, after, &[]).await.unwrap();
}

#[tokio::test]
async fn a_recorded_change_that_did_not_happen_is_applied_at_the_next_open() {
    let (fixture, before, after) = about_to_pass().await;
    intend(&fixture, &before, &after).await;
    assert_eq!(fixture.status_text(), before);

    let store = fixture.store().await;
    assert_eq!(fixture.status_text(), after);
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].status, Passed);
    assert_eq!(fixture.count("status_writes WHERE applied = 0"), 0);
}

#[tokio::test]
async fn the_very_first_write_is_finished_too() {
    let (other, text, _) = about_to_pass().await;
    drop(other);
    let fixture = StoreFixture::new();
    intend(&fixture, "", &text).await;
    assert!(!fixture.project.autonoe_dir().exists());
    fixture.store().await;
    assert_eq!(fixture.status_text(), text);
}

#[tokio::test]
async fn an_applied_change_is_only_marked() {
    let (fixture, before, after) = about_to_pass().await;
    intend(&fixture, &before, &after).await;
    fixture.write_status(&after);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let path = fixture.project.status_file();
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();

    fixture.store().await;
    assert_eq!(fixture.status_text(), after);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), long_ago);
    assert_eq!(fixture.count("status_writes WHERE applied = 0"), 0);
}

#[tokio::test]
async fn edits_of_the_user_in_between_are_kept() {
    let (fixture, before, after) = about_to_pass().await;
    for edited in [before.replace("What A is", "Mine"), "not even JSON".to_owned()] {
        fixture.write_status(&before);
        intend(&fixture, &before, &after).await;
        fixture.write_status(&edited);
        fixture.store().await;
        assert_eq!(fixture.status_text(), edited);
        assert_eq!(fixture.count("status_writes WHERE applied = 0"), 0, "and it is not retried");
    }
    fixture.write_status(&before);
    intend(&fixture, &before, &after).await;
    fs::remove_file(fixture.project.status_file()).unwrap();
    fixture.store().await;
    assert!(!fixture.project.status_file().exists(), "deleted by the user");
}

#[tokio::test]
async fn only_the_latest_recorded_change_counts() {
    let (fixture, before, after) = about_to_pass().await;
    intend(&fixture, &before, &before.replace("What A is", "Older")).await;
    intend(&fixture, &before, &after).await;
    fixture.store().await;
    assert_eq!(fixture.status_text(), after);
    fixture.store().await;
    assert_eq!(fixture.status_text(), after);
    assert_eq!(fixture.count("status_writes WHERE applied = 0"), 0);
}

/// A dangling link cannot be written through, not even by root; it acts like a full or failing disk.
#[tokio::test]
async fn a_failed_write_is_a_fault_and_is_finished_when_the_disk_works_again() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    symlink(fixture.dir.path().join("nowhere"), fixture.project.autonoe_dir()).unwrap();
    let error = store
        .change(Box::new(|status: &mut ProjectStatus, _| {
            Ok(((), status.create(vec![crate::support::deliverable("A")])?))
        }))
        .await
        .expect_err("the directory cannot be created");
    let fault = fault_of(error);
    assert_eq!(fault.code, "status_file");
    assert!(fault.message.contains("status.json"), "{}", fault.message);
    assert!(!fault.recoverable());
    assert!(fault.hint.unwrap().contains("kept in the journal"));
    drop(store);

    fs::remove_file(fixture.project.autonoe_dir()).unwrap();
    let store = fixture.store().await;
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].id, "A");
}

#[tokio::test]
async fn a_read_only_directory_is_a_fault_and_nothing_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may write into read-only directories");
        return;
    }
    let (fixture, before, _) = about_to_pass().await;
    let store = fixture.store().await;
    let mode = |mode| fs::set_permissions(fixture.project.autonoe_dir(), fs::Permissions::from_mode(mode));
    mode(0o555).unwrap();
    let error = store
        .change(Box::new(|status: &mut ProjectStatus, _| Ok(((), vec![status.set_status("A", Passed)?]))))
        .await
        .expect_err("read-only");
    let fault = fault_of(error);
    assert_eq!(fault.code, "status_file");
    assert_eq!(fixture.status_text(), before);
    drop(store);
    mode(0o755).unwrap();
    let store = fixture.store().await;
    assert_eq!(store.load().await.unwrap().unwrap().deliverables[0].status, Passed);
}

#[tokio::test]
async fn a_later_change_replaces_an_earlier_one_that_failed() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    symlink(fixture.dir.path().join("nowhere"), fixture.project.autonoe_dir()).unwrap();
    let failing = store.change(Box::new(|status: &mut ProjectStatus, _| {
        Ok(((), status.create(vec![crate::support::deliverable("lost")])?))
    }));
    assert!(failing.await.is_err());
    fs::remove_file(fixture.project.autonoe_dir()).unwrap();
    create(&store, &["A"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    drop(store);
    let store: StatusStore = fixture.store().await;
    let ids: Vec<_> =
        store.load().await.unwrap().unwrap().deliverables.into_iter().map(|item| item.id).collect();
    assert_eq!(ids, ["A"], "an old change never overwrites newer ones");
}

#[tokio::test]
async fn a_deleted_file_is_restored_from_the_journal() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    create(&store, &["A", "B"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    let text = fixture.status_text();
    assert_eq!(store.restore().await.unwrap(), None, "the file exists");
    assert_eq!(fixture.count("status_writes WHERE after IS NOT NULL"), 1, "only the latest text is kept");
    drop(store);

    fs::remove_dir_all(fixture.project.autonoe_dir()).unwrap();
    let known = StatusStore::deleted(&fixture.project).unwrap().expect("on record");
    assert_eq!(known.deliverables.len(), 2);
    let store = fixture.store().await;
    assert_eq!(store.restore().await.unwrap(), Some(known));
    assert_eq!(fixture.status_text(), text);
    assert_eq!(store.restore().await.unwrap(), None);
    assert_eq!(StatusStore::deleted(&fixture.project).unwrap(), None);
    set(&store, "B", Passed).await.unwrap();
}

/// As by `git clean`, while agents work.
#[tokio::test]
async fn a_file_that_vanishes_during_a_run_is_restored_by_whoever_needs_it() {
    let fixture = StoreFixture::new();
    let store = fixture.store().await;
    let restored = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&restored);
    store.restore_vanished(Box::new(move |status| {
        counted.fetch_add(status.deliverables.len(), Ordering::Relaxed);
    }));
    assert_eq!(store.load().await.unwrap(), None, "nothing is recorded");
    create(&store, &["A", "B"]).await.unwrap();
    set(&store, "A", Passed).await.unwrap();
    let remove = || fs::remove_dir_all(fixture.project.autonoe_dir()).unwrap();
    remove();
    set(&store, "B", Passed).await.expect("a claim");
    assert_eq!(restored.load(Ordering::Relaxed), 2);
    let before = store.load().await.unwrap();
    remove();
    assert_eq!(store.load().await.unwrap(), before);
    assert_eq!(restored.load(Ordering::Relaxed), 4);
    assert_eq!(store.load().await.unwrap(), before);
    assert_eq!(restored.load(Ordering::Relaxed), 4, "it is there");
    assert_eq!(before.unwrap().tally().passed, 2);
    let passed = store.ever_passed().await.unwrap();
    set(&store, "A", Pending).await.unwrap();
    assert_eq!((passed.len(), store.ever_passed().await.unwrap()), (2, passed));
}

#[tokio::test]
async fn nothing_is_restored_that_was_never_written() {
    let fixture = StoreFixture::new();
    assert_eq!(StatusStore::deleted(&fixture.project).unwrap(), None, "there is no journal");
    let store = fixture.store().await;
    assert_eq!(store.restore().await.unwrap(), None, "nothing is recorded");
    assert_eq!(StatusStore::deleted(&fixture.project).unwrap(), None);
}

#[tokio::test]
async fn starting_over_plans_from_scratch_and_loses_nothing() {
    let (fixture, before, _) = about_to_pass().await;
    let store = fixture.store().await;
    let aside = fixture.dir.path().join("aside.json");
    assert!(store.start_over(&aside).await.unwrap());
    assert_eq!(fs::read_to_string(&aside).unwrap(), before);
    assert!(!fixture.project.status_file().exists());
    drop(store);
    let store = fixture.store().await;
    assert_eq!(store.restore().await.unwrap(), None, "also after the next start");
    assert_eq!(StatusStore::deleted(&fixture.project).unwrap(), None);
    assert!(!store.start_over(&aside).await.unwrap(), "there is nothing to back up");
    create(&store, &["B"]).await.unwrap();
    fs::remove_file(fixture.project.status_file()).unwrap();
    assert_eq!(store.restore().await.unwrap().unwrap().deliverables[0].id, "B");
}

#[tokio::test]
async fn an_interrupted_start_over_is_finished() {
    let (fixture, before, _) = about_to_pass().await;
    intend(&fixture, &before, "").await;
    assert_eq!(fixture.status_text(), before);
    fixture.store().await;
    assert!(!fixture.project.status_file().exists());
}

#[tokio::test]
async fn a_journal_without_a_copy_is_a_fault_with_a_hint() {
    let (fixture, _, _) = about_to_pass().await;
    fixture.sql().execute("UPDATE status_writes SET after = NULL", []).unwrap();
    assert_eq!(StatusStore::deleted(&fixture.project).unwrap(), None, "the file exists");
    fs::remove_file(fixture.project.status_file()).unwrap();
    let fault = StatusStore::deleted(&fixture.project).expect_err("their text is unknown");
    assert!(fault.message.contains("is missing") && fault.message.contains("1 deliverable"), "{fault}");
    let hint = fault.hint.unwrap();
    assert!(hint.contains("version control") && hint.contains("--start-over"), "{hint}");
}
