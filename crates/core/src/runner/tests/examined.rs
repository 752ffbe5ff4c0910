//! How the examiner affects the end of a run.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;

use super::{max_duration, options};
use crate::check::{Assurance, Finding};
use crate::deliverable::Deliverable;
use crate::deliverable::DeliverableStatus::{Passed, Pending};
use crate::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Proposal};
use crate::fault::Fault;
use crate::instruction::Phase::{Coding, Review};
use crate::outcome::RunOutcome;
use crate::plan::RunState;
use crate::status::ChangeError;
use crate::steering::UserMessage;
use crate::testing::script::{session, transient};
use crate::testing::{World, seconds};

/// An examiner with prepared results.
struct ScriptedExaminer {
    world: World,
    /// Results of each confirmation, last first: true if everything holds.
    confirmations: Mutex<Vec<bool>>,
    /// Review sessions still wanted.
    reviews: Mutex<usize>,
    finding: Assurance,
    /// The method that never returns, if any.
    hanging: Option<&'static str>,
}

impl ScriptedExaminer {
    fn new(world: &World, confirmations: &[bool]) -> Self {
        let confirmations = confirmations.iter().rev().copied().collect();
        let (confirmations, reviews) = (Mutex::new(confirmations), Mutex::new(0));
        Self { world: world.clone(), confirmations, reviews, finding: Assurance::Verified, hanging: None }
    }
}

impl ScriptedExaminer {
    async fn hang(&self, method: &str) {
        if self.hanging == Some(method) {
            std::future::pending().await
        }
    }
}

#[async_trait]
impl Examiner for ScriptedExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        self.hang("prepare").await;
        Ok(())
    }

    async fn propose(&self, _: &[String], _: Vec<Proposal>) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn examine(&self, _: &Deliverable) -> Result<Examination, Fault> {
        panic!("these sessions claim nothing")
    }

    async fn recheck(&self, _: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        Ok(Vec::new())
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        self.hang("confirm").await;
        let holds = self.confirmations.lock().unwrap().pop().unwrap_or(true);
        let finding = Finding { assurance: self.finding, ..Finding::unchecked(jiff::Timestamp::UNIX_EPOCH) };
        self.world.change(|status| {
            if !holds {
                status.set_status("A", Pending).expect("known");
            }
            status.set_finding("A", finding).expect("known");
        });
        Ok(Confirmation { regressed: if holds { Vec::new() } else { vec!["A".into()] }, project: Vec::new() })
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        let mut reviews = self.reviews.lock().unwrap();
        let is_wanted = *reviews > 0;
        *reviews = reviews.saturating_sub(1);
        Ok(is_wanted.then(|| "review A".to_owned()))
    }

    async fn review(&self, _: &str, _: bool, _: String) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        Ok(Some("## Checks".to_owned()))
    }
}

async fn run(world: &World, examiner: ScriptedExaminer, is_strict: bool, is_reviewed: bool) -> RunOutcome {
    let plan = world.deliverable_plan().examined_by(Arc::new(examiner), is_strict);
    let mut plan = if is_reviewed { plan.with_review() } else { plan };
    world.drive(&mut plan, RunState::default(), options()).await.outcome
}

#[tokio::test(start_paused = true)]
async fn a_deliverable_that_fails_the_final_recheck_is_worked_on_again() {
    let world = World::with(&[("A", Pending)])
        .sessions([session().passes("A").completes(), session().passes("A").completes()]);
    let outcome = run(&world, ScriptedExaminer::new(&world, &[false, true]), false, false).await;
    assert_eq!((outcome, world.phases()), (RunOutcome::AllPassed, vec![Coding, Coding]));
    assert_eq!(world.status().tally().verified, 1);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_never_passes_ends_the_run_as_stuck() {
    let world = World::with(&[("A", Pending)])
        .sessions((0..10).map(|_| session().passes("A").completes()).collect::<Vec<_>>());
    let outcome = run(&world, ScriptedExaminer::new(&world, &[false; 20]), false, false).await;
    assert_eq!(outcome, RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() });
}

#[tokio::test(start_paused = true)]
async fn deliverables_that_passed_earlier_are_rechecked_too() {
    let world = World::with(&[("A", Passed)]).sessions([session().passes("A").completes()]);
    let outcome = run(&world, ScriptedExaminer::new(&world, &[false, true]), false, false).await;
    assert_eq!((outcome, world.phases()), (RunOutcome::AllPassed, vec![Coding]));
}

#[tokio::test(start_paused = true)]
async fn strict_asks_for_checks_instead_of_looping() {
    let world = World::with(&[("A", Passed), ("B", Passed)]);
    let examiner = ScriptedExaminer { finding: Assurance::Claimed, ..ScriptedExaminer::new(&world, &[]) };
    let outcome = run(&world, examiner, true, false).await;
    assert_eq!(outcome, RunOutcome::Unverified { claimed: vec!["A".into(), "B".into()] });
    assert_eq!(world.phases(), []);
}

