//! `--fallback`: which backend takes over, when, and how that is reported.

use super::{max_retries, options, waiting_for_quota};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::RunEvent;
use crate::fault::{Fault, FaultLayer};
use crate::outcome::RunOutcome;
use crate::testing::script::{AgentScript, out_of_quota, quota_exceeded, session};
use crate::testing::{MODELS, World};

const OTHER: &str = "other-model";

fn world(scripts: impl IntoIterator<Item = AgentScript>) -> World {
    World::with(&[("A", Pending)]).with_fallback(OTHER).sessions(scripts)
}

fn passes() -> AgentScript {
    session().passes("A").completes()
}

fn models(world: &World) -> Vec<String> {
    world.opened().into_iter().map(|(_, model)| model).collect()
}

fn reasons(world: &World) -> Vec<String> {
    let reason = |event| match event {
        RunEvent::BackendChanged { reason, .. } => Some(reason),
        _ => None,
    };
    world.run_events().into_iter().filter_map(reason).collect()
}

#[tokio::test(start_paused = true)]
async fn the_fallback_takes_over_when_the_quota_is_used_up() {
    for options in [options(), waiting_for_quota()] {
        let world = world([session().ends(out_of_quota(None)), passes()]);
        assert_eq!(world.run(options).await.outcome, RunOutcome::AllPassed);
        assert_eq!(models(&world), [MODELS.1, OTHER]);
        assert_eq!(reasons(&world), ["quota_exceeded"]);
        assert_eq!(world.slept(), Vec::<f64>::new(), "no wait for a quota that is not needed");
    }
}

#[tokio::test(start_paused = true)]
async fn the_fallback_takes_over_when_a_backend_keeps_failing_and_has_its_own_retries() {
    let fails = || session().fails(Fault::transient(FaultLayer::Agent, "agent_crashed", "gone"));
    let world = world([fails(), fails(), fails(), passes()]);
    assert_eq!(world.run(max_retries(1)).await.outcome, RunOutcome::AllPassed);
    assert_eq!(models(&world), [MODELS.1, MODELS.1, OTHER, OTHER]);
    assert_eq!(reasons(&world), ["max_retries_exceeded"]);
}

#[tokio::test(start_paused = true)]
async fn without_another_fallback_the_run_ends_with_the_original_outcome() {
    let spent = || session().ends(out_of_quota(None));
    let world = world([spent(), spent()]);
    assert_eq!(world.run(options()).await.outcome, quota_exceeded(None));
}

#[tokio::test(start_paused = true)]
async fn no_fallback_takes_over_for_faults_of_the_machine() {
    let full = Fault::permanent(FaultLayer::Store, "disk_full", "The disk is full.");
    let world = World::with(&[("A", Pending)]).with_fallback(OTHER).sessions([session().fails(full.clone())]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Failed { fault: full });
}
