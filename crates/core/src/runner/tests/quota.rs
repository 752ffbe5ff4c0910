//! Seed 002 §3.4, quota handling; scenarios SR-Q001 to SR-Q006.

use std::time::Duration;

use super::{max_duration, max_iterations, options, waiting_for_quota};
use crate::clock::Clock;
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{RunEvent, WaitReason};
use crate::journal::JournalRecord;
use crate::outcome::RunOutcome;
use crate::plan::RunState;
use crate::quota::QuotaWait;
use crate::quota::WAITS_MAX;
use crate::runner::RunOptions;
use crate::testing::script::{AgentScript, out_of_quota, quota_exceeded, session, transient};
use crate::testing::{LogEntry, START, World, seconds, timestamp};

const RESET: &str = "2026-01-10T09:01:00Z";
/// Until the reset plus a margin of one minute, in seconds.
const WAIT: u64 = 120;

fn used_up() -> AgentScript {
    session().ends(out_of_quota(Some(timestamp(RESET))))
}

fn used_up_with_unknown_reset() -> AgentScript {
    session().ends(out_of_quota(None))
}

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

fn restored(until: &str, quota_waits: u32) -> RunState {
    let quota = QuotaWait { until: timestamp(until), resets_at: None };
    RunState { quota: Some(quota), quota_waits, ..RunState::default() }
}

/// The remaining times reported while waiting.
fn reported_remaining(world: &World) -> Vec<Duration> {
    let remaining = |event| match event {
        RunEvent::Waiting { remaining, .. } => Some(remaining),
        _ => None,
    };
    world.run_events().into_iter().filter_map(remaining).collect()
}

/// Recorded waits, in minutes from when each was recorded.
fn waits(world: &World) -> Vec<u64> {
    let mut now = timestamp(START);
    let wait = |entry| match entry {
        LogEntry::Slept(duration) => {
            now += duration;
            None
        }
        LogEntry::Recorded(JournalRecord::QuotaWait(wait)) => {
            Some(crate::clock::elapsed(now, wait.until).as_secs() / 60)
        }
        _ => None,
    };
    world.log().into_iter().filter_map(wait).collect()
}

#[tokio::test(start_paused = true)]
async fn sr_q001_waits_until_the_reset_plus_margin_and_resumes() {
    let world = world([used_up(), passes()]);
    let report = world.run(waiting_for_quota()).await;
    assert_eq!(report.outcome, RunOutcome::AllPassed);
    assert_eq!(world.now(), timestamp(START) + seconds(WAIT));
    assert_eq!(report.duration, seconds(WAIT));
}

#[tokio::test(start_paused = true)]
async fn sr_q001_a_quota_session_consumes_no_iteration() {
    let report = world([used_up(), passes()]).run(waiting_for_quota()).await;
    assert_eq!(report.iterations, 1);
    let options = RunOptions { wait_for_quota: true, ..max_iterations(1) };
    let report = world([used_up(), used_up_with_unknown_reset(), passes()]).run(options).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 1));
}

