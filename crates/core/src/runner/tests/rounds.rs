//! Seed 002 §9.1, the session loop; and the parameters of a session.

use super::{max_iterations, options};
use crate::deliverable::DeliverableStatus::{Blocked, Passed, Pending};
use crate::fault::FaultLayer;
use crate::instruction::Phase::{Coding, Initializer};
use crate::money::Usd;
use crate::outcome::RunOutcome;
use crate::runner::RunOptions;
use crate::testing::script::session;
use crate::testing::{LogEntry, World, seconds};

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_status_not_exists_initializer_then_continue() {
    let world = World::new().sessions([
        session().creates("A").creates("B").completes(),
        session().passes("A").completes(),
        session().passes("B").completes(),
    ]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 3));
    assert_eq!(world.phases(), [Initializer, Coding, Coding]);
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_status_exists_none_passed_runs_all() {
    let world = World::with(&[("A", Pending), ("B", Pending)]);
    let world = world.sessions([session().passes("A").completes(), session().passes("B").completes()]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.plan.tally().passed), (RunOutcome::AllPassed, 2));
    assert_eq!(world.phases(), [Coding, Coding]);
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_status_exists_partial_runs_the_rest() {
    let world = World::with(&[("A", Passed), ("B", Pending)]).sessions([session().passes("B").completes()]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 1));
    assert_eq!(world.phases(), [Coding]);
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_status_exists_all_passed_exits_with_success_and_no_session() {
    let world = World::with(&[("A", Passed), ("B", Passed)]);
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.exit_code, report.iterations), (RunOutcome::AllPassed, 0, 0));
    assert_eq!(world.phases(), []);
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_limit_reached_exits_partial() {
    let world = World::with(&[("A", Pending), ("B", Pending)]).sessions([session().passes("A").completes()]);
    let report = world.run(max_iterations(1)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 1 });
    assert_eq!((report.plan.tally().passed, report.plan.tally().total), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_limit_reached_by_the_initializer_exits_partial() {
    let world = World::new().sessions([session().creates("A").completes()]);
    let report = world.run(max_iterations(1)).await;
    assert_eq!((report.outcome, report.plan.tally().total), (RunOutcome::MaxIterations { limit: 1 }, 1));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_1_no_limit_continues_until_all_pass() {
    let ids: Vec<String> = (0..30).map(|number| format!("D-{number}")).collect();
    let world = World::with(&ids.iter().map(|id| (id.as_str(), Pending)).collect::<Vec<_>>());
    let world = world.sessions(ids.iter().map(|id| session().passes(id).completes()));
    let report = world.run(options()).await;
    assert_eq!((report.outcome, report.iterations), (RunOutcome::AllPassed, 30));
}

#[tokio::test(start_paused = true)]
async fn a_status_without_active_deliverables_fails_with_no_session() {
    for world in [World::with(&[]), World::with(&[("GONE", Pending)]).deprecated("GONE")] {
        let report = world.run(options()).await;
        let RunOutcome::Failed { fault } = &report.outcome else { panic!("{:?}", report.outcome) };
        assert_eq!((fault.code.as_str(), fault.layer), ("no_active_deliverables", FaultLayer::Plan));
        assert_eq!((report.iterations, report.exit_code), (0, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_counts_active_deliverables_only() {
    let world =
        World::with(&[("A", Passed), ("B", Blocked), ("C", Pending), ("OLD", Passed), ("OUT", Blocked)]);
    let world = world.deprecated("OLD").deprecated("OUT").sessions([session().completes()]);
    let report = world.run(max_iterations(1)).await;
    assert_eq!(report.plan.tally().total, 3);
    assert_eq!((report.plan.tally().passed, report.plan.tally().blocked), (1, 1));
    assert_eq!(
        (report.plan.reviewed().verified, report.plan.reviewed().total),
        (0, 0),
        "only sync counts these"
    );
}

#[tokio::test(start_paused = true)]
async fn sc_s011_cost_and_time_of_all_sessions_are_summed() {
    let world = World::with(&[("A", Pending)]).sessions([
        session().spends(0.25).takes(seconds(60)).completes(),
        session().spends(0.25).spends(0.25).takes(seconds(30)).passes("A").completes(),
    ]);
    let report = world.run(options()).await;
    assert_eq!((report.cost_usd, report.duration), (Some(Usd(0.75)), seconds(93)));
}

#[tokio::test(start_paused = true)]
async fn a_session_gets_its_phase_its_gates_and_the_thinking_budget() {
    let world =
        World::new().sessions([session().creates("A").completes(), session().passes("A").completes()]);
    world.run(RunOptions { thinking: Some(8_192), ..options() }).await;
    for (phase, model) in [(Initializer, "thinker"), (Coding, "worker")] {
        let gates = vec![phase.name().to_owned()];
        let opened = LogEntry::Opened { phase, model: model.to_owned(), thinking: Some(8_192), gates };
        assert!(world.log().contains(&opened), "{opened:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_that_becomes_unreadable_ends_the_run_and_the_cost_is_reported() {
    let world =
        World::with(&[("A", Pending)]).sessions([session().spends(0.5).corrupts_the_status().completes()]);
    let report = world.run(options()).await;
    assert_eq!(report.outcome.fault().map(|fault| fault.code.as_str()), Some("corrupt_status"));
    assert_eq!(report.outcome.name(), "failed");
    assert_eq!((report.cost_usd, report.iterations), (Some(Usd(0.5)), 1));
}
