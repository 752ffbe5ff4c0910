//! What a run finds that an earlier run has left: its attempts, edits between the two, and completed tasks whose work is gone.

use std::fs;
use std::sync::atomic::Ordering;

use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::own_edits::OwnEdits as _;
use autonoe_core::plan::{NextAction, Plan as _, PlanVerdict, RunState};

use super::{Fixture, PASSED, PENDING, TaskPlan};

#[tokio::test]
async fn the_next_run_continues_with_the_attempts_of_the_last_one() {
    let roadmap =
        "## Tasks\n- [ ] **z**: First\n- [ ] **a**: One\n  - max_iterations: 2\n  - max_retries: 2\n";
    let mut fixture = Fixture::new(roadmap);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    let mut last = None;
    // Each run ends after one session, as with `-n 1`.
    for _ in 0..4 {
        let (_, verdict) = fixture.play(&mut plan, PENDING).await;
        last = Some(verdict);
        plan.ended().await.expect("ended");
        fixture.end_run();
        plan = fixture.plan().await;
    }
    assert!(matches!(last, Some(PlanVerdict::Done(RunOutcome::TasksBlocked { .. }))), "{last:?}");
    let said = fixture.world.said();
    for clause in [
        "a is in attempt 1 of 2, after 1 session(s)",
        "a failed in 1 of 2 attempts",
        "a is in attempt 2 of 2, after 1 session(s)",
        "a is blocked",
    ] {
        let line = format!("Continuing where the last run ended: {clause}. --fresh would begin anew.");
        assert_eq!(said.iter().filter(|said| **said == line).count(), 1, "{line}: {said:?}");
    }
    let alerts =
        || fs::read_to_string(fixture.project.path().join(".harness/main/alerts.log")).expect("text");
    let next = plan.next(&RunState::default()).await.expect("next");
    assert!(matches!(next, NextAction::Done(RunOutcome::TasksBlocked { .. })), "{next:?}");
    assert_eq!(alerts().matches("task_blocked").count(), 1, "the run before has raised it");
    // The user has resolved what blocked it, so it gets all of its attempts again.
    fixture.world.set("a", PENDING);
    fixture.play(&mut plan, PENDING).await;
    assert!(fixture.next(&mut plan).await.instruction.text.contains("# Your job: the task `a`"));
    assert!(!fixture.next(&mut plan).await.instruction.text.contains("Attempt 1 of 2 failed"));
}

#[tokio::test]
async fn a_task_that_was_edited_between_two_runs_begins_anew() {
    let roadmap = "## Tasks\n- [ ] **a**: One\n  - max_iterations: 1\n- [ ] **b**: Two\n  - depends: a\n";
    let mut fixture = Fixture::new(roadmap);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PENDING).await;
    plan.ended().await.expect("ended");
    for (text, is_continued) in [(roadmap.to_owned(), true), (roadmap.replace("One", "Another"), false)] {
        fixture.write(&text);
        let before = fixture.world.saved.lock().expect("no panic").clone();
        fixture.end_run();
        let mut plan = fixture.plan().await;
        let text = fixture.next(&mut plan).await.instruction.text;
        assert_eq!(text.contains("Attempt 1 of 3 failed"), is_continued, "{text}");
        *fixture.world.saved.lock().expect("no panic") = before;
    }
}

#[tokio::test]
async fn what_becomes_of_tasks_that_were_edited_between_two_runs_is_said_once() {
    let roadmap = "## Tasks\n- [ ] **a**: One\n  - max_iterations: 1\n- [ ] **b**: Two\n- [ ] **c**: Three\n";
    let mut fixture = Fixture::new(roadmap);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    fixture.play(&mut plan, PENDING).await;
    plan.ended().await.expect("ended");
    for (old, new) in [("One", "Another"), ("Two", "Second"), ("Three", "Third")] {
        fixture.write(&fixture.roadmap().replace(old, new));
    }
    fixture.end_run();
    fixture.plan().await;
    fixture.end_run();
    fixture.plan().await;
    let edited = |said: &String| said.contains("was edited, ");
    let said: Vec<String> = fixture.world.said().into_iter().filter(edited).collect();
    assert_eq!(
        said,
        [
            "a was edited, but it is completed, so that has no effect. To have a task done again, add it under another id.",
            "b was edited, so it begins anew, with all of its attempts.",
        ]
    );
}

