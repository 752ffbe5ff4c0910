//! Runs: started, ended, or left unfinished by a dead process and resumed by the next one. A process dies here by
//! dropping its journal without recording the end of the run.

use std::sync::Arc;
use std::time::Duration;

use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::quota::QuotaWait;
use autonoe_store::SqliteJournal;
use autonoe_store::journal::{JournalOptions, RunsInProgress};
use jiff::{SignedDuration, Timestamp};

use crate::support::{StoreFixture, end_run, ended, error, session, started, usage};

#[tokio::test]
async fn a_new_run_starts_from_nothing() {
    let fixture = StoreFixture::new();
    let (journal, start) = fixture.begin("run").await;
    assert!(!start.resumed);
    assert_eq!(start.run, journal.run());
    assert_eq!((start.state.sessions, start.state.iterations, start.state.errors), (0, 0, 0));
    assert_eq!(start.state.spent.cost, Usd::ZERO);
    assert!(!start.state.spent.unpriced);
    assert_eq!(start.state.time_before, Duration::ZERO);
    assert_eq!(start.state.quota, None);
}

#[tokio::test]
async fn a_run_that_ended_is_not_resumed() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.cost(1, &usage(Some(0.5))).await.unwrap();
    end_run(&journal, RunOutcome::Interrupted).await;
    drop(journal);

    let (_journal, second) = fixture.begin("run").await;
    assert!(!second.resumed);
    assert_ne!(second.run, first.run);
    assert_eq!(second.state.sessions, 0);
    assert_eq!(second.state.spent.cost, Usd::ZERO, "each run has its own budget");
}

#[tokio::test]
async fn a_run_whose_process_died_is_resumed_with_its_state() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.cost(1, &usage(Some(0.25))).await.unwrap();
    session(&journal, 2, error()).await;
    journal.cost(2, &usage(Some(0.5))).await.unwrap();
    journal.record(started(3)).await.unwrap();
    journal.cost(3, &usage(Some(1.0))).await.unwrap();
    drop(journal);

    let (_journal, second) = fixture.begin("run").await;
    assert!(second.resumed);
    assert_eq!(second.run, first.run);
    let state = second.state;
    assert_eq!(state.sessions, 3, "numbering continues after the session that was cut off");
    assert_eq!(state.iterations, 2, "a session that was cut off does not count");
    assert_eq!(state.errors, 1);
    assert_eq!(state.spent.cost, Usd(1.75), "the cost of the session that was cut off counts");
    assert_eq!((state.spent.input_tokens, state.spent.output_tokens), (3 * 107, 60));
    assert!(!state.spent.unpriced);
    assert_eq!(state.time_before, Duration::from_secs(20));
}

#[tokio::test]
async fn a_session_that_was_cut_off_is_closed_as_interrupted() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.record(started(2)).await.unwrap();
    drop(journal);
    assert_eq!(fixture.count("sessions WHERE ended_at IS NULL"), 1);

    let (journal, _) = fixture.begin("run").await;
    drop(journal);
    assert_eq!(fixture.count("sessions WHERE ended_at IS NULL"), 0);
    let history = autonoe_store::journal::history::History::open(&fixture.project.journal_file());
    let sessions = history.unwrap().unwrap().sessions(10).unwrap();
    let outcomes: Vec<_> = sessions.into_iter().map(|session| session.outcome).collect();
    assert_eq!(outcomes, [Some(SessionEnd::Interrupted), Some(SessionEnd::Completed)]);
}

#[tokio::test]
async fn consecutive_errors_count_and_sessions_ended_by_quota_or_user_are_not_iterations() {
    let quota = || SessionEnd::QuotaExceeded { message: "limit".to_owned(), resets_at: None };
    for (outcomes, iterations, errors) in [
        (vec![error(), error()], 2, 2),
        (vec![error(), SessionEnd::Completed], 2, 0),
        (vec![error(), SessionEnd::MaxTurns, error()], 3, 1),
        (vec![error(), quota(), error()], 2, 2),
        (vec![error(), SessionEnd::Interrupted], 1, 1),
        (vec![quota(), quota()], 0, 0),
    ] {
        let fixture = StoreFixture::new();
        let (journal, _) = fixture.begin("run").await;
        for (number, outcome) in (1..).zip(outcomes.clone()) {
            session(&journal, number, outcome).await;
        }
        drop(journal);
        let (_journal, start) = fixture.begin("run").await;
        assert_eq!((start.state.iterations, start.state.errors), (iterations, errors), "{outcomes:?}");
    }
}

#[tokio::test]
async fn an_unknown_price_stays_unknown() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    journal.cost(1, &usage(Some(0.5))).await.unwrap();
    journal.cost(1, &usage(None)).await.unwrap();
    drop(journal);
    let (_journal, start) = fixture.begin("run").await;
    assert!(start.state.spent.unpriced);
    assert_eq!(start.state.spent.cost, Usd(0.5));
    assert_eq!(start.state.spent.total(), None);
}

#[tokio::test]
async fn another_command_starts_a_new_run_and_closes_the_unfinished_one() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    drop(journal);

    let (journal, sync) = fixture.begin("sync").await;
    assert!(!sync.resumed);
    assert_ne!(sync.run, first.run);
    assert_eq!(sync.state.sessions, 0);
    assert_eq!(fixture.count(&format!("runs WHERE id = {} AND ended_at IS NOT NULL", first.run)), 1);
    drop(journal);

    let (_journal, third) = fixture.begin("run").await;
    assert!(!third.resumed, "a run that was closed stays closed");
}

