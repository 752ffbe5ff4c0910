//! Seed 002 §8.3 and §9.5: sync until it succeeded, then verify until every deliverable has been checked.

use crate::deliverable::DeliverableStatus::{Blocked, Passed, Pending};
use crate::instruction::Phase::{Sync, Verify};
use crate::journal::JournalRecord;
use crate::limits::{Limits, MAX_IDLE_SESSIONS};
use crate::outcome::{RunOutcome, SessionEnd};
use crate::runner::RunOptions;
use crate::testing::World;
use crate::testing::script::{AgentScript, out_of_quota, session, transient};

fn options() -> RunOptions {
    RunOptions::default()
}

fn max_iterations(limit: u32) -> RunOptions {
    let limits = Limits { max_iterations: std::num::NonZeroU32::new(limit), ..Limits::default() };
    RunOptions { limits, ..options() }
}

/// Sync sessions recorded as completed.
fn synced_times(world: &World) -> usize {
    let synced = |record: &&JournalRecord| {
        matches!(
            record,
            JournalRecord::SessionEnded { instruction: Sync, outcome: SessionEnd::Completed, .. }
        )
    };
    world.records().iter().filter(synced).count()
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_5_status_not_exists_created_with_all_deliverables_then_verified() {
    let world = World::new().sessions([
        session().creates("A").creates("B").completes(),
        session().passes("A").verifies("A").verifies("B").completes(),
    ]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::AllVerified, 0));
    assert_eq!(world.phases(), [Sync, Verify]);
    assert_eq!((report.plan.reviewed().verified, report.plan.reviewed().total), (2, 2));
    assert_eq!((report.plan.tally().passed, report.plan.tally().total), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_5_status_exists_a_new_deliverable_is_added_as_pending_and_verified_too() {
    let world = World::with(&[("A", Passed)]).sessions([
        session().creates("NEW").completes(),
        session().verifies("A").completes(),
        session().verifies("NEW").completes(),
    ]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.plan.reviewed().total), (RunOutcome::AllVerified, 2));
    assert_eq!(world.status().find("NEW").map(|item| item.status), Some(Pending));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_5_status_exists_a_removed_deliverable_is_kept_and_not_waited_for() {
    let world = World::with(&[("A", Pending), ("GONE", Passed)]).sessions([
        session().deprecates("GONE").completes(),
        session().passes("A").verifies("A").completes(),
    ]);
    let report = world.sync(options()).await;
    assert_eq!(
        (report.outcome, report.plan.reviewed().verified, report.plan.reviewed().total),
        (RunOutcome::AllVerified, 1, 1)
    );
    assert!(world.status().find("GONE").is_some_and(|item| !item.is_active()));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_5_status_exists_an_existing_match_is_verified_and_updated() {
    let world = World::with(&[("A", Passed), ("B", Pending)]).sessions([
        session().completes(),
        session().sets("A", Pending).verifies("A").passes("B").verifies("B").completes(),
    ]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.plan.tally().passed), (RunOutcome::AllVerified, 1));
    assert_eq!(world.status().find("B").map(|item| item.status), Some(Passed));
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_all_passed_is_not_verified() {
    let world = World::with(&[("A", Passed)]).sessions([
        session().completes(),
        session().completes(),
        session().verifies("A").completes(),
    ]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
    assert_eq!(world.phases(), [Sync, Verify, Verify]);
}

/// A sync session that ends like this must be repeated.
async fn assert_repeated(unfinished: AgentScript, options: RunOptions) {
    let world = World::with(&[("A", Pending)]).sessions([
        unfinished,
        session().completes(),
        session().verifies("A").completes(),
    ]);
    assert_eq!(world.sync(options).await.outcome, RunOutcome::AllVerified);
    assert_eq!(world.phases(), [Sync, Sync, Verify]);
    assert_eq!(synced_times(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_a_failed_sync_session_is_repeated() {
    assert_repeated(session().creates("B").verifies("B").fails(transient("broke")), options()).await;
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_a_silent_sync_session_is_repeated() {
    assert_repeated(session().says("synced"), options()).await;
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_a_sync_session_out_of_turns_is_repeated() {
    assert_repeated(session().ends(SessionEnd::MaxTurns), options()).await;
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_a_sync_session_out_of_quota_is_repeated() {
    let waiting = RunOptions { wait_for_quota: true, ..options() };
    assert_repeated(session().ends(out_of_quota(None)), waiting).await;
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_an_interrupted_sync_session_is_repeated_by_the_next_process() {
    let world = World::with(&[("A", Pending)]).sessions([session().user_interrupts().hangs()]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::Interrupted);
    assert_eq!(synced_times(&world), 0);
    let next = world.next_process();
    let next = next.sessions([session().completes(), session().verifies("A").completes()]);
    assert_eq!(next.sync(options()).await.outcome, RunOutcome::AllVerified);
    assert_eq!(next.phases(), [Sync, Sync, Verify]);
}

#[tokio::test(start_paused = true)]
async fn seed_002_8_3_3_a_failed_verify_session_does_not_sync_again() {
    let world = World::with(&[("A", Pending)]).sessions([
        session().completes(),
        session().fails(transient("broke")),
        session().verifies("A").completes(),
    ]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
    assert_eq!(world.phases(), [Sync, Verify, Verify]);
}

#[tokio::test(start_paused = true)]
async fn te_080_all_verified_before_the_start_runs_no_session() {
    let world = World::with(&[("A", Passed), ("B", Pending)]).with_pass(true, &["A", "B"]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllVerified, 0));
    assert_eq!((report.plan.reviewed().verified, report.plan.reviewed().total), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn te_081_not_all_verified_continues() {
    let world = World::with(&[("A", Pending), ("B", Pending)]).with_pass(true, &[]);
    let world = world.sessions([session().verifies("A").completes(), session().verifies("B").completes()]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
}

#[tokio::test(start_paused = true)]
async fn te_082_all_verified_beats_max_iterations() {
    let world = World::with(&[("A", Pending)]).with_pass(true, &[]);
    let world = world.sessions([session().verifies("A").completes()]);
    assert_eq!(world.sync(max_iterations(1)).await.outcome, RunOutcome::AllVerified);
}

#[tokio::test(start_paused = true)]
async fn te_083_what_was_verified_before_the_sync_succeeded_does_not_end_the_run() {
    let world = World::with(&[("A", Passed)]).with_pass(false, &["A"]).sessions([session().completes()]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllVerified, 1));
    assert_eq!(world.phases(), [Sync]);
}

#[tokio::test(start_paused = true)]
async fn a_restored_verification_is_not_repeated() {
    let world = World::with(&[("A", Passed), ("B", Pending)]).with_pass(true, &["A"]);
    let world = world.sessions([session().verifies("B").completes()]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
    assert_eq!(world.phases(), [Verify]);
}

#[tokio::test(start_paused = true)]
async fn limit_reached_while_verifying_exits_partial() {
    let world = World::with(&[("A", Pending), ("B", Pending)]);
    let world = world.sessions([session().completes(), session().verifies("A").completes()]);
    let report = world.sync(max_iterations(2)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 2 });
    assert_eq!((report.plan.reviewed().verified, report.plan.reviewed().total), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn all_verified_and_all_blocked_is_all_blocked() {
    let world = World::with(&[("A", Blocked), ("B", Pending)]).with_pass(true, &["A"]);
    let world = world.sessions([session().blocks("B").verifies("B").completes()]);
    let report = world.sync(options()).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::AllBlocked, 3));
}

#[tokio::test(start_paused = true)]
async fn all_blocked_and_not_all_verified_continues() {
    let world = World::with(&[("A", Blocked)]).with_pass(true, &[]);
    let world = world.sessions([session().sets("A", Pending).verifies("A").completes()]);
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_leaves_no_deliverables_is_an_error_that_counts() {
    let nothing = [World::new(), World::with(&[]), World::with(&[("GONE", Pending)]).deprecated("GONE")];
    for world in nothing {
        let world = world.sessions([session().completes(), session().completes()]);
        let report = world.sync(RunOptions { max_retries: 1, ..options() }).await;
        assert_eq!(report.outcome.name(), "max_retries_exceeded");
        assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("no_deliverables"));
        assert_eq!(world.phases(), [Sync, Sync], "there is nothing to verify");
    }
}

#[tokio::test(start_paused = true)]
async fn verify_sessions_that_verify_nothing_are_stuck() {
    let world = World::with(&[("A", Pending)]).with_pass(true, &[]);
    let world = world.sessions((0..MAX_IDLE_SESSIONS).map(|_| session().completes()));
    let report = world.sync(options()).await;
    assert_eq!(report.outcome, RunOutcome::Stuck { idle_sessions: MAX_IDLE_SESSIONS, tried: Vec::new() });
}

#[tokio::test(start_paused = true)]
async fn a_verified_deliverable_resets_the_idle_count() {
    let idle = || (1..MAX_IDLE_SESSIONS).map(|_| session().completes());
    let (progress, done) = ([session().verifies("A").completes()], [session().verifies("B").completes()]);
    let world = World::with(&[("A", Pending), ("B", Pending)]).with_pass(true, &[]);
    let world = world.sessions(idle().chain(progress).chain(idle()).chain(done));
    assert_eq!(world.sync(options()).await.outcome, RunOutcome::AllVerified);
}
