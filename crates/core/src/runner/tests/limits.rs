//! Limits of a run, and that a limit or an interrupt ends the current session.

use std::time::Duration;

use super::{max_cost, max_duration, max_iterations, options};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{AgentEvent, RunEvent};
use crate::fault::FaultLayer;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::money::Usd;
use crate::outcome::RunOutcome;
use crate::plan::RunState;
use crate::runner::RunOptions;
use crate::testing::script::{
    AgentScript, hangs_while_opening, interrupted_while_opening, session, transient,
};
use crate::testing::{LogEntry, World, seconds};

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).sessions(scripts)
}

/// The outcome of every session, as reported to the sinks.
fn sessions_ended(world: &World) -> Vec<Option<RunOutcome>> {
    let ended = |event| match event {
        RunEvent::SessionEnded { outcome, .. } => Some(outcome.ends_run()),
        _ => None,
    };
    world.run_events().into_iter().filter_map(ended).collect()
}

fn was_disposed_and_stopped(world: &World) -> bool {
    world.log().contains(&LogEntry::Disposed { stopped: true })
}

#[tokio::test(start_paused = true)]
async fn max_cost_ends_the_session_that_crosses_it() {
    let world =
        world([session().spends(0.6).says("first").spends(0.6).says("second").passes("A").completes()]);
    let report = world.run(max_cost(1.0)).await;
    let expected = RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) };
    assert_eq!((report.outcome, report.exit_code), (expected.clone(), 4));
    assert_eq!(report.cost_usd, Some(Usd(1.2)));
    assert_eq!(sessions_ended(&world), [Some(expected)]);
    assert!(was_disposed_and_stopped(&world));
}

#[tokio::test(start_paused = true)]
async fn events_after_max_cost_are_not_consumed() {
    let world = world([session().spends(1.0).says("too late").passes("A").completes()]);
    world.run(max_cost(1.0)).await;
    assert!(!world.shown().contains(&AgentEvent::Text { text: "too late".to_owned() }.into()));
    assert_eq!(world.status().tally().passed, 0, "the agent was stopped");
}

#[tokio::test(start_paused = true)]
async fn max_cost_counts_over_sessions() {
    let spending = || session().spends(0.4).completes();
    let report = world([spending(), spending(), spending()]).run(max_cost(1.0)).await;
    assert_eq!(report.outcome, RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) });
    assert_eq!(report.iterations, 3);
}

#[tokio::test(start_paused = true)]
async fn below_max_cost_the_run_continues() {
    let report = world([session().spends(0.99).completes(), passes()]).run(max_cost(1.0)).await;
    assert_eq!((report.outcome, report.cost_usd), (RunOutcome::AllPassed, Some(Usd(0.99))));
}

#[tokio::test(start_paused = true)]
async fn max_cost_cannot_be_enforced_without_a_price() {
    let world = world([session().spends(None).says("too late").passes("A").completes()]);
    let report = world.run(max_cost(1.0)).await;
    let RunOutcome::Failed { fault } = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(
        (fault.code.as_str(), fault.layer, report.exit_code),
        ("unknown_price", FaultLayer::Config, 2)
    );
    assert_eq!(world.status().tally().passed, 0, "the agent was stopped");
    assert!(was_disposed_and_stopped(&world));
}

#[tokio::test(start_paused = true)]
async fn without_max_cost_an_unknown_price_is_reported_as_unknown() {
    let report = world([session().spends(0.5).spends(None).passes("A").completes()]).run(options()).await;
    assert_eq!((report.outcome, report.cost_usd), (RunOutcome::AllPassed, None));
}

#[tokio::test(start_paused = true)]
async fn max_duration_ends_a_hanging_session() {
    let world = world([session().says("working").hangs()]);
    let limit = seconds(90);
    let report = world.run(max_duration(limit)).await;
    assert_eq!(report.outcome, RunOutcome::DurationExceeded { limit });
    assert_eq!((report.duration, report.exit_code), (limit, 4));
    assert!(was_disposed_and_stopped(&world));
}

#[tokio::test(start_paused = true)]
async fn max_duration_ends_a_session_that_hangs_while_opening() {
    let world = world([hangs_while_opening()]);
    let limit = seconds(90);
    assert_eq!(world.run(max_duration(limit)).await.outcome, RunOutcome::DurationExceeded { limit });
}

