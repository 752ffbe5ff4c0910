mod earlier_runs;
mod view;

use std::collections::HashSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::check::{Assurance, CheckAuthor, Finding, Review};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus, NewDeliverable};
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Proposal};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::{Instructions, Phase};
use autonoe_core::ledger::Ledger;
use autonoe_core::outcome::{RunOutcome, SessionEnd};
use autonoe_core::plan::{
    Iteration, NextAction, NextSession, Plan, PlanMemory, PlanVerdict, RunState, SessionOutput, StatusReader,
};
use autonoe_core::status::{ChangeError, ProjectStatus};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::{RoadmapFile, TaskPlan, TaskPlanSetup, TaskStore};
use crate::alerts::OnCritical;
use crate::control::HarnessDirectory;
use crate::harness_record::HarnessRecord;
use crate::roadmap::{Task, TaskId};

/// Everything around the plan, in memory; it outlives the plan as the journal outlives a process.
#[derive(Default)]
struct World {
    status: Mutex<Option<ProjectStatus>>,
    saved: Mutex<Option<Value>>,
    /// Of the run before.
    earlier: Mutex<Option<Value>>,
    /// Whether that one has completed the roadmap.
    has_finished: AtomicBool,
    last: Mutex<Option<Iteration>>,
    events: Mutex<Vec<RunEvent>>,
    /// Ids that fail when everything is checked again; once.
    regressing: Mutex<Vec<String>>,
    ever_passed: Mutex<HashSet<String>>,
}

impl World {
    fn change(&self, id: &str, change: impl FnOnce(&mut Deliverable)) {
        let mut status = self.status.lock().expect("no panic");
        let items = &mut status.as_mut().expect("a status").deliverables;
        change(items.iter_mut().find(|item| item.id == id).expect("a deliverable"));
    }

    fn set(&self, id: &str, status: DeliverableStatus) {
        self.change(id, |item| (item.status, item.review, item.finding) = (status, None, None));
        if status == DeliverableStatus::Passed {
            self.ever_passed.lock().expect("no panic").insert(id.to_owned());
        }
    }

    /// As the examiner does when the checks of what had passed fail.
    fn fail_checks(&self, id: &str) {
        self.set(id, DeliverableStatus::Pending);
        let finding = Finding {
            assurance: Assurance::Failed,
            commit: None,
            tree: None,
            at: Timestamp::UNIX_EPOCH,
            checks_by: CheckAuthor::User,
            partial_layer: None,
            flaky: None,
            unchecked: None,
        };
        self.change(id, |item| item.finding = Some(finding));
    }

    fn status_of(&self, id: &str) -> DeliverableStatus {
        let status = self.status.lock().expect("no panic");
        status.as_ref().and_then(|status| status.find(id)).expect("a deliverable").status
    }

    fn said(&self) -> Vec<String> {
        let events = self.events.lock().expect("no panic");
        let message = |event: &RunEvent| match event {
            RunEvent::Notice { message } | RunEvent::Warning { message } => Some(message.clone()),
            _ => None,
        };
        events.iter().filter_map(message).collect()
    }
}

#[async_trait]
impl StatusReader for World {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        Ok(self.status.lock().expect("no panic").clone())
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        Ok(())
    }
}

#[async_trait]
impl TaskStore for World {
    async fn plan_tasks(&self, tasks: &[&Task], dropped: &[TaskId]) -> Result<(), Fault> {
        let mut status = self.status.lock().expect("no panic");
        let status = status.get_or_insert_with(|| ProjectStatus::empty(Default::default()));
        for task in tasks.iter().filter(|task| status.find(task.id.as_str()).is_none()).collect::<Vec<_>>() {
            let new = NewDeliverable {
                id: task.id.to_string(),
                description: task.description.clone(),
                acceptance_criteria: vec![task.goal.clone()],
                order: Default::default(),
            };
            status.create(vec![new]).expect("created");
        }
        for id in dropped {
            status.deprecate(id.as_str(), Default::default()).expect("deprecated");
        }
        Ok(())
    }

    async fn renew_checks(&self, _: &[&Task]) -> Result<Vec<TaskId>, Fault> {
        Ok(Vec::new())
    }

