//! Unusable files: a clear fault, and never a byte overwritten.

use std::fs;

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::fault::{Fault, Remedy};
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::JournalOptions;
use autonoe_store::journal::history::History;
use autonoe_store::{CheckRegistry, SqliteJournal, StatusStore};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::support::{SPEC, StoreFixture, fault_of, session};

/// An empty file has format 0.
const NEWEST: i64 = 7;

async fn refused(fixture: &StoreFixture) -> Fault {
    let start = fixture.try_begin("run", SPEC, Timestamp::now(), JournalOptions::default()).await;
    let fault = start.map(drop).expect_err("this journal cannot be used");
    assert_eq!(fault.remedy, Remedy::Person);
    assert!(fault.message.contains("journal.db"), "{}", fault.message);
    assert!(fault.hint.is_some());
    fault
}

fn user_version(db: &Connection) -> i64 {
    db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_corrupt_status_file_stops_reading_and_changing_and_is_never_overwritten() {
    for (text, position) in [
        ("", "line 1"),
        ("{\n  \"createdAt\": \"2025-01-01\",\n  oops", "line 3"),
        (
            "{\"createdAt\": \"2025-01-01\", \"updatedAt\": \"2025-01-01\", \"deliverables\": 3}",
            "deliverables",
        ),
    ] {
        let fixture = StoreFixture::new();
        fixture.write_status(text);
        let store = fixture.store().await;
        let load = store.load().await.expect_err(text);
        let read = StatusStore::read(&fixture.project).expect_err(text);
        let change = store
            .change(Box::new(|status: &mut ProjectStatus, _| Ok(((), vec![status.set_status("A", Passed)?]))))
            .await
            .expect_err(text);
        for fault in [load, read, fault_of(change)] {
            assert_eq!(fault.code, "status_file");
            assert_eq!(fault.remedy, Remedy::Person);
            let file = fixture.project.status_file();
            assert!(fault.message.contains(file.to_str().unwrap()), "{}", fault.message);
            assert!(fault.message.contains(position), "{} lacks {position}", fault.message);
        }
        assert_eq!(fixture.status_text(), text);
        assert_eq!(fixture.count("status_writes"), 0);
    }
}

#[tokio::test]
async fn a_status_file_that_is_not_text_or_not_a_file_is_a_fault() {
    let fixture = StoreFixture::new();
    fixture.write_status("");
    fs::write(fixture.project.status_file(), [0xff, 0xfe, 0x00]).unwrap();
    let store = fixture.store().await;
    assert_eq!(store.load().await.expect_err("not UTF-8").code, "status_file");
    fs::remove_file(fixture.project.status_file()).unwrap();
    fs::create_dir(fixture.project.status_file()).unwrap();
    assert_eq!(store.load().await.expect_err("a directory").code, "status_file");
}

#[tokio::test]
async fn a_journal_path_that_is_a_directory_is_a_fault() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.journal_file()).unwrap();
    assert_eq!(refused(&fixture).await.code, "journal");
}

#[tokio::test]
async fn a_garbage_journal_is_a_fault_and_stays_unchanged() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.state_dir()).unwrap();
    let garbage = b"this is not a database at all, just some text here. ".repeat(40);
    fs::write(fixture.project.journal_file(), &garbage).unwrap();
    assert_damaged(&refused(&fixture).await);
    assert_eq!(fs::read(fixture.project.journal_file()).unwrap(), garbage);
    let history =
        History::open(&fixture.project.journal_file()).and_then(|history| history.unwrap().last_run());
    assert_damaged(&history.expect_err("not a database"));
}

/// Checks that the fault says what is wrong, what to do, what is kept and what is lost.
#[track_caller]
fn assert_damaged(fault: &Fault) {
    let hint = fault.hint.as_deref().unwrap_or_default();
    assert_eq!(fault.code, "journal");
    assert!(fault.message.contains("is damaged"), "{fault}");
    for words in ["Move journal.db", "-wal", "Kept:", "status", "Lost:"] {
        assert!(hint.contains(words), "{hint} lacks {words}");
    }
    assert!(!hint.contains("Free up space"), "{hint}");
}

#[tokio::test]
async fn a_database_that_is_not_ours_is_a_damaged_journal() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.state_dir()).unwrap();
    let db = fixture.sql();
    db.execute_batch("CREATE TABLE recipes (name)").unwrap();
    db.pragma_update(None, "user_version", NEWEST).unwrap();
    drop(db);
    assert_damaged(&refused(&fixture).await);
}

#[tokio::test]
async fn a_journal_that_is_a_pipe_is_not_waited_for() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.state_dir()).unwrap();
    let path = fixture.project.journal_file();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert!(refused(&fixture).await.message.contains("it is a named pipe"));
    let history = History::open(&path).map(drop).expect_err("a pipe");
    assert!(history.message.contains("it is a named pipe"), "{history}");
}

