//! Runs: begun, ended, or left unfinished by a process that died and taken up by the next one.
//! A process dies here by dropping its journal without recording the end of the run.

use std::time::Duration;

use autonoe_core::journal::{Journal as _, Record};
use autonoe_core::money::Usd;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::quota::QuotaWait;
use jiff::{SignedDuration, Timestamp};

use crate::support::{Bench, end_run, ended, error, session, started, usage};

#[tokio::test]
async fn a_new_run_starts_from_nothing() {
    let bench = Bench::new();
    let (journal, begun) = bench.begin("run").await;
    assert!(!begun.resumed);
    assert_eq!(begun.run, journal.run());
    assert_eq!((begun.state.sessions, begun.state.iterations, begun.state.errors), (0, 0, 0));
    assert_eq!(begun.state.spent.cost, Usd::ZERO);
    assert!(!begun.state.spent.unpriced);
    assert_eq!(begun.state.time_before, Duration::ZERO);
    assert_eq!(begun.state.quota, None);
}

#[tokio::test]
async fn a_run_that_ended_is_not_taken_up() {
    let bench = Bench::new();
    let (journal, first) = bench.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.cost(1, &usage(Some(0.5))).await.unwrap();
    end_run(&journal, RunOutcome::Interrupted).await;
    drop(journal);

    let (_journal, second) = bench.begin("run").await;
    assert!(!second.resumed);
    assert_ne!(second.run, first.run);
    assert_eq!(second.state.sessions, 0);
    assert_eq!(second.state.spent.cost, Usd::ZERO, "each run has its own budget");
}

#[tokio::test]
async fn a_run_whose_process_died_goes_on_with_what_it_had() {
    let bench = Bench::new();
    let (journal, first) = bench.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.cost(1, &usage(Some(0.25))).await.unwrap();
    session(&journal, 2, error()).await;
    journal.cost(2, &usage(Some(0.5))).await.unwrap();
    journal.record(started(3)).await.unwrap();
    journal.cost(3, &usage(Some(1.0))).await.unwrap();
    drop(journal);

    let (_journal, second) = bench.begin("run").await;
    assert!(second.resumed);
    assert_eq!(second.run, first.run);
    let state = second.state;
    assert_eq!(state.sessions, 3, "numbers go on after the session that was cut off");
    assert_eq!(state.iterations, 2, "a session that was cut off does not count");
    assert_eq!(state.errors, 1);
    assert_eq!(state.spent.cost, Usd(1.75), "what the session that was cut off cost is spent all the same");
    assert_eq!((state.spent.input_tokens, state.spent.output_tokens), (3 * 107, 60));
    assert!(!state.spent.unpriced);
    assert_eq!(state.time_before, Duration::from_secs(20));
}

#[tokio::test]
async fn a_session_that_was_cut_off_is_closed_as_interrupted() {
    let bench = Bench::new();
    let (journal, _) = bench.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.record(started(2)).await.unwrap();
    drop(journal);
    assert_eq!(bench.count("sessions WHERE ended_at IS NULL"), 1);

    let (journal, _) = bench.begin("run").await;
    drop(journal);
    assert_eq!(bench.count("sessions WHERE ended_at IS NULL"), 0);
    let history = autonoe_store::journal::history::History::open(&bench.project.journal_file());
    let sessions = history.unwrap().unwrap().sessions(10).unwrap();
    let outcomes: Vec<_> = sessions.into_iter().map(|session| session.outcome).collect();
    assert_eq!(outcomes, [Some(SessionEnd::Interrupted), Some(SessionEnd::Completed)]);
}

#[tokio::test]
async fn errors_count_in_a_row_and_what_the_quota_or_the_user_ended_is_no_iteration() {
    let quota = || SessionEnd::QuotaExceeded { message: "limit".to_owned(), resets_at: None };
    for (outcomes, iterations, errors) in [
        (vec![error(), error()], 2, 2),
        (vec![error(), SessionEnd::Completed], 2, 0),
        (vec![error(), SessionEnd::MaxTurns, error()], 3, 1),
        (vec![error(), quota(), error()], 2, 2),
        (vec![error(), SessionEnd::Interrupted], 1, 1),
        (vec![quota(), quota()], 0, 0),
    ] {
        let bench = Bench::new();
        let (journal, _) = bench.begin("run").await;
        for (number, outcome) in (1..).zip(outcomes.clone()) {
            session(&journal, number, outcome).await;
        }
        drop(journal);
        let (_journal, begun) = bench.begin("run").await;
        assert_eq!((begun.state.iterations, begun.state.errors), (iterations, errors), "{outcomes:?}");
    }
}