    async fn ever_passed(&self) -> Result<HashSet<String>, Fault> {
        Ok(self.ever_passed.lock().expect("no panic").clone())
    }

    async fn reopen(&self, id: &str) -> Result<(), Fault> {
        self.set(id, DeliverableStatus::Pending);
        Ok(())
    }

    async fn block(&self, id: &str, reason: &str) -> Result<(), Fault> {
        self.set(id, DeliverableStatus::Blocked);
        self.change(id, |item| item.blocked_reason = Some(reason.to_owned()));
        Ok(())
    }

    fn protect_roadmap(&self) {}
}

#[async_trait]
impl Examiner for World {
    async fn prepare(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn propose(&self, _: &[String], _: Vec<Proposal>) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn examine(&self, _: &Deliverable) -> Result<Examination, Fault> {
        Err(Fault::permanent(FaultLayer::Plan, "unused", "No claim is examined here."))
    }

    async fn recheck(&self, _: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        Ok(Vec::new())
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        let regressed = std::mem::take(&mut *self.regressing.lock().expect("no panic"));
        regressed.iter().for_each(|id| self.fail_checks(id));
        Ok(Confirmation { regressed, project: Vec::new() })
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    async fn review(&self, _: &str, _: bool, _: String) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

#[async_trait]
impl Instructions for World {
    async fn resolve(&self, phase: Phase) -> Result<String, Fault> {
        Ok(format!("# {phase}"))
    }
}

#[async_trait]
impl PlanMemory for World {
    async fn load(&self) -> Result<Option<Value>, Fault> {
        Ok(self.saved.lock().expect("no panic").clone())
    }

    async fn load_earlier(&self) -> Result<Option<Value>, Fault> {
        if self.has_finished.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(self.earlier.lock().expect("no panic").clone())
    }

    async fn load_all(&self) -> Result<Vec<Value>, Fault> {
        let states = [&self.earlier, &self.saved].map(|state| state.lock().expect("no panic").clone());
        Ok(states.into_iter().flatten().collect())
    }

    async fn save(&self, state: &Value) -> Result<(), Fault> {
        *self.saved.lock().expect("no panic") = Some(state.clone());
        Ok(())
    }

    async fn recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn earlier_recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn save_recovery(&self, _: &Value, _events: &[RunEvent]) -> Result<(), Fault> {
        Ok(())
    }

    async fn record_event(&self, event: &RunEvent) -> Result<(), Fault> {
        self.events.lock().expect("no panic").push(event.clone());
        Ok(())
    }

    async fn last_answer(&self, _: Phase) -> Result<Option<Iteration>, Fault> {
        Ok(None)
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        Ok(self.last.lock().expect("no panic").clone())
    }

    async fn conversation(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }
}

struct Fixture {
    project: TempDir,
    world: Arc<World>,
    sessions: u32,
    growth: Option<NonZeroUsize>,
    is_in_place: bool,
}

impl Fixture {
    fn new(roadmap: &str) -> Self {
        let project = tempfile::tempdir().expect("directory");
        let fixture = Self { project, world: Arc::default(), sessions: 0, growth: None, is_in_place: false };
        fixture.write(roadmap);
        fixture
    }

    fn write(&self, roadmap: &str) {
        fs::write(self.project.path().join("ROADMAP.md"), roadmap).expect("written");
    }

    fn roadmap(&self) -> String {
        fs::read_to_string(self.project.path().join("ROADMAP.md")).expect("text")
    }

    /// As a new process does.
    async fn plan(&self) -> TaskPlan {
        let (file, roadmap) =
            RoadmapFile::open(self.project.path(), Path::new("ROADMAP.md"), &[]).expect("a roadmap");
        let harness = HarnessDirectory::create(self.project.path(), "main").expect("a harness");
        let record = HarnessRecord::open(harness.into(), OnCritical::Continue, Timestamp::UNIX_EPOCH);
        let (record, _) = record.expect("opened");
        let setup = TaskPlanSetup {
            file: Arc::new(file),
            store: Arc::clone(&self.world) as _,
            examiner: Arc::clone(&self.world) as _,
            instructions: Arc::clone(&self.world) as _,
            memory: Arc::clone(&self.world) as _,
            failed_checks: Arc::default(),
            record: Arc::new(record),
            growth: self.growth,
            has_time_limit: false,
            is_in_place: self.is_in_place,
            on_event: Box::new(|_| {}),
        };
        TaskPlan::resume(roadmap, setup).await.expect("resumed")
    }

    async fn next(&self, plan: &mut TaskPlan) -> NextSession {
        match plan.next(&RunState::default()).await.expect("next") {
            NextAction::Session(session) => session,
            other @ (NextAction::Done(_) | NextAction::Wait) => panic!("{other:?}"),
        }
    }

    /// A session that has ended, and that the journal has.
    fn finished(&mut self, session: NextSession, outcome: SessionEnd, minutes: u64) -> Iteration {
        self.sessions += 1;
        let finished = Iteration {
            number: self.sessions,
            worker: 0,
            backend: "native".to_owned(),
            model: "best".to_owned(),
            instruction: session.instruction,
            outcome,
            spent: Ledger::default(),
            duration: Duration::from_secs(60 * minutes),
            output: SessionOutput { text: "I tried.".to_owned(), ..SessionOutput::default() },
        };
        *self.world.last.lock().expect("no panic") = Some(finished.clone());
        finished
    }

    /// One session. `status` is what it leaves.
    async fn play(&mut self, plan: &mut TaskPlan, status: DeliverableStatus) -> (String, PlanVerdict) {
        let session = self.next(plan).await;
        let id = session.instruction.step.clone().expect("a task");
        if session.instruction.name == Phase::Coding {
            self.world.set(&id, status);
        }
        let finished = self.finished(session, SessionEnd::Completed, 1);
        (id, plan.judge(&finished).await.expect("judged"))
    }
}

fn opinion(holds: bool) -> Review {
    let (by, reason) = ("native:x".to_owned(), "It is short.".to_owned());
    Review { by, holds, reason, commit: None, at: Timestamp::UNIX_EPOCH }
}

const PENDING: DeliverableStatus = DeliverableStatus::Pending;
const PASSED: DeliverableStatus = DeliverableStatus::Passed;

#[tokio::test]
async fn attempts_end_at_their_limits_and_then_the_task_is_blocked() {
    let mut fixture = Fixture::new(
        "## Tasks\n- [ ] **a**: One\n  - max_iterations: 2\n  - max_retries: 2\n- [ ] **b**: Two\n  - depends: a\n- [ ] **c**: Three\n",
    );
    let mut plan = fixture.plan().await;
    let (_, first) = fixture.play(&mut plan, PENDING).await;
    let (_, second) = fixture.play(&mut plan, PENDING).await;
    assert!(matches!((first, second), (PlanVerdict::Idle, PlanVerdict::Progressed)), "the attempt has ended");
    let retry = fixture.next(&mut plan).await.instruction.text;
    let summary = "Attempt 1 of 2 failed: it was not done after 2 session(s).";
    assert!(retry.contains(summary) && retry.contains("I tried."), "{retry}");
    for _ in 0..2 {
        fixture.play(&mut plan, PENDING).await;
    }
    assert_eq!(fixture.world.status_of("a"), DeliverableStatus::Blocked);
    let (id, verdict) = fixture.play(&mut plan, PASSED).await;
    let chains =
        ["a failed in all of its 2 attempts", "b waits for a, which failed in all of its 2 attempts"];
    let expected = RunOutcome::TasksBlocked { chains: chains.map(str::to_owned).to_vec() };
    let PlanVerdict::Done(outcome) = verdict else { panic!("{verdict:?}") };
    assert_eq!((id.as_str(), outcome), ("c", expected), "the others go on");
    plan.ended().await.expect("ended");
    assert!(fixture.roadmap().contains("- [ ] **a**") && fixture.roadmap().contains("- [x] **c**"));
}

#[tokio::test]
async fn the_time_of_an_attempt_is_shared_by_its_sessions() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n  - timeout: 10m\n  - max_retries: 1\n");
    let mut plan = fixture.plan().await;
    let session = fixture.next(&mut plan).await;
    assert_eq!(session.time_limit, Some(Duration::from_secs(600)));
    let finished = fixture.finished(session, SessionEnd::Completed, 7);
    plan.judge(&finished).await.expect("judged");
    let session = fixture.next(&mut plan).await;
    assert_eq!(session.time_limit, Some(Duration::from_secs(180)));
    let limit = Duration::from_secs(180);
    let finished = fixture.finished(session, SessionEnd::DurationExceeded { limit }, 3);
    let verdict = plan.judge(&finished).await.expect("judged");
    let PlanVerdict::Done(RunOutcome::TasksBlocked { chains }) = verdict else { panic!("{verdict:?}") };
    assert_eq!(chains, ["a failed in its only attempt"]);
    let why = "Attempt 1 of 1 at a failed: it was not done within its time limit of 10m.";
    assert!(fixture.world.said().iter().any(|said| said == why), "{:?}", fixture.world.said());
}

#[tokio::test]
async fn a_task_that_breaks_later_loses_its_box_and_an_attempt() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    fixture.world.regressing.lock().expect("no panic").push("a".to_owned());
    let (_, verdict) = fixture.play(&mut plan, PASSED).await;
    assert!(matches!(verdict, PlanVerdict::Progressed), "b is done, and a is open again: {verdict:?}");
    let session = fixture.next(&mut plan).await;
    assert_eq!(session.instruction.step.as_deref(), Some("a"));
    assert!(session.instruction.text.contains("Attempt 1 of 3 failed: it had passed, but its checks failed"));
    assert_eq!(fixture.roadmap(), "## Tasks\n- [ ] **a**: One\n- [x] **b**: Two\n");
}

/// The user has reset the branch while no process ran.
#[tokio::test]
async fn what_breaks_between_processes_costs_no_attempt() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n  - max_retries: 1\n- [ ] **b**: Two\n");
    for _ in 0..3 {
        let mut plan = fixture.plan().await;
        let (id, _) = fixture.play(&mut plan, PASSED).await;
        assert_eq!(id, "a");
        fixture.world.fail_checks("a");
    }
    let open = "The task a is open again: it had passed, but its checks failed when they were run again.";
    assert_eq!(
        fixture.world.said().iter().filter(|said| *said == open).count(),
        2,
        "{:?}",
        fixture.world.said()
    );
}