#[tokio::test(start_paused = true)]
async fn sr_q002_without_waiting_the_run_ends_with_the_vendors_message_and_reset() {
    let world = world([used_up()]);
    let report = world.run(options()).await;
    assert_eq!(report.outcome, quota_exceeded(Some(timestamp(RESET))));
    assert_eq!((report.iterations, world.slept().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn sr_q003_the_wait_is_reported_with_its_end_and_the_reset() {
    let world = world([used_up(), passes()]);
    world.run(waiting_for_quota()).await;
    let first = world.run_events().into_iter().find(|event| matches!(event, RunEvent::Waiting { .. }));
    let expected = RunEvent::Waiting {
        reason: WaitReason::Quota,
        until: timestamp(START) + seconds(WAIT),
        remaining: seconds(WAIT),
        resets_at: Some(timestamp(RESET)),
    };
    assert_eq!(first, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn sr_q005_an_interrupt_ends_the_wait() {
    let world = world([used_up()]).interrupted_after(Duration::from_millis(5_500));
    let report = world.run(waiting_for_quota()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::Interrupted, 0));
    assert_eq!(world.slept(), [1.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
}

#[tokio::test(start_paused = true)]
async fn sr_q006_the_remaining_time_is_reported_every_second_and_decreases() {
    let world = world([used_up(), passes()]);
    world.run(waiting_for_quota()).await;
    let expected: Vec<Duration> = (1..=WAIT).rev().map(seconds).collect();
    assert_eq!(reported_remaining(&world), expected);
    assert!(world.slept().iter().all(|&sleep| sleep == 1.0), "a second each, and no pause after it");
}

#[tokio::test(start_paused = true)]
async fn a_reset_in_the_past_still_waits_the_margin() {
    let past = Some(timestamp("2026-01-10T08:55:00Z"));
    let world = world([session().ends(out_of_quota(past)), passes()]);
    world.run(waiting_for_quota()).await;
    assert_eq!(world.now(), timestamp(START) + seconds(60));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_reset_backs_off_and_a_working_session_starts_over() {
    let unknown = |_| used_up_with_unknown_reset();
    let scripts = (0..6).map(unknown).chain([session().completes()]).chain((0..2).map(unknown));
    let world = world(scripts.chain([passes()]));
    world.run(RunOptions { session_delay: Duration::ZERO, ..waiting_for_quota() }).await;
    assert_eq!(waits(&world), [5, 10, 20, 40, 60, 60, 5, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_session_does_not_start_the_back_off_over() {
    let scripts = [used_up_with_unknown_reset(), session().fails(transient("broke"))];
    let world = world(scripts.into_iter().chain([used_up_with_unknown_reset(), passes()]));
    world.run(waiting_for_quota()).await;
    assert_eq!(waits(&world), [5, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_restored_from_an_earlier_process_comes_before_the_first_session() {
    let world = world([passes()]);
    let state = restored("2026-01-10T09:00:30Z", 1);
    let report = world.run_from(state, waiting_for_quota()).await;
    assert_eq!(report.outcome, RunOutcome::AllPassed);
    let slept = world.log().into_iter().take_while(|entry| !matches!(entry, LogEntry::Opened { .. }));
    assert_eq!(slept.filter(|entry| matches!(entry, LogEntry::Slept(_))).count(), 30);
    assert_eq!(world.slept().len(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_restored_wait_that_is_over_is_not_waited_for() {
    let world = world([passes()]);
    let state = restored("2026-01-10T08:59:00Z", 1);
    world.run_from(state, waiting_for_quota()).await;
    assert_eq!(world.slept().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_waiting_a_restored_wait_is_ignored() {
    let world = world([passes()]);
    let report = world.run_from(restored(RESET, 1), options()).await;
    assert_eq!((report.outcome, world.slept().len()), (RunOutcome::AllPassed, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_is_not_waited_for_again() {
    let world = world([session().completes(), passes()]);
    let state = restored("2026-01-10T09:00:30Z", 1);
    world.run_from(state, waiting_for_quota()).await;
    assert_eq!((reported_remaining(&world).len(), world.slept().last()), (30, Some(&3.0)));
}

#[tokio::test(start_paused = true)]
async fn invariant_4_after_the_last_wait_the_run_ends_as_out_of_quota() {
    let world = world([used_up_with_unknown_reset(), used_up_with_unknown_reset()]);
    let state = RunState { quota_waits: WAITS_MAX - 1, ..RunState::default() };
    let report = world.run_from(state, waiting_for_quota()).await;
    assert_eq!((report.outcome, report.exit_code), (quota_exceeded(None), 5));
    assert_eq!(waits(&world), [60]);
}

#[tokio::test(start_paused = true)]
async fn max_duration_ends_a_wait() {
    let world = world([used_up()]);
    let limit = seconds(10);
    let report = world.run(RunOptions { wait_for_quota: true, ..max_duration(limit) }).await;
    assert_eq!((report.outcome, report.duration), (RunOutcome::DurationExceeded { limit }, limit));
}

#[tokio::test(start_paused = true)]
async fn the_cost_of_a_quota_session_is_counted() {
    let spending = session().spends(0.25).ends(out_of_quota(Some(timestamp(RESET))));
    let report =
        world([spending, session().spends(0.5).passes("A").completes()]).run(waiting_for_quota()).await;
    assert_eq!(report.cost_usd, Some(crate::money::Usd(0.75)));
}
