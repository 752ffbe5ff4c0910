//! Passes of `sync`: what was verified survives a restart, until the pass ends or the specification changes.

use std::collections::BTreeSet;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, Record};
use autonoe_core::ledger::Ledger;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::plans::VerificationReader;
use autonoe_core::verification::Verification;
use autonoe_store::Journal;
use jiff::Timestamp;

use crate::support::{Bench, end_run};

fn pass(synced: bool, verified: &[&str]) -> Verification {
    Verification { synced, verified: verified.iter().map(|id| (*id).to_owned()).collect() }
}

/// The end of a sync session that did its work.
fn synced() -> Record {
    Record::SessionEnded {
        number: 1,
        instruction: Phase::Sync,
        outcome: SessionEnd::Completed,
        spent: Ledger::default(),
        duration: Duration::ZERO,
        said: None,
    }
}

/// A pass that is synced and has verified A and B; its process has died.
async fn under_way(bench: &Bench, spec: &str) {
    let (journal, _) = bench.begin_at("sync", spec, Timestamp::now()).await;
    journal.record(synced()).await.unwrap();
    for id in ["A", "B", "A"] {
        journal.verified(id).await.unwrap();
    }
    assert_eq!(journal.verification().await.unwrap(), pass(true, &["A", "B"]));
}

async fn sync_of(bench: &Bench, spec: &str) -> Verification {
    let (journal, _) = bench.begin_at("sync", spec, Timestamp::now()).await;
    journal.verification().await.unwrap()
}

#[tokio::test]
async fn a_first_pass_knows_nothing() {
    assert_eq!(sync_of(&Bench::new(), "one").await, Verification::default());
}

#[tokio::test]
async fn what_was_verified_survives_a_restart() {
    let bench = Bench::new();
    under_way(&bench, "one").await;
    assert_eq!(sync_of(&bench, "one").await, pass(true, &["A", "B"]));
}

#[tokio::test]
async fn a_changed_specification_starts_anew_and_the_old_one_does_not_come_back() {
    let bench = Bench::new();
    under_way(&bench, "one").await;
    assert_eq!(sync_of(&bench, "two").await, Verification::default());
    assert_eq!(sync_of(&bench, "one").await, Verification::default());
    assert_eq!(bench.count("passes"), 3);
    assert_eq!(bench.count("passes WHERE ended_at IS NULL"), 1);
}

#[tokio::test]
async fn a_pass_ends_with_its_complete_verification_and_with_nothing_else() {
    let fault = || Fault::lasting(Layer::Model, "authentication_error", "The key is wrong.");
    for (outcome, goes_on) in [
        (RunOutcome::AllVerified, false),
        (RunOutcome::AllBlocked, false),
        (RunOutcome::Interrupted, true),
        (RunOutcome::MaxIterations { limit: 3 }, true),
        (RunOutcome::QuotaExceeded { message: "limit".to_owned(), resets_at: None }, true),
        (RunOutcome::Stuck { idle_sessions: 10 }, true),
        (RunOutcome::Failed { fault: fault() }, true),
    ] {
        let bench = Bench::new();
        under_way(&bench, "one").await;
        let (journal, _) = bench.begin_at("sync", "one", Timestamp::now()).await;
        end_run(&journal, outcome.clone()).await;
        drop(journal);
        let wanted = if goes_on { pass(true, &["A", "B"]) } else { Verification::default() };
        assert_eq!(sync_of(&bench, "one").await, wanted, "after {outcome:?}");
    }
}

#[tokio::test]
async fn a_run_between_two_syncs_does_not_touch_the_pass() {
    for outcome in [RunOutcome::AllPassed, RunOutcome::AllBlocked] {
        let bench = Bench::new();
        under_way(&bench, "one").await;
        let (journal, _) = bench.begin_at("run", "one", Timestamp::now()).await;
        end_run(&journal, outcome.clone()).await;
        drop(journal);
        assert_eq!(sync_of(&bench, "one").await, pass(true, &["A", "B"]), "after {outcome:?}");
    }
}

#[tokio::test]
async fn verifying_alone_does_not_make_a_pass_synced() {
    let bench = Bench::new();
    let (journal, _) = bench.begin("sync").await;
    journal.verified("A").await.unwrap();
    assert_eq!(journal.verification().await.unwrap(), pass(false, &["A"]));
}

#[tokio::test]
async fn a_visitor_verifies_in_the_same_pass() {
    let bench = Bench::new();
    under_way(&bench, "one").await;
    let path = bench.project.journal_file();
    let visitor = Journal::visit(&path, "one", Timestamp::now(), Default::default()).await.unwrap();
    visitor.verified("C").await.unwrap();
    drop(visitor);
    let ids: BTreeSet<String> = sync_of(&bench, "one").await.verified;
    assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["A", "B", "C"]);
}