/// A process that is killed after it has checked a box, and before that is on record.
#[tokio::test]
async fn a_box_of_a_killed_process_is_unchecked_if_it_is_not_true() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    assert!(fixture.roadmap().contains("[x] **a**"));
    if let Some(saved) = fixture.world.saved.lock().expect("no panic").as_mut() {
        saved["begun"]["a"]["has_box"] = false.into();
    }
    fixture.world.set("a", DeliverableStatus::Pending);
    let mut plan = fixture.plan().await;
    assert_eq!(fixture.next(&mut plan).await.instruction.step.as_deref(), Some("a"));
    assert_eq!(fixture.roadmap(), "## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
}

#[tokio::test]
async fn what_is_completed_is_looked_at_first_in_the_users_checkout() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
    fixture.is_in_place = true;
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    fixture.world.regressing.lock().expect("no panic").push("a".to_owned());
    let mut plan = fixture.plan().await;
    assert_eq!(fixture.next(&mut plan).await.instruction.step.as_deref(), Some("a"));
}

#[tokio::test]
async fn a_reviewer_decides_about_a_task_without_checks() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n  - success: it is good\n");
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    let review = fixture.next(&mut plan).await;
    assert_eq!(review.instruction.name, Phase::Review);
    assert!(review.instruction.text.contains("1. it is good"), "{}", review.instruction.text);
    fixture.world.change("a", |item| item.review = Some(opinion(false)));
    let finished = fixture.finished(review, SessionEnd::Completed, 1);
    plan.judge(&finished).await.expect("judged");
    let retry = fixture.next(&mut plan).await;
    assert_eq!((retry.instruction.name, fixture.world.status_of("a")), (Phase::Coding, PENDING));
    let why = "failed: a reviewer found that it is not done: It is short.";
    assert!(retry.instruction.text.contains(why), "{}", retry.instruction.text);
    // Now it is better; one reviewer says nothing, the next one agrees.
    fixture.play(&mut plan, PASSED).await;
    let (_, silent) = fixture.play(&mut plan, PASSED).await;
    assert!(matches!(silent, PlanVerdict::Idle), "{silent:?}");
    let review = fixture.next(&mut plan).await;
    fixture.world.change("a", |item| item.review = Some(opinion(true)));
    let finished = fixture.finished(review, SessionEnd::Completed, 1);
    let verdict = plan.judge(&finished).await.expect("judged");
    assert!(matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{verdict:?}");
}

