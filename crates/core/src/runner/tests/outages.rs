//! An unavailable model service: counted separately from errors, waited for up to a limit, replaced by a
//! fallback at once.

use super::{max_duration, max_iterations, max_retries, options};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{RunEvent, WaitReason};
use crate::journal::JournalRecord;
use crate::outage::Outage;
use crate::outcome::RunOutcome;
use crate::plan::RunState;
use crate::runner::RunOptions;
use crate::testing::script::{AgentScript, session, transient, unavailable};
use crate::testing::{MODELS, START, World, seconds, timestamp};

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn unavailable_session() -> AgentScript {
    session().finds_service_unavailable()
}

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

fn max_outage(limit: u64) -> RunOptions {
    RunOptions { max_outage: seconds(limit), ..max_retries(0) }
}

fn total_slept(world: &World) -> f64 {
    world.slept().iter().sum()
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_an_hour_is_waited_for_and_uses_no_retry() {
    let mut scripts: Vec<AgentScript> = (0..17).map(|_| unavailable_session()).collect();
    scripts.push(passes());
    let world = world(scripts);
    let report = world.run(max_retries(0)).await;
    assert_eq!(
        (report.outcome, report.iterations),
        (RunOutcome::AllPassed, 1),
        "a session that never reached a model does not count"
    );
    let pauses = (3 + 6 + 12 + 24 + 48 + 96 + 192) as f64 + 10.0 * 300.0;
    assert_eq!(total_slept(&world), pauses);
}

#[tokio::test(start_paused = true)]
async fn the_limit_ends_the_run_after_a_last_attempt() {
    let world = world((0..4).map(|_| unavailable_session()));
    let report = world.run(max_outage(15)).await;
    assert_eq!(report.outcome, RunOutcome::Outage { limit: seconds(15), fault: unavailable() });
    assert_eq!(report.exit_code, 6);
    assert_eq!(total_slept(&world), 15.0, "3, 6 and what is left of 15");
}

#[tokio::test(start_paused = true)]
async fn the_default_limit_is_two_hours() {
    let world = World::with(&[("A", Pending)]).forever(|_| unavailable_session());
    let report = world.run(options()).await;
    assert_eq!(report.outcome, RunOutcome::Outage { limit: seconds(7200), fault: unavailable() });
    assert_eq!(total_slept(&world), 7200.0);
}

#[tokio::test(start_paused = true)]
async fn time_in_failed_sessions_counts_but_clock_changes_do_not() {
    let slow = || {
        session().takes(seconds(10)).sets_clock(timestamp("2030-01-01T00:00:00Z")).finds_service_unavailable()
    };
    let world = world([slow(), slow(), slow()]);
    assert_eq!(world.run(max_outage(20)).await.outcome.name(), "outage");
    assert_eq!(total_slept(&world), 9.0, "3, 6 of 7 left; then 29 seconds are over");
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_agent_are_still_counted_separately() {
    let fails = || session().fails(transient("broke"));
    let report =
        world([fails(), unavailable_session(), unavailable_session(), fails()]).run(max_retries(1)).await;
    assert_eq!(report.outcome, RunOutcome::MaxRetriesExceeded { limit: 1, fault: transient("broke") });
}

#[tokio::test(start_paused = true)]
async fn a_service_that_replied_before_it_failed_starts_a_new_outage() {
    let served = || session().spends(0.1).finds_service_unavailable();
    let world =
        world([unavailable_session(), unavailable_session(), served(), unavailable_session(), passes()]);
    let report = world.run(options()).await;
    assert_eq!(
        (report.outcome, report.iterations),
        (RunOutcome::AllPassed, 2),
        "one session reached a model"
    );
    assert_eq!(total_slept(&world), 3.0 + 6.0 + 3.0 + 6.0);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_takes_over_at_once() {
    let world = world([unavailable_session(), passes()]).with_fallback("other-model");
    assert_eq!(world.run(options()).await.outcome, RunOutcome::AllPassed);
    let models: Vec<String> = world.opened().into_iter().map(|(_, model)| model).collect();
    assert_eq!(models, [MODELS.1, "other-model"]);
    assert_eq!(total_slept(&world), 0.0);
    assert!(world.records().contains(&JournalRecord::OutageOver), "the outage is over for the run");
}

#[tokio::test(start_paused = true)]
async fn outage_and_waiting_events_are_emitted() {
    let world = world([unavailable_session(), passes()]);
    world.run(options()).await;
    let start = timestamp(START);
    let expected = RunEvent::Outage {
        since: start,
        tries: 1,
        until: start + seconds(3),
        pause: seconds(3),
        gives_up_at: start + seconds(7200),
        message: "Connection refused.".to_owned(),
    };
    assert!(world.run_events().contains(&expected), "{:?}", world.run_events());
    let waits = world
        .run_events()
        .into_iter()
        .filter(|event| matches!(event, RunEvent::Waiting { reason: WaitReason::Service, .. }));
    assert_eq!(waits.count(), 3, "once a second");
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_waiting_and_counting() {
    let start = timestamp(START);
    let outage = Outage {
        since: start - seconds(3000),
        tries: 8,
        waited: seconds(3000),
        until: start + seconds(200),
        gives_up_at: start + seconds(500),
        message: "down".to_owned(),
    };
    let state = RunState { outage: Some(outage), ..RunState::default() };
    let world = world([unavailable_session(), unavailable_session()]);
    let report = world.run_from(state, max_outage(3300)).await;
    assert_eq!(report.outcome.name(), "outage");
    assert_eq!(total_slept(&world), 500.0, "the rest of the pause, then the rest of the limit");
}

#[tokio::test(start_paused = true)]
async fn limits_and_interrupts_end_the_wait() {
    let run = world([unavailable_session(), unavailable_session()]);
    let limit = seconds(5);
    assert_eq!(run.run(max_duration(limit)).await.outcome, RunOutcome::DurationExceeded { limit });
    assert_eq!(total_slept(&run), 5.0);
    let run = world([unavailable_session()]).interrupted_after(seconds(2));
    assert_eq!(run.run(options()).await.outcome, RunOutcome::Interrupted);
    let run = world([unavailable_session(), session().completes()]);
    assert_eq!(run.run(max_iterations(1)).await.outcome, RunOutcome::MaxIterations { limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn the_pause_is_as_long_as_the_service_requested() {
    let busy = session().fails(unavailable().retry_after(Some(seconds(90))));
    let world = world([busy, passes()]);
    world.run(options()).await;
    assert_eq!(total_slept(&world), 90.0);
}
