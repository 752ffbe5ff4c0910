//! Seed 002 §3.4, session error retry: what counts as an error, how many are allowed, and the pauses.

use super::{max_duration, max_iterations, max_retries, options};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::RunEvent;
use crate::fault::{Fault, FaultLayer};
use crate::outcome::{RunOutcome, SessionEnd};
use crate::runner::RunOptions;
use crate::testing::script::{AgentScript, cannot_open, out_of_quota, session, transient};
use crate::testing::{World, seconds};

fn failing() -> AgentScript {
    session().fails(transient("broke"))
}

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

#[tokio::test(start_paused = true)]
async fn te_051_as_many_errors_as_retries_continue() {
    let report = world([failing(), failing(), passes()]).run(max_retries(2)).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 3));
}

#[tokio::test(start_paused = true)]
async fn te_052_one_error_more_than_retries_stops() {
    let report = world([failing(), failing(), failing()]).run(max_retries(2)).await;
    let fault = transient("broke");
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 2, fault });
    assert_eq!(report.iterations, 3);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_three_retries_by_default() {
    let report = world((0..4).map(|_| failing())).run(options()).await;
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 3, fault: transient("broke") });
}

#[tokio::test(start_paused = true)]
async fn sc_v007_with_zero_retries_the_first_error_stops() {
    let report = world([failing()]).run(max_retries(0)).await;
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 0, fault: transient("broke") });
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_is_reported() {
    let report = world([failing(), cannot_open(transient("later"))]).run(max_retries(1)).await;
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 1, fault: transient("later") });
}

#[tokio::test(start_paused = true)]
async fn sc_s014_a_success_resets_the_counter() {
    let good = || session().completes();
    let scripts = [failing(), good(), failing(), good(), failing(), passes()];
    assert_eq!(world(scripts).run(max_retries(1)).await.outcome, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_quota_is_not_counted_as_an_error_and_does_not_reset_the_counter() {
    let quota = || session().ends(out_of_quota(None));
    let options = || RunOptions { wait_for_quota: true, ..max_retries(1) };
    let report = world([failing(), quota(), quota(), passes()]).run(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 2));
    let report = world([failing(), quota(), failing()]).run(options()).await;
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 1, fault: transient("broke") });
}

/// Two consecutive sessions of this kind are one too many with one retry.
async fn assert_counts(kind: impl Fn() -> AgentScript, code: &str) {
    let report = world([kind(), kind()]).run(max_retries(1)).await;
    let RunOutcome::MaxRetriesExceeded { limit: 1, fault } = report.outcome else {
        panic!("{code}: {:?}", report.outcome);
    };
    assert_eq!(fault.code, code);
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_execution_error_counts() {
    assert_counts(failing, "broke").await;
}

#[tokio::test(start_paused = true)]
async fn an_authentication_that_may_come_back_counts() {
    let fault =
        || Fault::transient(FaultLayer::Model, "authentication", "Invalid API key · Please run /login");
    assert_counts(|| session().says("Invalid API key").fails(fault()), "authentication").await;
}

#[tokio::test(start_paused = true)]
async fn invariant_1_a_stream_without_an_end_counts() {
    assert_counts(|| session().says("All done, everything works."), "no_end").await;
    assert_counts(session, "no_end").await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_opened_counts() {
    assert_counts(|| cannot_open(transient("not_installed")), "not_installed").await;
}

#[tokio::test(start_paused = true)]
async fn a_session_the_plan_calls_failed_counts() {
    let world = World::new().sessions([session().completes(), session().completes()]);
    let report = world.run(max_retries(1)).await;
    assert_eq!(report.outcome.name(), "max_retries_exceeded");
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("no_deliverables"));
}

/// An agent's process can be interrupted by something other than our user; that must not become an endless
/// loop.
#[tokio::test(start_paused = true)]
async fn invariant_4_an_initializer_that_reports_itself_interrupted_is_given_up() {
    let world = World::new().sessions((0..2).map(|_| session().ends(SessionEnd::Interrupted)));
    assert_eq!(world.run(max_retries(1)).await.outcome.name(), "max_retries_exceeded");
}

#[tokio::test(start_paused = true)]
async fn seed_000_max_turns_is_not_an_error() {
    let exhausted = || session().ends(SessionEnd::MaxTurns);
    let report = world([exhausted(), exhausted(), passes()]).run(max_retries(0)).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 3));
}

#[tokio::test(start_paused = true)]
async fn seed_002_3_4_every_retry_starts_a_fresh_session() {
    let world = world([failing(), failing(), passes()]);
    world.run(options()).await;
    assert_eq!(world.phases().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn sc_s010_the_delay_between_sessions_is_configurable() {
    let world = world([session().completes(), passes()]);
    world.run(RunOptions { session_delay: seconds(5), ..options() }).await;
    assert_eq!(world.slept(), [5.0]);
}

#[tokio::test(start_paused = true)]
async fn seed_000_three_seconds_between_sessions_and_none_after_the_last() {
    let world = world([session().completes(), session().completes(), passes()]);
    world.run(options()).await;
    assert_eq!(world.slept(), [3.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_with_errors_in_a_row_and_shrink_after_a_success() {
    let world = world([failing(), failing(), failing(), session().completes(), failing(), passes()]);
    world.run(options()).await;
    assert_eq!(world.slept(), [3.0, 6.0, 12.0, 3.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_as_long_as_the_other_side_requested() {
    let requesting = |wait| session().fails(transient("overloaded").retry_after(Some(seconds(wait))));
    let world = world([requesting(90), requesting(1), passes()]);
    world.run(options()).await;
    assert_eq!(world.slept(), [90.0, 6.0]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_says_how_many_errors_there_were_and_how_long_it_pauses() {
    let world = world([failing(), failing(), passes()]);
    world.run(max_retries(2)).await;
    let retries: Vec<RunEvent> =
        world.run_events().into_iter().filter(|event| matches!(event, RunEvent::Retrying { .. })).collect();
    let retrying = |errors, pause| RunEvent::Retrying {
        errors,
        max_retries: 2,
        pause: seconds(pause),
        message: "It broke.".to_owned(),
    };
    assert_eq!(retries, [retrying(1, 3), retrying(2, 6)]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_after_an_error_is_interruptible() {
    let fault = transient("overloaded").retry_after(Some(seconds(90)));
    let world = world([session().fails(fault)]).interrupted_after(seconds(20));
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Interrupted);
    assert_eq!(world.slept(), [20.0]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_when_the_time_is_up() {
    let fault = transient("overloaded").retry_after(Some(seconds(90)));
    let world = world([session().fails(fault)]);
    let limit = seconds(30);
    assert_eq!(world.run(max_duration(limit)).await.outcome, RunOutcome::DurationExceeded { limit });
    assert_eq!(world.slept(), [30.0]);
}

#[tokio::test(start_paused = true)]
async fn failed_sessions_are_iterations() {
    let report = world([failing(), failing()]).run(max_iterations(2)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 2 });
}

#[tokio::test(start_paused = true)]
async fn an_initializer_that_creates_nothing_is_tried_again_and_given_up() {
    let world = World::new().sessions((0..4).map(|_| session().completes()));
    let report = world.run(options()).await;
    assert_eq!((report.outcome.name(), report.iterations), ("max_retries_exceeded", 4));
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("no_deliverables"));
}