#[tokio::test]
async fn edits_are_taken_over_for_tasks_that_have_not_begun() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n- [ ] **c**: Three\n");
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PENDING).await;
    fixture.write("## Tasks\n- [ ] **a**: Another one\n- [ ] **b**: Two, better\n- [ ] **d**: Four\n");
    let session = fixture.next(&mut plan).await;
    assert!(session.instruction.text.contains("## Goal\nOne\n"), "{}", session.instruction.text);
    let said = fixture.world.said();
    let expected = [
        "ROADMAP.md was edited: description of b changed; d was added; c was removed.",
        "ROADMAP.md was edited, but tasks that have begun stay as they were: description of a changed.",
    ];
    assert!(expected.iter().all(|expected| said.iter().any(|said| said == expected)), "{said:?}");
    fixture.write("no roadmap");
    let mut rest = Vec::new();
    for _ in 0..3 {
        rest.push(fixture.play(&mut plan, PASSED).await.0);
    }
    assert_eq!(rest, ["a", "b", "d"], "the run continues with the last good one");
    let warned = fixture.world.said().into_iter().filter(|said| said.contains("and has problems")).count();
    assert_eq!(warned, 1);
}

/// An editor that had the file open may have written it.
#[tokio::test]
async fn a_box_that_the_user_unchecks_is_checked_again_and_that_is_said_once() {
    let open = "## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n- [ ] **c**: Three\n";
    let mut fixture = Fixture::new(open);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    let said = |fixture: &Fixture| {
        let said = fixture.world.said().into_iter().filter(|said| said.contains("unchecked"));
        said.collect::<Vec<_>>()
    };
    fixture.write(open);
    fixture.play(&mut plan, PASSED).await;
    let one = "The box of a was unchecked, but the task stays completed, so it is checked again. \
               To have a task done again, add it under another id.";
    assert_eq!(said(&fixture), [one]);
    assert_eq!(fixture.roadmap(), "## Tasks\n- [x] **a**: One\n- [x] **b**: Two\n- [ ] **c**: Three\n");
    // While no process runs, too.
    drop(plan);
    fixture.write(open);
    let mut plan = fixture.plan().await;
    let (id, _) = fixture.play(&mut plan, PASSED).await;
    assert_eq!(id, "c", "what is completed is not run again");
    assert!(said(&fixture)[1].starts_with("The boxes of a, b were unchecked, but the tasks stay completed"));
    assert_eq!((said(&fixture).len(), fixture.roadmap()), (2, open.replace("[ ]", "[x]")));
}