/// No attempt of this run has failed.
#[tokio::test]
async fn work_of_an_earlier_run_that_fails_its_checks_is_open_again() {
    let fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n");
    fixture.plan().await;
    fixture.world.set("a", PASSED);
    let mut plan = fixture.plan().await;
    plan.next(&RunState::default()).await.expect("next");
    fixture.world.fail_checks("a");
    let text = fixture.next(&mut plan).await.instruction.text;
    assert!(
        text.contains("The work of an earlier run failed: it had passed, but its checks failed"),
        "{text}"
    );
    let said = fixture.world.said();
    assert!(said.iter().any(|said| said.starts_with("The task a is open again: it had passed")), "{said:?}");
}

/// A task that a finished run has completed, and the next run.
async fn after_a_finished_run() -> Fixture {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
    let mut plan = fixture.plan().await;
    for _ in 0..2 {
        fixture.play(&mut plan, PASSED).await;
    }
    plan.ended().await.expect("ended");
    fixture.world.has_finished.store(true, Ordering::Relaxed);
    fixture.end_run();
    fixture
}

#[tokio::test]
async fn a_completed_task_that_is_pending_again_loses_its_box_and_is_done_again() {
    // As after `land --discard`; and although nothing is known of the run, as after --fresh.
    for is_known in [true, false] {
        let mut fixture = after_a_finished_run().await;
        fixture.world.set("a", PENDING);
        if !is_known {
            *fixture.world.earlier.lock().expect("no panic") = None;
        }
        let mut plan = fixture.plan().await;
        let session = fixture.next(&mut plan).await;
        let open = "## Tasks\n- [ ] **a**: One\n- [x] **b**: Two\n";
        assert_eq!((session.instruction.step.as_deref(), fixture.roadmap().as_str()), (Some("a"), open));
        let (id, verdict) = fixture.play(&mut plan, PASSED).await;
        assert!(id == "a" && matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{id} {verdict:?}");
        let said = fixture.world.said();
        let open = "The task a is open again: it had passed, but it was made pending again.";
        assert!(said.iter().any(|said| said == open), "{said:?}");
    }
}

#[tokio::test]
async fn a_task_of_a_finished_run_that_fails_its_checks_is_done_again() {
    let mut fixture = after_a_finished_run().await;
    fixture.world.regressing.lock().expect("no panic").push("a".to_owned());
    let mut plan = fixture.plan().await;
    let (id, verdict) = fixture.play(&mut plan, PENDING).await;
    assert!(id == "a" && matches!(verdict, PlanVerdict::Idle), "{id} {verdict:?}");
    assert_eq!(fixture.roadmap(), "## Tasks\n- [ ] **a**: One\n- [x] **b**: Two\n");
    plan.ended().await.expect("ended");
    fixture.end_run();
    // By hand, and with a box of the user's: that is the user's word.
    fixture.write(&fixture.roadmap().replace("[ ]", "[x]"));
    fixture.world.has_finished.store(false, Ordering::Relaxed);
    let mut plan = fixture.plan().await;
    let next = plan.next(&RunState::default()).await.expect("next");
    assert!(matches!(next, NextAction::Done(RunOutcome::AllPassed)), "{next:?}");
    let status = fixture.world.status.lock().expect("no panic").clone().expect("a status");
    assert!(!status.find("a").expect("a deliverable").is_active(), "it is not to be done any more");
}

/// The commits of an earlier run may not be on the user's branch.
#[tokio::test]
async fn a_box_of_an_earlier_run_is_committed_after_its_checks_have_passed_again() {
    let mut fixture = after_a_finished_run().await;
    let done = fixture.roadmap();
    let open = done.replace("[x]", "[ ]");
    // With the boxes as they were left, and without them, as after `git reset --hard`.
    assert_withheld_until_checked(&mut fixture, &done, &open).await;
    let mut fixture = after_a_finished_run().await;
    assert_withheld_until_checked(&mut fixture, &open, &open).await;
}

async fn assert_withheld_until_checked(fixture: &mut Fixture, found: &str, open: &str) {
    fixture.write(&format!("{found}- [ ] **c**: Three\n"));
    let mut plan = fixture.plan().await;
    let committed = format!("{open}- [ ] **c**: Three\n");
    let message = |plan: &TaskPlan| plan.setup.file.describe(&committed, &fixture.roadmap());
    let is_own = message(&plan).is_some() || found == open;
    assert!(is_own, "they are not the user's edits");
    let session = fixture.next(&mut plan).await;
    assert_eq!((session.instruction.step.as_deref(), message(&plan)), (Some("c"), None));
    fixture.world.set("c", PASSED);
    let finished = fixture.finished(session, SessionEnd::Completed, 1);
    plan.judge(&finished).await.expect("judged");
    let message = plan.setup.file.describe(&committed, &fixture.roadmap());
    assert_eq!(message.as_deref(), Some("Mark the tasks a, b, c as completed"));
}
