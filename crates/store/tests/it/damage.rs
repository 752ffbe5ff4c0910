//! Files that cannot be used: a clear fault, and never a byte overwritten.

use std::fs;

use autonoe_core::deliverable::DeliverableStatus::Passed;
use autonoe_core::fault::{Fault, Remedy};
use autonoe_core::plan::StatusReader;
use autonoe_core::status::ProjectStatus;
use autonoe_store::journal::JournalOptions;
use autonoe_store::journal::history::History;
use autonoe_store::{Journal, StatusStore};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::support::{Bench, SPEC, session};

/// What the code makes of format 0, which is an empty file, and the newest format there is.
const NEWEST: i64 = 5;

async fn refused(bench: &Bench) -> Fault {
    let begun = bench.try_begin("run", SPEC, Timestamp::now(), JournalOptions::default()).await;
    let fault = begun.map(drop).expect_err("this journal cannot be used");
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
    for (text, place) in [
        ("", "line 1"),
        ("{\n  \"createdAt\": \"2025-01-01\",\n  oops", "line 3"),
        (
            "{\"createdAt\": \"2025-01-01\", \"updatedAt\": \"2025-01-01\", \"deliverables\": 3}",
            "deliverables",
        ),
    ] {
        let bench = Bench::new();
        bench.write_status(text);
        let store = bench.store().await;
        let load = store.load().await.expect_err(text);
        let read = StatusStore::read(&bench.project).expect_err(text);
        let change = store
            .change(Box::new(|status: &mut ProjectStatus, _| Ok(((), vec![status.set_status("A", Passed)?]))))
            .await
            .expect_err(text);
        for fault in [load, read, change] {
            assert_eq!(fault.code, "status_file");
            assert_eq!(fault.remedy, Remedy::Person);
            let file = bench.project.status_file();
            assert!(fault.message.contains(file.to_str().unwrap()), "{}", fault.message);
            assert!(fault.message.contains(place), "{} lacks {place}", fault.message);
        }
        assert_eq!(bench.status_text(), text);
        assert_eq!(bench.count("status_writes"), 0);
    }
}

#[tokio::test]
async fn a_status_file_that_is_not_text_or_not_a_file_is_a_fault() {
    let bench = Bench::new();
    bench.write_status("");
    fs::write(bench.project.status_file(), [0xff, 0xfe, 0x00]).unwrap();
    let store = bench.store().await;
    assert_eq!(store.load().await.expect_err("not UTF-8").code, "status_file");
    fs::remove_file(bench.project.status_file()).unwrap();
    fs::create_dir(bench.project.status_file()).unwrap();
    assert_eq!(store.load().await.expect_err("a directory").code, "status_file");
}

#[tokio::test]
async fn a_journal_path_that_is_a_directory_is_a_fault() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.journal_file()).unwrap();
    assert_eq!(refused(&bench).await.code, "journal");
}

#[tokio::test]
async fn a_journal_of_garbage_is_a_fault_and_stays_as_it_is() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.state_dir()).unwrap();
    let garbage = b"this is not a database, however long one looks at it. ".repeat(40);
    fs::write(bench.project.journal_file(), &garbage).unwrap();
    assert_damaged(&refused(&bench).await);
    assert_eq!(fs::read(bench.project.journal_file()).unwrap(), garbage);
    let history =
        History::open(&bench.project.journal_file()).and_then(|history| history.unwrap().last_run());
    assert_damaged(&history.expect_err("not a database"));
}

/// That it says what it is, what to do, what is kept and what is lost.
#[track_caller]
fn assert_damaged(fault: &Fault) {
    let hint = fault.hint.as_deref().unwrap_or_default();
    assert_eq!(fault.code, "journal");
    assert!(fault.message.contains("is damaged"), "{fault}");
    for words in ["Move journal.db", "-wal", "Kept:", "status", "Lost:"] {
        assert!(hint.contains(words), "{hint} lacks {words}");
    }
    assert!(!hint.contains("Make room"), "{hint}");
}

#[tokio::test]
async fn a_database_that_is_not_ours_is_a_damaged_journal() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.state_dir()).unwrap();
    let db = bench.sql();
    db.execute_batch("CREATE TABLE recipes (name)").unwrap();
    db.pragma_update(None, "user_version", NEWEST).unwrap();
    drop(db);
    assert_damaged(&refused(&bench).await);
}