/// Another run knows of it by its deliverable only.
#[tokio::test]
async fn a_task_that_an_earlier_run_has_completed_is_named() {
    let fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n");
    fixture.plan().await;
    fixture.world.set("a", PASSED);
    let mut plan = fixture.plan().await;
    let next = plan.next(&RunState::default()).await.expect("next");
    assert!(matches!(next, NextAction::Done(RunOutcome::AllPassed)), "{next:?}");
    let said = fixture.world.said();
    assert!(said[0].starts_with("The task a was completed by an earlier run ("), "{said:?}");
    assert!(said[0].ends_with("To have a task done again, add it under another id."), "{said:?}");
}

#[tokio::test]
async fn sessions_start_in_the_directory_of_their_task() {
    let mut fixture = Fixture::new(
        "## Constraints\n- Working directory: ./shop\n## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n  - cwd: ./shop/cart\n",
    );
    let mut plan = fixture.plan().await;
    assert_eq!(fixture.next(&mut plan).await.directory, Path::new("./shop"));
    fixture.play(&mut plan, PASSED).await;
    assert_eq!(fixture.next(&mut plan).await.directory, Path::new("./shop/cart"));
}

/// The box that the run checks after the session is written into the edited file.
#[tokio::test]
async fn an_edit_during_the_last_session_is_taken_over_before_the_run_ends() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n");
    let mut plan = fixture.plan().await;
    let session = fixture.next(&mut plan).await;
    fixture.world.set("a", PASSED);
    fixture.write("## Tasks\n- [ ] **a**: One\n- [ ] **b**: Two\n");
    let finished = fixture.finished(session, SessionEnd::Completed, 1);
    let verdict = plan.judge(&finished).await.expect("judged");
    assert!(matches!(verdict, PlanVerdict::Progressed), "{verdict:?}");
    let (id, verdict) = fixture.play(&mut plan, PASSED).await;
    assert!(id == "b" && matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{id} {verdict:?}");
    plan.ended().await.expect("ended");
    assert_eq!(fixture.roadmap(), "## Tasks\n- [x] **a**: One\n- [x] **b**: Two\n");
}