#[tokio::test(start_paused = true)]
async fn max_duration_counts_sessions_and_pauses() {
    let working = |time| session().takes(seconds(time)).completes();
    let limit = seconds(20);
    let world = world([working(10), working(10)]);
    let report = world.run(max_duration(limit)).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::DurationExceeded { limit }, 2));
    assert_eq!(report.duration, seconds(23), "ten, a pause of three, and ten");
}

#[tokio::test(start_paused = true)]
async fn max_duration_cuts_the_pause_between_sessions_short() {
    let world = world([session().takes(seconds(8)).completes()]);
    let limit = seconds(10);
    assert_eq!(world.run(max_duration(limit)).await.outcome, RunOutcome::DurationExceeded { limit });
    assert_eq!(world.slept(), [2.0]);
}

#[tokio::test(start_paused = true)]
async fn a_max_duration_beyond_the_end_of_the_calendar_is_unlimited() {
    assert_eq!(world([passes()]).run(max_duration(Duration::MAX)).await.outcome, RunOutcome::AllPassed);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_a_hanging_session_and_disposes_of_its_agent() {
    let world = world([session().says("working").user_interrupts().hangs()]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Interrupted);
    assert_eq!(sessions_ended(&world), [None], "an interrupted session");
    assert!(was_disposed_and_stopped(&world));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_a_session_that_hangs_while_opening() {
    let world = world([interrupted_while_opening()]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_the_time_runs_ends_the_session_first() {
    let world = world([session().hangs()]).interrupted_after(seconds(5));
    assert_eq!(world.run(max_duration(seconds(90))).await.outcome, RunOutcome::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn several_limits_at_once_end_by_iterations_then_cost_then_time() {
    let limits = Limits { max_cost: Some(Usd(1.0)), ..max_duration(seconds(1)).limits };
    let state = RunState {
        iterations: 1,
        spent: Ledger { cost: Usd(1.0), ..Ledger::default() },
        time_before: seconds(1),
        ..RunState::default()
    };
    let all = Limits { max_iterations: std::num::NonZeroU32::new(1), ..limits.clone() };
    assert_eq!(all.reached(&state, seconds(1)), Some(RunOutcome::MaxIterations { limit: 1 }));
    assert_eq!(limits.reached(&state, seconds(1)), Some(RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) }));
    let report = world([]).run_from(state, RunOptions { limits: all, ..options() }).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 1 });
}

#[tokio::test(start_paused = true)]
async fn iterations_of_an_earlier_process_count() {
    let state = RunState { sessions: 4, iterations: 3, ..RunState::default() };
    let report = world([session().completes()]).run_from(state, max_iterations(4)).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::MaxIterations { limit: 4 }, 4));
}

#[tokio::test(start_paused = true)]
async fn cost_of_an_earlier_process_counts() {
    let before = || Ledger { cost: Usd(0.75), ..Ledger::default() };
    let state = || RunState { spent: before(), ..RunState::default() };
    let report = world([session().spends(0.25).completes()]).run_from(state(), max_cost(1.0)).await;
    assert_eq!(report.outcome, RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) });
    assert_eq!(report.cost_usd, Some(Usd(1.0)));
    let report = world([]).run_from(state(), max_cost(0.75)).await;
    assert_eq!(report.outcome, RunOutcome::BudgetExceeded { limit_usd: Usd(0.75) });
}

#[tokio::test(start_paused = true)]
async fn time_of_an_earlier_process_counts() {
    let state = || RunState { time_before: seconds(80), ..RunState::default() };
    let limit = seconds(90);
    let report = world([session().hangs()]).run_from(state(), max_duration(limit)).await;
    assert_eq!((report.outcome, report.duration), (RunOutcome::DurationExceeded { limit }, limit));
    let report = world([]).run_from(state(), max_duration(seconds(80))).await;
    assert_eq!(report.outcome, RunOutcome::DurationExceeded { limit: seconds(80) });
}

#[tokio::test(start_paused = true)]
async fn errors_of_an_earlier_process_count() {
    let state = RunState { errors: 3, ..RunState::default() };
    let failing = session().fails(transient("broke"));
    let report = world([failing]).run_from(state, options()).await;
    assert_eq!(report.outcome.name(), "max_retries_exceeded");
}