#[tokio::test]
async fn a_run_survives_any_number_of_kills() {
    let fixture = StoreFixture::new();
    for number in 1..=4 {
        let (journal, start) = fixture.begin("run").await;
        assert_eq!(start.state.sessions, number - 1);
        assert_eq!(start.state.iterations, number - 1);
        session(&journal, number, SessionEnd::Completed).await;
    }
    assert_eq!(fixture.count("runs"), 1);
}

#[tokio::test]
async fn a_session_that_ended_twice_is_counted_once() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.record(ended(1, SessionEnd::Completed, 10)).await.unwrap();
    drop(journal);
    let (_journal, start) = fixture.begin("run").await;
    assert_eq!((start.state.sessions, start.state.iterations), (1, 1));
    assert_eq!(start.state.time_before, Duration::from_secs(10));
}

#[tokio::test]
async fn a_future_quota_wait_is_kept_by_this_run_and_by_a_new_one() {
    let now = Timestamp::now();
    let wait = QuotaWait { until: now + SignedDuration::from_hours(2), resets_at: Some(now) };
    for end in [None, Some(RunOutcome::Interrupted)] {
        let fixture = StoreFixture::new();
        let (journal, _) = fixture.begin_at("run", "spec", now).await;
        journal.record(JournalRecord::QuotaWait(QuotaWait { until: now, resets_at: None })).await.unwrap();
        journal.record(JournalRecord::QuotaWait(wait)).await.unwrap();
        if let Some(outcome) = end.clone() {
            end_run(&journal, outcome).await;
        }
        drop(journal);

        let (journal, start) = fixture.begin_at("run", "spec", now).await;
        assert_eq!(start.resumed, end.is_none());
        assert_eq!(start.state.quota, Some(wait), "the latest one counts");
        end_run(&journal, RunOutcome::Interrupted).await;
        drop(journal);

        let (_journal, later) = fixture.begin_at("sync", "spec", wait.until).await;
        assert_eq!(later.state.quota, None, "the wait is over");
    }
}

#[tokio::test]
async fn opening_outside_a_run_leaves_runs_unchanged() {
    let fixture = StoreFixture::new();
    let (journal, first) = fixture.begin("run").await;
    journal.record(started(1)).await.unwrap();
    drop(journal);
    let path = fixture.project.journal_file();
    let outside = SqliteJournal::open(&path, "spec", Timestamp::now(), Default::default());
    drop(outside.await.unwrap());
    assert_eq!(fixture.count("sessions WHERE ended_at IS NULL"), 1);
    let (_journal, second) = fixture.begin("run").await;
    assert!(second.resumed);
    assert_eq!(second.run, first.run);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_may_make_the_journal_at_the_same_time() {
    for _ in 0..20 {
        let fixture = StoreFixture::new();
        let path = fixture.project.journal_file();
        let opening = (0..4).map(|_| {
            let path = path.clone();
            tokio::spawn(async move {
                SqliteJournal::open(&path, "spec", Timestamp::now(), Default::default()).await.map(drop)
            })
        });
        for opened in opening.collect::<Vec<_>>() {
            opened.await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn a_run_in_progress_is_neither_ended_nor_resumed_by_another_process() {
    let fixture = StoreFixture::new();
    let begin = async |command: &str, in_progress: RunsInProgress| {
        let options = JournalOptions { in_progress, ..JournalOptions::default() };
        fixture.try_begin(command, "spec", Timestamp::now(), options).await.unwrap()
    };
    let open = || fixture.count("runs WHERE ended_at IS NULL");
    let (_killed, _) = begin("agent run one", RunsInProgress::default()).await;
    let (run, started) = begin("run", RunsInProgress::default()).await;
    assert_eq!(open(), 1);
    let (_agent, agent) = begin("agent run one", RunsInProgress { agents: vec![], deliverables: true }).await;
    assert_eq!(open(), 2);
    drop(run);
    let (run, resumed) = begin("run", RunsInProgress { agents: vec![agent.run], deliverables: false }).await;
    assert_eq!((resumed.resumed, resumed.run, open()), (true, started.run, 2));
    end_run(&run, RunOutcome::AllPassed).await;
    assert_eq!(open(), 1, "that of the agent");
}

#[tokio::test]
async fn two_processes_write_at_the_same_time() {
    let fixture = StoreFixture::new();
    let (one, _) = fixture.begin("run").await;
    let (two, _) = fixture.begin("agent run one").await;
    let write = async |journal: Arc<SqliteJournal>| {
        for number in 1..=50 {
            session(&journal, number, SessionEnd::Completed).await;
        }
    };
    tokio::join!(tokio::spawn(write(one)), tokio::spawn(write(two))).0.unwrap();
    assert_eq!(fixture.count("sessions"), 100);
}

#[tokio::test]
async fn sessions_are_counted_for_their_deliverables_over_the_processes_of_a_run() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("run").await;
    let begin = |number, step: Option<&str>| {
        let JournalRecord::SessionStarted { instruction, backend, model, .. } = started(number) else {
            panic!("another record");
        };
        let step = step.map(str::to_owned);
        JournalRecord::SessionStarted { number, instruction, step, backend, model }
    };
    let steps = [None, Some("A"), Some("A, attempt 1 of 2"), Some("B")];
    for (number, step) in (1..).zip(steps) {
        journal.record(begin(number, step)).await.unwrap();
    }
    drop(journal);
    let (journal, _) = fixture.begin("run").await;
    journal.record(begin(5, Some("A"))).await.unwrap();
    let counted = journal.sessions_of_deliverables().await.unwrap();
    assert_eq!(counted, [("A".to_owned(), 3), ("B".to_owned(), 1)].into());
    end_run(&journal, RunOutcome::Interrupted).await;
    drop(journal);
    let (journal, _) = fixture.begin("run").await;
    assert!(journal.sessions_of_deliverables().await.unwrap().is_empty(), "another run");
}
