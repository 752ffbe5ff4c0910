//! The journal as people read it.

use std::fs;
use std::time::Duration;

use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_store::journal::history::{History, RunCommits};
use jiff::Timestamp;

use crate::support::{StoreFixture, end_run, ended, error, report, session, started, usage};

fn history(fixture: &StoreFixture) -> History {
    History::open(&fixture.project.journal_file()).unwrap().expect("a journal")
}

#[tokio::test]
async fn without_a_journal_there_is_no_history_and_reading_creates_none() {
    let fixture = StoreFixture::new();
    assert!(History::open(&fixture.project.journal_file()).unwrap().is_none());
    assert!(!fixture.project.state_dir().exists());
}

#[tokio::test]
async fn sessions_are_listed_latest_first_with_their_cost() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.cost(1, &usage(Some(0.25))).await.unwrap();
    journal.cost(1, &usage(Some(0.5))).await.unwrap();
    session(&journal, 2, error()).await;
    journal.cost(2, &usage(Some(0.5))).await.unwrap();
    journal.cost(2, &usage(None)).await.unwrap();
    end_run(&journal, RunOutcome::Interrupted).await;
    drop(journal);
    let (journal, second) = fixture.begin("sync").await;
    journal.record(started(1)).await.unwrap();

    let history = history(&fixture);
    let sessions = history.sessions(10).unwrap();
    let ids: Vec<(i64, u32)> = sessions.iter().map(|session| (session.run, session.number)).collect();
    assert_eq!(ids, [(second.run, 1), (first.run, 2), (first.run, 1)]);
    let [running, failed, done] = &sessions[..] else { unreachable!("three sessions") };

    assert_eq!(running.outcome, None);
    assert_eq!(running.duration_seconds, None);
    assert_eq!((running.cost_usd, running.input_tokens, running.output_tokens), (None, 0, 0));
    assert_eq!(failed.outcome, Some(error()));
    assert_eq!(failed.cost_usd, None, "a price is unknown");
    assert_eq!(failed.input_tokens, 2 * 107);
    assert_eq!(done.outcome, Some(SessionEnd::Completed));
    assert_eq!((done.cost_usd, done.input_tokens, done.output_tokens), (Some(0.75), 2 * 107, 40));
    assert_eq!(done.duration_seconds, Some(10.0));
    assert_eq!(done.instruction, "coding");
    assert_eq!((done.backend.as_str(), done.model.as_str()), ("native", "claude-sonnet-5"));
    assert!(done.started_at.parse::<Timestamp>().is_ok(), "{}", done.started_at);

    assert_eq!(history.sessions(2).unwrap().len(), 2);
    assert!(history.sessions(0).unwrap().is_empty());
    assert_eq!(history.total_cost().unwrap(), (1.25, true));
    assert_eq!(history.integrity().unwrap(), "ok");
}

/// Deliverables of the sessions that were begun for these steps, `None` for a plain one.
async fn worked_on(steps: &[Option<&str>]) -> Vec<Vec<String>> {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    for (number, step) in (1..).zip(steps) {
        let mut record = started(number);
        if let JournalRecord::SessionStarted { step: own, .. } = &mut record {
            *own = step.map(str::to_owned);
        }
        journal.record(record).await.unwrap();
        journal.record(ended(number, SessionEnd::Completed, 10)).await.unwrap();
    }
    drop(journal);
    let costs = history(&fixture).session_costs().unwrap();
    costs.into_iter().map(|session| session.deliverables).collect()
}

#[tokio::test]
async fn a_plain_session_counts_for_what_the_next_attempt_was_begun_for() {
    let first = vec!["F-001".to_owned()];
    let second = vec!["F-002".to_owned()];
    assert_eq!(
        worked_on(&[None, Some("F-001, attempt 1 of 2"), Some("F-001, attempt 2 of 2"), Some("F-002"), None])
            .await,
        [first.clone(), first.clone(), first, second, vec![]]
    );
}

#[tokio::test]
async fn one_session_is_shown_with_its_events_while_it_runs() {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    let event = AgentEvent::Text { text: "hello".to_owned() }.into();
    journal.event(1, &event).await.unwrap();
    journal.cost(1, &usage(Some(0.5))).await.unwrap();

    let history = history(&fixture);
    let (session, events) = history.session(start.run, 1).unwrap().expect("recorded");
    assert_eq!(session.number, 1);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event, serde_json::to_value(&event).unwrap());
    assert!(events[0].at.parse::<Timestamp>().is_ok());
    assert!(history.session(start.run, 2).unwrap().is_none());
    assert!(history.session(start.run + 1, 1).unwrap().is_none());
}

#[tokio::test]
async fn the_last_run_is_shown_with_its_report_whatever_its_outcome() {
    let fault = || {
        Fault::permanent(FaultLayer::Config, "code", "It broke.").retry_after(Some(Duration::from_secs(3)))
    };
    for outcome in [
        RunOutcome::AllPassed,
        RunOutcome::AllVerified,
        RunOutcome::AllBlocked,
        RunOutcome::Interrupted,
        RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() },
        RunOutcome::MaxIterations { limit: 3 },
        RunOutcome::BudgetExceeded { limit_usd: Usd(1.5) },
        RunOutcome::DurationExceeded { limit: Duration::from_secs(90) },
        RunOutcome::QuotaExceeded { message: "limit".to_owned(), resets_at: Some(Timestamp::UNIX_EPOCH) },
        RunOutcome::MaxRetriesExceeded { limit: 3, fault: fault() },
        RunOutcome::Failed { fault: fault() },
    ] {
        let fixture = StoreFixture::new();
        let (journal, start) = fixture.begin("sync").await;
        let under_way = history(&fixture).last_run().unwrap().expect("a run");
        assert_eq!((under_way.ended_at, under_way.report), (None, None));

        end_run(&journal, outcome.clone()).await;
        let run = history(&fixture).last_run().unwrap().expect("a run");
        assert_eq!((run.id, run.command.as_str()), (start.run, "sync"));
        assert!(run.ended_at.is_some());
        assert_eq!(run.report, Some(report(outcome)));
    }
}