#[tokio::test]
async fn stuck_work_is_given_up_for_the_next_attempt() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n  - max_retries: 2\n");
    let mut plan = fixture.plan().await;
    assert!(!plan.abandon().await.expect("asked"), "nothing has begun");
    for attempt in 1..=2 {
        fixture.play(&mut plan, PENDING).await;
        assert!(plan.abandon().await.expect("given up"));
        // A process that was killed in between asks again.
        assert!(plan.abandon().await.expect("given up"));
        let failed = format!("Attempt {attempt} of 2 at a failed: its sessions made no progress");
        assert_eq!(fixture.world.said().iter().filter(|said| said.starts_with(&failed)).count(), 1);
    }
    let next = plan.next(&RunState::default()).await.expect("next");
    assert!(matches!(next, NextAction::Done(RunOutcome::TasksBlocked { .. })), "{next:?}");
}

#[tokio::test]
async fn a_session_that_was_not_judged_is_judged_by_the_next_process() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n  - max_iterations: 1\n- [ ] **b**: Two\n");
    let mut plan = fixture.plan().await;
    let session = fixture.next(&mut plan).await;
    fixture.finished(session, SessionEnd::Completed, 1);
    for _ in 0..2 {
        // Killed before it was judged, and again after that.
        plan = fixture.plan().await;
        let retry = fixture.next(&mut plan).await;
        assert!(retry.instruction.text.contains("Attempt 1 of 3 failed"), "{}", retry.instruction.text);
    }
    fixture.play(&mut plan, PASSED).await;
    fixture.play(&mut plan, DeliverableStatus::Blocked).await;
    // The user has resolved what blocked it.
    fixture.world.set("b", PENDING);
    plan = fixture.plan().await;
    let (id, verdict) = fixture.play(&mut plan, PASSED).await;
    assert!(id == "b" && matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{id} {verdict:?}");
    let alerts = fs::read_to_string(fixture.project.path().join(".harness/main/alerts.log")).expect("text");
    assert_eq!(alerts.matches("task_completed").count(), 2, "{alerts}");
    assert_eq!(alerts.matches("task_blocked").count(), 1, "{alerts}");
}

/// An answer of a session that looks for further tasks.
async fn answers(fixture: &mut Fixture, plan: &mut TaskPlan, answer: Option<Value>) -> (String, PlanVerdict) {
    let session = fixture.next(plan).await;
    assert_eq!(session.instruction.name, Phase::Inspection, "it changes nothing");
    assert!(session.answer_schema.is_some() && session.time_limit.is_some());
    let text = session.instruction.text.clone();
    let mut finished = fixture.finished(session, SessionEnd::Completed, 1);
    finished.output.answer = answer;
    *fixture.world.last.lock().expect("no panic") = Some(finished.clone());
    (text, plan.judge(&finished).await.expect("judged"))
}