#[tokio::test]
async fn an_unknown_price_stays_unknown() {
    let bench = Bench::new();
    let (journal, _) = bench.begin("run").await;
    journal.record(started(1)).await.unwrap();
    journal.cost(1, &usage(Some(0.5))).await.unwrap();
    journal.cost(1, &usage(None)).await.unwrap();
    drop(journal);
    let (_journal, begun) = bench.begin("run").await;
    assert!(begun.state.spent.unpriced);
    assert_eq!(begun.state.spent.cost, Usd(0.5));
    assert_eq!(begun.state.spent.total(), None);
}

#[tokio::test]
async fn another_command_begins_anew_and_closes_what_was_left() {
    let bench = Bench::new();
    let (journal, first) = bench.begin("run").await;
    journal.record(started(1)).await.unwrap();
    drop(journal);

    let (journal, sync) = bench.begin("sync").await;
    assert!(!sync.resumed);
    assert_ne!(sync.run, first.run);
    assert_eq!(sync.state.sessions, 0);
    assert_eq!(bench.count(&format!("runs WHERE id = {} AND ended_at IS NOT NULL", first.run)), 1);
    drop(journal);

    let (_journal, third) = bench.begin("run").await;
    assert!(!third.resumed, "a run that was closed stays closed");
}

#[tokio::test]
async fn a_run_survives_any_number_of_deaths() {
    let bench = Bench::new();
    for number in 1..=4 {
        let (journal, begun) = bench.begin("run").await;
        assert_eq!(begun.state.sessions, number - 1);
        assert_eq!(begun.state.iterations, number - 1);
        session(&journal, number, SessionEnd::Completed).await;
    }
    assert_eq!(bench.count("runs"), 1);
}

#[tokio::test]
async fn a_session_that_ended_twice_is_counted_once() {
    let bench = Bench::new();
    let (journal, _) = bench.begin("run").await;
    session(&journal, 1, SessionEnd::Completed).await;
    journal.record(ended(1, SessionEnd::Completed, 10)).await.unwrap();
    drop(journal);
    let (_journal, begun) = bench.begin("run").await;
    assert_eq!((begun.state.sessions, begun.state.iterations), (1, 1));
    assert_eq!(begun.state.time_before, Duration::from_secs(10));
}

#[tokio::test]
async fn a_quota_wait_that_lies_ahead_is_kept_by_this_run_and_by_a_new_one() {
    let now = Timestamp::now();
    let wait = QuotaWait { until: now + SignedDuration::from_hours(2), resets_at: Some(now) };
    for end in [None, Some(RunOutcome::Interrupted)] {
        let bench = Bench::new();
        let (journal, _) = bench.begin_at("run", "spec", now).await;
        journal.record(Record::QuotaWait(QuotaWait { until: now, resets_at: None })).await.unwrap();
        journal.record(Record::QuotaWait(wait)).await.unwrap();
        if let Some(outcome) = end.clone() {
            end_run(&journal, outcome).await;
        }
        drop(journal);

        let (journal, begun) = bench.begin_at("run", "spec", now).await;
        assert_eq!(begun.resumed, end.is_none());
        assert_eq!(begun.state.quota, Some(wait), "the newest one counts");
        end_run(&journal, RunOutcome::Interrupted).await;
        drop(journal);

        let (_journal, later) = bench.begin_at("sync", "spec", wait.until).await;
        assert_eq!(later.state.quota, None, "the time has come");
    }
}

#[tokio::test]
async fn a_visit_leaves_runs_as_they_are() {
    let bench = Bench::new();
    let (journal, first) = bench.begin("run").await;
    journal.record(started(1)).await.unwrap();
    drop(journal);
    let path = bench.project.journal_file();
    let visitor = autonoe_store::Journal::visit(&path, "spec", Timestamp::now(), Default::default());
    drop(visitor.await.unwrap());
    assert_eq!(bench.count("sessions WHERE ended_at IS NULL"), 1);
    let (_journal, second) = bench.begin("run").await;
    assert!(second.resumed);
    assert_eq!(second.run, first.run);
}