#[tokio::test]
async fn a_run_is_found_by_its_number_with_its_sessions() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    session(&journal, 2, error()).await;
    journal.event(0, &AgentEvent::Text { text: "between".to_owned() }.into()).await.unwrap();
    end_run(&journal, RunOutcome::Interrupted).await;
    drop(journal);
    let (journal, second) = fixture.begin("sync").await;
    journal.record(started(1)).await.unwrap();

    let history = history(&fixture);
    assert_eq!(history.run(first.run).unwrap().map(|run| run.command).as_deref(), Some("run"));
    assert_eq!(history.run(second.run).unwrap().map(|run| run.command).as_deref(), Some("sync"));
    assert!(history.run(second.run + 1).unwrap().is_none());
    let numbers = |run| -> Vec<u32> {
        history.sessions_of(run).unwrap().iter().map(|session| session.number).collect()
    };
    assert_eq!((numbers(first.run), numbers(second.run)), (vec![1, 2], vec![1]));
    assert_eq!(history.between_sessions(first.run).unwrap().len(), 1);
    assert!(history.between_sessions(second.run).unwrap().is_empty());
}

#[tokio::test]
async fn a_resumed_run_keeps_its_start_commit() {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    assert_eq!(history(&fixture).commits(start.run).unwrap(), None, "not recorded");
    assert_eq!(journal.record_start_commit(None).await.unwrap(), None);
    drop(journal);
    let (journal, again) = fixture.begin("run").await;
    assert_eq!(again.run, start.run);
    assert_eq!(
        journal.record_start_commit(Some("c1")).await.unwrap(),
        None,
        "nothing was committed at the start"
    );
    journal.record_end_commit(Some("c2")).await.unwrap();
    end_run(&journal, RunOutcome::AllPassed).await;
    drop(journal);
    let (journal, next) = fixture.begin("run").await;
    assert_eq!(journal.record_start_commit(Some("c2")).await.unwrap().as_deref(), Some("c2"));

    let commits = |run| history(&fixture).commits(run).unwrap().expect("recorded");
    assert_eq!(commits(start.run), RunCommits { before: None, after: Some("c2".to_owned()) });
    assert_eq!(commits(next.run), RunCommits { before: Some("c2".to_owned()), after: None });
}

#[tokio::test]
async fn a_journal_of_an_earlier_version_can_still_be_read() {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    drop(journal);
    fixture
        .sql()
        .execute_batch("DROP TABLE recoveries; ALTER TABLE runs DROP COLUMN spec; DROP TABLE outages; DROP TABLE said; DROP TABLE plans; DROP TABLE commits; PRAGMA user_version = 2")
        .unwrap();
    assert_eq!(history(&fixture).commits(start.run).unwrap(), None);
    assert_eq!(history(&fixture).status_origin().unwrap(), None);
    let (journal, _) = fixture.begin("run").await;
    assert_eq!(
        journal.record_start_commit(Some("c1")).await.unwrap().as_deref(),
        Some("c1"),
        "the table is created"
    );
}

#[tokio::test]
async fn a_journal_opened_outside_a_run_has_no_runs() {
    let fixture = StoreFixture::new();
    let path = fixture.project.journal_file();
    drop(
        autonoe_store::SqliteJournal::open(&path, "spec", Timestamp::now(), Default::default())
            .await
            .unwrap(),
    );
    assert!(history(&fixture).last_run().unwrap().is_none());
    assert_eq!(history(&fixture).total_cost().unwrap(), (0.0, false));
}

#[test]
fn a_journal_without_tables_has_no_history() {
    let fixture = StoreFixture::new();
    fixture.project.check_writable().unwrap();
    let path = fixture.project.journal_file();
    fs::write(&path, "").unwrap();
    assert!(History::open(&path).unwrap().is_none(), "an empty file");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "journal_mode", "WAL").unwrap();
    assert!(History::open(&path).unwrap().is_none(), "a database without tables");
}

#[test]
fn a_journal_whose_creation_was_cut_off_has_no_history() {
    let fixture = StoreFixture::new();
    fixture.project.check_writable().unwrap();
    let path = fixture.project.journal_file();
    let source = fixture.dir.path().join("source.db");
    let db = rusqlite::Connection::open(&source).unwrap();
    // Some of the transaction is in the file already, with what undoes it beside it.
    db.execute_batch("PRAGMA cache_size = 1; BEGIN; CREATE TABLE x (a);").unwrap();
    for _ in 0..2000 {
        db.execute("INSERT INTO x VALUES (?1)", ["y".repeat(500)]).unwrap();
    }
    fs::copy(&source, &path).unwrap();
    fs::copy(source.with_extension("db-journal"), path.with_extension("db-journal")).unwrap();
    assert!(History::open(&path).unwrap().is_none());
}
