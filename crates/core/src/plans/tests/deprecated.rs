//! Seed 002 §9.6: deprecated deliverables are not evaluated.

use crate::deliverable::DeliverableStatus::{Blocked, Passed, Pending};
use crate::outcome::RunOutcome;
use crate::plan::{NextAction, Plan, RunState};
use crate::testing::World;

/// Outcome that the plan of `run` reports before any session.
async fn ended(world: &World) -> Option<RunOutcome> {
    match world.deliverable_plan().next(&RunState::default()).await.expect("a readable project") {
        NextAction::Done(outcome) => Some(outcome),
        NextAction::Session(_) | NextAction::Wait => None,
    }
}

/// The same for `sync`.
async fn sync_ended(world: &World) -> Option<RunOutcome> {
    match world.sync_plan().next(&RunState::default()).await.expect("a readable project") {
        NextAction::Done(outcome) => Some(outcome),
        NextAction::Session(_) | NextAction::Wait => None,
    }
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_6_passed_and_not_deprecated_is_included() {
    assert_eq!(ended(&World::with(&[("A", Passed), ("B", Blocked)])).await, Some(RunOutcome::AllPassed));
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_6_not_passed_and_not_deprecated_is_included() {
    assert_eq!(ended(&World::with(&[("A", Passed), ("B", Pending)])).await, None);
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_6_deprecated_is_excluded_whatever_its_status() {
    for status in [Pending, Passed, Blocked] {
        let world = World::with(&[("A", Passed), ("GONE", status)]).deprecated("GONE");
        assert_eq!(ended(&world).await, Some(RunOutcome::AllPassed), "{status}");
        let world = World::with(&[("A", Blocked), ("GONE", status)]).deprecated("GONE");
        assert_eq!(ended(&world).await, Some(RunOutcome::AllBlocked), "{status}");
        let world = World::with(&[("A", Pending), ("GONE", status)]).deprecated("GONE");
        assert_eq!(ended(&world).await, None, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn seed_002_9_6_deprecated_is_excluded_from_verification() {
    for status in [Pending, Passed, Blocked] {
        let world = World::with(&[("A", Pending), ("GONE", status)]).deprecated("GONE");
        assert_eq!(
            sync_ended(&world.with_pass(true, &["A"])).await,
            Some(RunOutcome::AllVerified),
            "{status}"
        );
        let world = World::with(&[("A", Pending), ("GONE", status)]).deprecated("GONE");
        assert_eq!(sync_ended(&world.with_pass(true, &["GONE"])).await, None, "{status}");
    }
}