#[tokio::test]
async fn a_journal_that_is_a_pipe_is_not_waited_for() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.state_dir()).unwrap();
    let path = bench.project.journal_file();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert!(refused(&bench).await.message.contains("it is a named pipe"));
    let history = History::open(&path).map(drop).expect_err("a pipe");
    assert!(history.message.contains("it is a named pipe"), "{history}");
}

#[tokio::test]
async fn a_journal_with_a_damaged_page_is_a_fault_at_the_latest_when_it_is_read() {
    let bench = Bench::new();
    let (journal, _) = bench.begin("run").await;
    session(&journal, 1, autonoe_core::outcome::SessionEnd::Completed).await;
    drop(journal);
    let path = bench.project.journal_file();
    let mut bytes = fs::read(&path).unwrap();
    let page = 4096;
    assert!(bytes.len() > 2 * page);
    bytes[page..].fill(0xAA);
    fs::write(&path, &bytes).unwrap();
    assert_damaged(&refused(&bench).await);
    let integrity = History::open(&path).unwrap().unwrap().integrity();
    assert_damaged(&integrity.expect_err("it is not whole"));
}

#[tokio::test]
async fn a_newer_journal_is_refused_by_version_and_stays_as_it_is() {
    for mode in ["DELETE", "WAL"] {
        let bench = Bench::new();
        fs::create_dir_all(bench.project.state_dir()).unwrap();
        let db = bench.sql();
        db.pragma_update(None, "journal_mode", mode).unwrap();
        db.execute_batch("CREATE TABLE things_to_come (x)").unwrap();
        db.pragma_update(None, "user_version", NEWEST + 1).unwrap();
        drop(db);
        let before = fs::read(bench.project.journal_file()).unwrap();

        let fault = refused(&bench).await;
        assert_eq!(fault.code, "journal_version");
        assert!(fault.message.contains(&format!("format {}", NEWEST + 1)), "{}", fault.message);
        let path = bench.project.journal_file();
        let visit = Journal::visit(&path, SPEC, Timestamp::now(), JournalOptions::default()).await;
        assert_eq!(visit.map(drop).expect_err("newer").code, "journal_version");
        assert!(fs::read(&path).unwrap() == before, "the file in mode {mode} was changed");
    }
}

#[tokio::test]
async fn an_empty_file_becomes_the_newest_format() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.state_dir()).unwrap();
    fs::write(bench.project.journal_file(), "").unwrap();
    assert_eq!(user_version(&bench.sql()), 0);
    let (journal, _) = bench.begin("run").await;
    drop(journal);
    let db = bench.sql();
    assert_eq!(user_version(&db), NEWEST);
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn opening_again_and_again_is_harmless() {
    let bench = Bench::new();
    for number in 1..=3 {
        let (journal, begun) = bench.begin("run").await;
        assert_eq!(begun.state.sessions, number - 1);
        session(&journal, number, autonoe_core::outcome::SessionEnd::Completed).await;
    }
    assert_eq!(user_version(&bench.sql()), NEWEST);
    let history = History::open(&bench.project.journal_file()).unwrap().unwrap();
    assert_eq!(history.integrity().unwrap(), "ok");
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_made_is_a_fault() {
    let bench = Bench::new();
    fs::create_dir_all(bench.project.state_dir().parent().unwrap()).unwrap();
    fs::write(bench.project.state_dir(), "a file in the way").unwrap();
    let begun = bench.try_begin("run", SPEC, Timestamp::now(), JournalOptions::default()).await;
    let fault = begun.map(drop).expect_err("a file in the way");
    assert_eq!(fault.code, "journal");
    assert!(fault.message.contains("is a file, not a directory"), "{fault}");
}

#[tokio::test]
async fn a_journal_that_fails_once_accepts_nothing_more() {
    use crate::support::{started, usage};
    use autonoe_core::journal::Journal as _;
    let bench = Bench::new();
    let (journal, _) = bench.begin("run").await;
    journal.record(started(1)).await.unwrap();
    let first = journal.record(started(1)).await.expect_err("the same session twice");
    assert_eq!(first.code, "journal");
    assert_eq!(journal.cost(1, &usage(Some(1.0))).await, Err(first.clone()));
    assert_eq!(journal.record(started(2)).await, Err(first));
    drop(journal);
    assert_eq!(bench.count("sessions"), 1);
    assert_eq!(bench.count("costs"), 0);
}
