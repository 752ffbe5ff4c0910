//! `--fallback`: who steps in, when, and what is told of it.

use super::{max_retries, options, waiting_for_quota};
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::RunEvent;
use crate::fault::{Fault, Layer};
use crate::outcome::RunOutcome;
use crate::testing::script::{Script, out_of_quota, quota_exceeded, session};
use crate::testing::{MODELS, World};

const OTHER: &str = "other-model";

fn world(scripts: impl IntoIterator<Item = Script>) -> World {
    World::with(&[("A", Pending)]).with_understudy(OTHER).sessions(scripts)
}

fn passes() -> Script {
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
async fn the_next_one_steps_in_when_the_quota_is_used_up() {
    for options in [options(), waiting_for_quota()] {
        let world = world([session().ends(out_of_quota(None)), passes()]);
        assert_eq!(world.run(options).await.outcome, RunOutcome::AllPassed);
        assert_eq!(models(&world), [MODELS.1, OTHER]);
        assert_eq!(reasons(&world), ["quota_exceeded"]);
        assert_eq!(world.slept(), Vec::<f64>::new(), "nobody waits for a quota that is not needed");
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_one_steps_in_when_a_backend_is_down_and_has_its_own_retries() {
    let fails = || session().fails(Fault::passing(Layer::Agent, "agent_crashed", "gone"));
    let world = world([fails(), fails(), fails(), passes()]);
    assert_eq!(world.run(max_retries(1)).await.outcome, RunOutcome::AllPassed);
    assert_eq!(models(&world), [MODELS.1, MODELS.1, OTHER, OTHER]);
    assert_eq!(reasons(&world), ["max_retries_exceeded"]);
}

#[tokio::test(start_paused = true)]
async fn when_nobody_is_left_the_run_ends_as_it_would_have() {
    let spent = || session().ends(out_of_quota(None));
    let world = world([spent(), spent()]);
    assert_eq!(world.run(options()).await.outcome, quota_exceeded(None));
}

#[tokio::test(start_paused = true)]
async fn nobody_steps_in_for_what_is_nobodys_fault() {
    let full = Fault::lasting(Layer::Store, "disk_full", "The disk is full.");
    let world =
        World::with(&[("A", Pending)]).with_understudy(OTHER).sessions([session().fails(full.clone())]);
    assert_eq!(world.run(options()).await.outcome, RunOutcome::Failed { fault: full });
}