#[tokio::test]
async fn a_journal_with_a_damaged_page_is_a_fault_at_the_latest_when_it_is_read() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    session(&journal, 1, autonoe_core::outcome::SessionEnd::Completed).await;
    drop(journal);
    let path = fixture.project.journal_file();
    let mut bytes = fs::read(&path).unwrap();
    let page = 4096;
    assert!(bytes.len() > 2 * page);
    bytes[page..].fill(0xAA);
    fs::write(&path, &bytes).unwrap();
    assert_damaged(&refused(&fixture).await);
    let integrity = History::open(&path).unwrap().unwrap().integrity();
    assert_damaged(&integrity.expect_err("it is damaged"));
}

#[tokio::test]
async fn a_newer_journal_is_rejected_by_version_and_stays_unchanged() {
    for mode in ["DELETE", "WAL"] {
        let fixture = StoreFixture::new();
        fs::create_dir_all(fixture.project.state_dir()).unwrap();
        let db = fixture.sql();
        db.pragma_update(None, "journal_mode", mode).unwrap();
        db.execute_batch("CREATE TABLE things_to_come (x)").unwrap();
        db.pragma_update(None, "user_version", NEWEST + 1).unwrap();
        drop(db);
        let before = fs::read(fixture.project.journal_file()).unwrap();

        let fault = refused(&fixture).await;
        assert_eq!(fault.code, "journal_version");
        assert!(fault.message.contains(&format!("format {}", NEWEST + 1)), "{}", fault.message);
        let path = fixture.project.journal_file();
        let visit = SqliteJournal::open(&path, SPEC, Timestamp::now(), JournalOptions::default()).await;
        assert_eq!(visit.map(drop).expect_err("newer").code, "journal_version");
        assert!(fs::read(&path).unwrap() == before, "the file in mode {mode} was changed");
    }
}

#[tokio::test]
async fn an_empty_file_is_migrated_to_the_latest_format() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.state_dir()).unwrap();
    fs::write(fixture.project.journal_file(), "").unwrap();
    assert_eq!(user_version(&fixture.sql()), 0);
    let (journal, _) = fixture.begin("run").await;
    drop(journal);
    let db = fixture.sql();
    assert_eq!(user_version(&db), NEWEST);
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn opening_repeatedly_is_harmless() {
    let fixture = StoreFixture::new();
    for number in 1..=3 {
        let (journal, start) = fixture.begin("run").await;
        assert_eq!(start.state.sessions, number - 1);
        session(&journal, number, autonoe_core::outcome::SessionEnd::Completed).await;
    }
    assert_eq!(user_version(&fixture.sql()), NEWEST);
    let history = History::open(&fixture.project.journal_file()).unwrap().unwrap();
    assert_eq!(history.integrity().unwrap(), "ok");
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_created_is_a_fault() {
    let fixture = StoreFixture::new();
    fs::create_dir_all(fixture.project.state_dir().parent().unwrap()).unwrap();
    fs::write(fixture.project.state_dir(), "a file in the way").unwrap();
    let start = fixture.try_begin("run", SPEC, Timestamp::now(), JournalOptions::default()).await;
    let fault = start.map(drop).expect_err("a file in the way");
    assert_eq!(fault.code, "journal");
    assert!(fault.message.contains("is a file, not a directory"), "{fault}");
}

#[tokio::test]
async fn a_journal_that_fails_once_accepts_nothing_more() {
    use crate::support::{started, usage};
    use autonoe_core::journal::Journal as _;
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    let first = journal.record(started(1)).await.expect_err("the same session twice");
    assert_eq!(first.code, "journal");
    assert_eq!(journal.cost(1, &usage(Some(1.0))).await, Err(first.clone()));
    assert_eq!(journal.record(started(2)).await, Err(first));
    drop(journal);
    assert_eq!(fixture.count("sessions"), 1);
    assert_eq!(fixture.count("costs"), 0);
}

#[test]
fn a_registry_of_checks_with_something_after_its_end_is_refused() {
    let fixture = StoreFixture::new();
    let file = fixture.project.state_dir().join("checks.json");
    CheckRegistry::default().save(&fixture.project).unwrap();
    assert_eq!(CheckRegistry::load(&fixture.project).unwrap(), CheckRegistry::default());
    let twice = fs::read_to_string(&file).unwrap().repeat(2);
    fs::write(&file, &twice).unwrap();
    let fault = CheckRegistry::load(&fixture.project).expect_err("two values");
    assert!(fault.message.contains("after its end, trailing characters at line"), "{}", fault.message);
    assert_eq!(fs::read_to_string(&file).unwrap(), twice);
}
