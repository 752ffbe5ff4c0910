//! Seed 002 Appendix A.1: which instruction, and on which model.

use crate::deliverable::DeliverableStatus::Pending;
use crate::instruction::Phase;
use crate::plan::{NextAction, NextSession, Plan, RunState};
use crate::testing::{MODELS, World, models};

async fn assert_next(mut plan: impl Plan, name: Phase, model: &str) {
    let next = plan.next(&RunState::default()).await.expect("a readable project");
    let NextAction::Session(NextSession { instruction, .. }) = next else { panic!("{next:?}") };
    assert_eq!((instruction.name, models().choose(instruction.name).as_str()), (name, model));
    let first = instruction.text.lines().next();
    assert_eq!(first, Some(name.name()), "the text is the one that was resolved");
}

#[tokio::test(start_paused = true)]
async fn appendix_a_1_initializer_run_without_a_status_file() {
    assert_next(World::new().deliverable_plan(), Phase::Initializer, MODELS.0).await;
}

#[tokio::test(start_paused = true)]
async fn appendix_a_1_coding_run_with_a_status_file() {
    let world = World::with(&[("A", Pending)]);
    assert_next(world.deliverable_plan(), Phase::Coding, MODELS.1).await;
}

#[tokio::test(start_paused = true)]
async fn appendix_a_1_sync_in_the_sync_phase() {
    assert_next(World::new().sync_plan(), Phase::Sync, MODELS.0).await;
    let world = World::with(&[("A", Pending)]);
    assert_next(world.sync_plan(), Phase::Sync, MODELS.0).await;
}

#[tokio::test(start_paused = true)]
async fn appendix_a_1_verify_in_the_verify_phase() {
    let world = World::with(&[("A", Pending)]).with_pass(true, &[]);
    assert_next(world.sync_plan(), Phase::Verify, MODELS.1).await;
}

#[tokio::test(start_paused = true)]
async fn a_synced_pass_without_active_deliverables_is_synced_again() {
    let world = World::with(&[("GONE", Pending)]).deprecated("GONE").with_pass(true, &["GONE"]);
    assert_next(world.sync_plan(), Phase::Sync, MODELS.0).await;
}
