//! Passes of `sync`: verified deliverables survive a restart, until the pass ends or the specification
//! changes.

use std::collections::BTreeSet;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::ledger::Ledger;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::plans::VerificationReader;
use autonoe_core::verification::Verification;
use autonoe_store::SqliteJournal;
use jiff::Timestamp;

use crate::support::{StoreFixture, end_run};

fn pass(synced: bool, verified: &[&str]) -> Verification {
    Verification { synced, verified: verified.iter().map(|id| (*id).to_owned()).collect() }
}

/// The end of a completed sync session.
fn synced() -> JournalRecord {
    JournalRecord::SessionEnded {
        number: 1,
        instruction: Phase::Sync,
        outcome: SessionEnd::Completed,
        spent: Ledger::default(),
        duration: Duration::ZERO,
        output: None,
    }
}

/// A synced pass that has verified A and B; its process has died.
async fn unfinished_pass(fixture: &StoreFixture, spec: &str) {
    let (journal, _) = fixture.begin_at("sync", spec, Timestamp::now()).await;
    journal.record(synced()).await.unwrap();
    for id in ["A", "B", "A"] {
        journal.verified(id).await.unwrap();
    }
    assert_eq!(journal.verification().await.unwrap(), pass(true, &["A", "B"]));
}

async fn sync_of(fixture: &StoreFixture, spec: &str) -> Verification {
    let (journal, _) = fixture.begin_at("sync", spec, Timestamp::now()).await;
    journal.verification().await.unwrap()
}

#[tokio::test]
async fn a_first_pass_is_empty() {
    assert_eq!(sync_of(&StoreFixture::new(), "one").await, Verification::default());
}

#[tokio::test]
async fn verified_deliverables_survive_a_restart() {
    let fixture = StoreFixture::new();
    unfinished_pass(&fixture, "one").await;
    assert_eq!(sync_of(&fixture, "one").await, pass(true, &["A", "B"]));
}

#[tokio::test]
async fn a_changed_specification_starts_from_scratch_and_the_old_pass_does_not_return() {
    let fixture = StoreFixture::new();
    unfinished_pass(&fixture, "one").await;
    assert_eq!(sync_of(&fixture, "two").await, Verification::default());
    assert_eq!(sync_of(&fixture, "one").await, Verification::default());
    assert_eq!(fixture.count("passes"), 3);
    assert_eq!(fixture.count("passes WHERE ended_at IS NULL"), 1);
}

#[tokio::test]
async fn a_pass_ends_only_when_everything_is_verified() {
    let fault = || Fault::permanent(FaultLayer::Model, "authentication_error", "The key is wrong.");
    for (outcome, continues) in [
        (RunOutcome::AllVerified, false),
        (RunOutcome::AllBlocked, false),
        (RunOutcome::Interrupted, true),
        (RunOutcome::MaxIterations { limit: 3 }, true),
        (RunOutcome::QuotaExceeded { message: "limit".to_owned(), resets_at: None }, true),
        (RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }, true),
        (RunOutcome::Failed { fault: fault() }, true),
    ] {
        let fixture = StoreFixture::new();
        unfinished_pass(&fixture, "one").await;
        let (journal, _) = fixture.begin_at("sync", "one", Timestamp::now()).await;
        end_run(&journal, outcome.clone()).await;
        drop(journal);
        let wanted = if continues { pass(true, &["A", "B"]) } else { Verification::default() };
        assert_eq!(sync_of(&fixture, "one").await, wanted, "after {outcome:?}");
    }
}

#[tokio::test]
async fn a_run_between_two_syncs_does_not_touch_the_pass() {
    for outcome in [RunOutcome::AllPassed, RunOutcome::AllBlocked] {
        let fixture = StoreFixture::new();
        unfinished_pass(&fixture, "one").await;
        let (journal, _) = fixture.begin_at("run", "one", Timestamp::now()).await;
        end_run(&journal, outcome.clone()).await;
        drop(journal);
        assert_eq!(sync_of(&fixture, "one").await, pass(true, &["A", "B"]), "after {outcome:?}");
    }
}

#[tokio::test]
async fn verifying_alone_does_not_make_a_pass_synced() {
    let fixture = StoreFixture::new();
    let (journal, _) = fixture.begin("sync").await;
    journal.verified("A").await.unwrap();
    assert_eq!(journal.verification().await.unwrap(), pass(false, &["A"]));
}

#[tokio::test]
async fn a_journal_opened_outside_a_run_uses_the_same_pass() {
    let fixture = StoreFixture::new();
    unfinished_pass(&fixture, "one").await;
    let path = fixture.project.journal_file();
    let outside = SqliteJournal::open(&path, "one", Timestamp::now(), Default::default()).await.unwrap();
    outside.verified("C").await.unwrap();
    drop(outside);
    let ids: BTreeSet<String> = sync_of(&fixture, "one").await.verified;
    assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["A", "B", "C"]);
}