/// An examiner that always wants another review.
fn reviewing(world: &World) -> ScriptedExaminer {
    ScriptedExaminer { reviews: Mutex::new(100), ..ScriptedExaminer::new(world, &[]) }
}

#[tokio::test(start_paused = true)]
async fn at_most_three_reviews_that_leave_something_out_are_run() {
    let world =
        World::with(&[("A", Passed)]).sessions((0..3).map(|_| session().completes()).collect::<Vec<_>>());
    let outcome = run(&world, reviewing(&world), false, true).await;
    assert_eq!(outcome.exit_code(), 7);
    assert_eq!((outcome, world.phases()), (RunOutcome::Unreviewed, vec![Review, Review, Review]));
}

#[tokio::test(start_paused = true)]
async fn a_message_of_the_user_waits_for_a_session_that_works() {
    let world = World::with(&[("A", Passed)]).sessions([session().completes()]);
    world.steering.tell(UserMessage { id: "1".to_owned(), text: "use tabs".to_owned() });
    let examiner = ScriptedExaminer { reviews: Mutex::new(1), ..ScriptedExaminer::new(&world, &[]) };
    assert_eq!(run(&world, examiner, false, true).await, RunOutcome::AllPassed);
    assert_eq!(world.phases(), [Review]);
    assert_eq!(world.steering.for_session().take().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_reviewer_is_waited_for_and_never_a_success() {
    let away = || session().finds_service_unavailable();
    let world =
        World::with(&[("A", Passed)]).sessions([away(), away(), away(), away(), session().completes()]);
    let examiner = ScriptedExaminer { reviews: Mutex::new(5), ..ScriptedExaminer::new(&world, &[]) };
    assert_eq!(run(&world, examiner, false, true).await, RunOutcome::AllPassed);
    assert_eq!(world.slept().iter().sum::<f64>(), 3.0 + 6.0 + 12.0 + 24.0);

    let world = World::with(&[("A", Passed)]).forever(|_| session().finds_service_unavailable());
    let RunOutcome::Outage { fault, .. } = run(&world, reviewing(&world), false, true).await else {
        panic!("the reviewer never came back");
    };
    assert_eq!(fault.message, "The review by another agent failed: Connection refused.");
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_that_keeps_failing_ends_the_run_with_its_fault() {
    let world = World::with(&[("A", Passed)]).forever(|_| session().fails(transient("broke")));
    let outcome = run(&world, reviewing(&world), false, true).await;
    assert_eq!(outcome.name(), "max_retries_exceeded");
}

#[tokio::test(start_paused = true)]
async fn limits_and_interrupts_in_any_review_end_the_run_as_such() {
    for earlier in 0..3 {
        let reviews = |last| {
            let mut scripts: Vec<_> = (0..earlier).map(|_| session().completes()).collect();
            scripts.push(last);
            World::with(&[("A", Passed)]).sessions(scripts)
        };
        let (world, limit) = (reviews(session().hangs()), seconds(60));
        let mut plan = world.deliverable_plan().examined_by(Arc::new(reviewing(&world)), false).with_review();
        let report = world.drive(&mut plan, RunState::default(), max_duration(limit)).await;
        assert_eq!(report.outcome, RunOutcome::DurationExceeded { limit }, "review {earlier}");

        let world = reviews(session().user_interrupts().hangs());
        assert_eq!(run(&world, reviewing(&world), false, true).await, RunOutcome::Interrupted, "{earlier}");
    }
}

#[tokio::test(start_paused = true)]
async fn max_duration_and_an_interrupt_end_checks_that_hang() {
    let limit = seconds(30);
    for method in ["prepare", "confirm"] {
        // Everything passed, so that the plan confirms it before it is done.
        let world = World::with(&[("A", Passed)]);
        let examiner = ScriptedExaminer { hanging: Some(method), ..ScriptedExaminer::new(&world, &[]) };
        let mut plan = world.deliverable_plan().examined_by(Arc::new(examiner), false);
        let report = world.drive(&mut plan, RunState::default(), max_duration(limit)).await;
        assert_eq!(report.outcome, RunOutcome::DurationExceeded { limit }, "{method}");

        let world = World::with(&[("A", Passed)]).interrupted_after(seconds(5));
        let examiner = ScriptedExaminer { hanging: Some(method), ..ScriptedExaminer::new(&world, &[]) };
        let mut plan = world.deliverable_plan().examined_by(Arc::new(examiner), false);
        let report = world.drive(&mut plan, RunState::default(), max_duration(limit)).await;
        assert_eq!(report.outcome, RunOutcome::Interrupted, "{method}");
    }
}