#[tokio::test]
async fn further_tasks_are_proposed_added_and_run_once_if_that_is_wished() {
    let roadmap = "## Objective\nSell.\n\n## Tasks\n- [ ] **a**: One\n\n## Growth Mode\n1. Look for gaps\n";
    let mut fixture = Fixture::new(roadmap);
    let mut plan = fixture.plan().await;
    let (_, verdict) = fixture.play(&mut plan, PASSED).await;
    assert!(matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "not without being asked for");

    let mut fixture = Fixture::new(roadmap);
    fixture.growth = NonZeroUsize::new(1);
    let mut plan = fixture.plan().await;
    let (_, verdict) = fixture.play(&mut plan, PASSED).await;
    assert!(matches!(verdict, PlanVerdict::Progressed), "{verdict:?}");
    let task = |name: &str| serde_json::json!({ "description": name, "goal": "", "success": "it works" });
    let answer = serde_json::json!({ "tasks": [task("Two"), task("Three")] });
    let (text, verdict) = answers(&mut fixture, &mut plan, Some(answer)).await;
    assert!(text.contains("Objective: Sell.") && text.contains("- a: One I tried."), "{text}");
    assert!(
        text.contains("## What to look for\nLook for gaps") && text.contains("at most 1 further"),
        "{text}"
    );
    assert!(matches!(verdict, PlanVerdict::Progressed), "{verdict:?}");
    let grown = roadmap.replace(
        "[ ] **a**: One\n\n",
        "[x] **a**: One\n\n### Growth\n- [ ] **growth-1**: Two\n  - success: it works\n\n",
    );
    assert_eq!(fixture.roadmap(), grown, "no other byte has changed");
    let said = fixture.world.said();
    for sentence in [
        "The proposal 'Three' is not taken over: there are enough.",
        "All tasks are completed. Further ones, added to ROADMAP.md: growth-1.",
    ] {
        assert!(said.iter().any(|message| message == sentence), "{said:?}");
    }
    // It runs, is reviewed, and nothing more is looked for.
    assert_eq!(fixture.play(&mut plan, PASSED).await.0, "growth-1");
    let session = fixture.next(&mut plan).await;
    assert_eq!(session.instruction.name, Phase::Review);
    fixture.world.change("growth-1", |item| item.review = Some(opinion(true)));
    let finished = fixture.finished(session, SessionEnd::Completed, 1);
    let verdict = plan.judge(&finished).await.expect("judged");
    assert!(matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{verdict:?}");
}

#[tokio::test]
async fn a_killed_search_for_tasks_adds_nothing_twice_and_one_without_an_answer_ends_it() {
    let mut fixture = Fixture::new("## Tasks\n- [ ] **a**: One\n");
    fixture.growth = NonZeroUsize::new(3);
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan, PASSED).await;
    let session = fixture.next(&mut plan).await;
    let mut finished = fixture.finished(session, SessionEnd::Completed, 1);
    finished.output.answer =
        Some(serde_json::json!({ "tasks": [{ "description": "Two", "goal": "", "success": "ok" }] }));
    *fixture.world.last.lock().expect("no panic") = Some(finished);
    // Killed before it was judged, and again after the tasks were added.
    for _ in 0..2 {
        let saved = fixture.world.saved.lock().expect("no panic").clone();
        let mut plan = fixture.plan().await;
        let session = fixture.next(&mut plan).await;
        assert_eq!(session.instruction.step.as_deref(), Some("growth-1"));
        *fixture.world.saved.lock().expect("no panic") = saved;
    }
    assert_eq!(fixture.roadmap().matches("growth-1").count(), 1, "{}", fixture.roadmap());

    let mut fixture = Fixture::new("## Tasks\n- [x] **a**: One\n");
    fixture.growth = NonZeroUsize::new(3);
    let mut plan = fixture.plan().await;
    let (_, verdict) = answers(&mut fixture, &mut plan, None).await;
    assert!(matches!(verdict, PlanVerdict::Done(RunOutcome::AllPassed)), "{verdict:?}");
    assert!(fixture.world.said().iter().any(|message| message.contains("ended without an answer")));
}

impl Fixture {
    /// The run has ended by itself; what follows is another one.
    fn end_run(&mut self) {
        let saved = self.world.saved.lock().expect("no panic").take();
        *self.world.earlier.lock().expect("no panic") = saved;
        *self.world.last.lock().expect("no panic") = None;
        self.sessions = 0;
    }
}
