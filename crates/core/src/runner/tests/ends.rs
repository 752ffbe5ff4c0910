//! Seed 002 §3.4: each end alone, and which one wins when several apply at once.

use super::{max_cost, max_duration, max_iterations, max_retries, options, waiting_for_quota};
use crate::deliverable::DeliverableStatus::{Blocked, Passed, Pending};
use crate::fault::{Fault, FaultLayer};
use crate::limits::MAX_IDLE_SESSIONS;
use crate::money::Usd;
use crate::outcome::RunOutcome;
use crate::plan::RunState;
use crate::runner::RunOptions;
use crate::testing::script::{AgentScript, out_of_quota, permanent, quota_exceeded, session, transient};
use crate::testing::{World, seconds};

/// Outcome of a run over one pending deliverable with this one session.
async fn end_after(script: AgentScript, options: RunOptions) -> RunOutcome {
    World::with(&[("A", Pending)]).sessions([script]).run(options).await.outcome
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_written_ends_the_run_in_the_middle_of_a_session() {
    let full = Fault::permanent(FaultLayer::System, "status_file", "No space left on device.");
    let world = World::with(&[("A", Pending)]).sessions([session().halts(full.clone()).hangs()]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Failed { fault: full });
}

#[tokio::test(start_paused = true)]
async fn no_session_starts_if_its_changes_could_not_be_written() {
    let full = Fault::permanent(FaultLayer::System, "status_file", "No space left on device.");
    let world = World::with(&[("A", Pending)]).disk_full(full.clone());
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Failed { fault: full });
    assert!(world.opened().is_empty());
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_1_quota_exceeded_without_waiting() {
    let world = World::with(&[("A", Pending)]).sessions([session().ends(out_of_quota(None))]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.exit_code), (quota_exceeded(None), 5));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_achievable_passed() {
    let world = World::with(&[("A", Pending)]).sessions([session().passes("A").completes()]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::AllPassed, 0));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_3_all_blocked() {
    let world = World::with(&[("A", Pending)]).sessions([session().blocks("A").completes()]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::AllBlocked, 3));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_max_iterations_reached() {
    let world = World::with(&[("A", Pending)]).sessions([session().completes(), session().completes()]);
    let report = world.run(max_iterations(2)).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::MaxIterations { limit: 2 }, 4));
    assert_eq!(report.iterations, 2);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_5_user_interrupt_before_the_first_session() {
    let world = World::with(&[("A", Pending)]);
    world.interrupt.cancel();
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.exit_code), (RunOutcome::Interrupted, 130));
    assert_eq!((report.iterations, world.records().len()), (0, 1), "only the end of the run is on record");
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_5_user_interrupt_during_a_session() {
    let script = session().user_interrupts().says("still here").passes("A").completes();
    assert_eq!(end_after(script, options()).await, RunOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_user_cut_short_is_not_an_iteration() {
    let script = session().user_interrupts().says("still here").completes();
    assert_eq!(end_after(script, max_iterations(1)).await, RunOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_5_user_interrupt_between_sessions() {
    let world = World::with(&[("A", Pending)]).sessions([session().completes()]);
    let world = world.interrupted_after(seconds(1));
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Interrupted);
    assert_eq!(world.slept(), [1.0]);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_6_max_retries_exceeded() {
    let world = World::with(&[("A", Pending)]).sessions([session().fails(transient("broke"))]);
    let report = world.run(max_retries(0)).await;
    let expected = RunOutcome::MaxRetriesExceeded { limit: 0, fault: transient("broke") };
    assert_eq!((report.outcome, report.exit_code), (expected, 6));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_1_quota_without_waiting_beats_all_passed() {
    let script = session().passes("A").ends(out_of_quota(None));
    assert_eq!(end_after(script, options()).await, quota_exceeded(None));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_1_quota_without_waiting_beats_all_blocked() {
    let script = session().blocks("A").ends(out_of_quota(None));
    assert_eq!(end_after(script, options()).await, quota_exceeded(None));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_1_quota_without_waiting_beats_an_interrupt() {
    let script = session().user_interrupts().ends(out_of_quota(None));
    assert_eq!(end_after(script, options()).await, quota_exceeded(None));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_a_quota_that_would_be_waited_for() {
    let script = session().passes("A").ends(out_of_quota(None));
    assert_eq!(end_after(script, waiting_for_quota()).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_achievable_passed_beats_all_blocked() {
    let world = World::with(&[("A", Pending), ("B", Pending)]);
    let world = world.sessions([session().blocks("B").passes("A").completes()]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_max_iterations() {
    let script = session().passes("A").completes();
    assert_eq!(end_after(script, max_iterations(1)).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_max_cost() {
    let script = session().passes("A").spends(2.0).completes();
    assert_eq!(end_after(script, max_cost(1.0)).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_max_duration() {
    let script = session().passes("A").takes(seconds(60)).says("done").completes();
    assert_eq!(end_after(script, max_duration(seconds(60))).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_an_interrupt() {
    let script = session().passes("A").user_interrupts().completes();
    assert_eq!(end_after(script, options()).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_an_interrupt_before_the_first_session() {
    let world = World::with(&[("A", Passed)]);
    world.interrupt.cancel();
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_2_all_passed_beats_max_retries() {
    let script = session().passes("A").fails(transient("broke"));
    assert_eq!(end_after(script, max_retries(0)).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_3_all_blocked_beats_max_iterations() {
    let script = session().blocks("A").completes();
    assert_eq!(end_after(script, max_iterations(1)).await, RunOutcome::AllBlocked);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_3_all_blocked_beats_max_cost() {
    let script = session().blocks("A").spends(2.0).completes();
    assert_eq!(end_after(script, max_cost(1.0)).await, RunOutcome::AllBlocked);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_3_all_blocked_beats_max_duration() {
    let script = session().blocks("A").takes(seconds(60)).says("done").completes();
    assert_eq!(end_after(script, max_duration(seconds(60))).await, RunOutcome::AllBlocked);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_max_iterations_beats_an_interrupt() {
    let script = session().user_interrupts().completes();
    assert_eq!(end_after(script, max_iterations(1)).await, RunOutcome::MaxIterations { limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_max_cost_beats_an_interrupt() {
    let script = session().user_interrupts().spends(2.0).completes();
    let expected = RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) };
    assert_eq!(end_after(script, max_cost(1.0)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_max_duration_beats_an_interrupt() {
    let script = session().takes(seconds(60)).user_interrupts().completes();
    let expected = RunOutcome::DurationExceeded { limit: seconds(60) };
    assert_eq!(end_after(script, max_duration(seconds(60))).await, expected);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_a_limit_beats_an_interrupt_before_the_first_session() {
    let world = World::with(&[("A", Pending)]);
    world.interrupt.cancel();
    let state = RunState { iterations: 1, ..RunState::default() };
    let report = world.run_from(state, max_iterations(1)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_4_max_iterations_beats_max_retries() {
    let options = RunOptions { max_retries: 0, ..max_iterations(1) };
    let script = session().fails(transient("broke"));
    assert_eq!(end_after(script, options).await, RunOutcome::MaxIterations { limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_priority_5_an_interrupt_beats_max_retries() {
    let script = session().user_interrupts().fails(transient("broke"));
    assert_eq!(end_after(script, max_retries(0)).await, RunOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_fault_no_retry_can_fix_ends_the_run_at_once() {
    let expected = RunOutcome::Failed { fault: permanent("no_credentials") };
    assert_eq!(end_after(session().fails(permanent("no_credentials")), options()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn all_passed_beats_a_fault_no_retry_can_fix() {
    let script = session().passes("A").fails(permanent("no_credentials"));
    assert_eq!(end_after(script, options()).await, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn a_fault_no_retry_can_fix_beats_a_limit_and_an_interrupt() {
    let expected = RunOutcome::Failed { fault: permanent("no_credentials") };
    let script = session().user_interrupts().fails(permanent("no_credentials"));
    assert_eq!(end_after(script, max_iterations(1)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_blocked_rule_the_rest_passed_is_success_in_the_loop() {
    let world = World::with(&[("A", Pending), ("B", Blocked), ("C", Passed)]);
    let report = world.sessions([session().passes("A").completes()]).run(options()).await;
    assert_eq!(report.outcome, RunOutcome::AllPassed);
    assert_eq!(
        (report.plan.tally().passed, report.plan.tally().blocked, report.plan.tally().total),
        (2, 1, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_blocked_rule_one_open_deliverable_keeps_the_loop_going() {
    let world = World::with(&[("A", Pending), ("B", Blocked)]);
    let world = world.sessions([session().completes(), session().blocks("A").completes()]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllBlocked);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_blocked_rule_all_blocked_at_the_start_runs_no_session() {
    let report = World::with(&[("A", Blocked), ("B", Blocked)]).run(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllBlocked, 0));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_deprecated_rule_excluded_from_all_passed() {
    let world = World::with(&[("A", Pending), ("GONE", Pending)]).deprecated("GONE");
    let report = world.sessions([session().passes("A").completes()]).run(options()).await;
    assert_eq!((report.outcome, report.plan.tally().total), (RunOutcome::AllPassed, 1));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_deprecated_rule_excluded_from_all_blocked() {
    let world = World::with(&[("A", Blocked), ("GONE", Passed)]).deprecated("GONE");
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllBlocked);
}

#[tokio::test(start_paused = true)]
async fn ten_sessions_without_progress_are_stuck() {
    let world = World::with(&[("A", Pending)]);
    let world = world.sessions((0..MAX_IDLE_SESSIONS).map(|_| session().completes()));
    let report = world.run(options()).await;
    assert_eq!(
        (report.outcome, report.exit_code),
        (RunOutcome::Stuck { idle_sessions: MAX_IDLE_SESSIONS, tried: Vec::new() }, 7)
    );
}

#[tokio::test(start_paused = true)]
async fn progress_on_a_deliverable_resets_the_idle_count() {
    let idle = || (1..MAX_IDLE_SESSIONS).map(|_| session().completes());
    let progress = [session().passes("A").completes()];
    let done = [session().passes("B").completes()];
    let world = World::with(&[("A", Pending), ("B", Pending)]);
    let world = world.sessions(idle().chain(progress).chain(idle()).chain(done));
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn a_deliverable_that_returns_to_pending_is_progress_too() {
    let state = RunState { idle: MAX_IDLE_SESSIONS - 1, ..RunState::default() };
    let world = World::with(&[("A", Passed), ("B", Pending)]);
    let world = world.sessions([session().sets("A", Pending).completes(), session().completes()]);
    let report = world.run_from(state, max_iterations(2)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 2 });
}

#[tokio::test(start_paused = true)]
async fn a_limit_and_an_interrupt_beat_being_stuck() {
    let nearly_stuck = || RunState { idle: MAX_IDLE_SESSIONS - 1, ..RunState::default() };
    let world = || World::with(&[("A", Pending)]);
    let limited = world().sessions([session().completes()]);
    let report = limited.run_from(nearly_stuck(), max_iterations(1)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 1 });
    let interrupted = world().sessions([session().user_interrupts().completes()]);
    let report = interrupted.run_from(nearly_stuck(), options()).await;
    assert_eq!(report.outcome, RunOutcome::Interrupted);
}
