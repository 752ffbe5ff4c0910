use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::ledger::Ledger;
use autonoe_core::outcome::{PlanReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{Iteration, NextAction, Plan, PlanMemory, PlanVerdict, RunState, SessionOutput};
use autonoe_core::status::Tally;
use serde_json::Value;
use tempfile::TempDir;

use super::{RecoveringPlan, RecoverySetup};

const REMEDIES: [&str; 6] = ["nudge", "rephrase", "decompose", "constrain", "examples", "negative"];

/// Never sees progress by itself.
struct IdlePlan;

#[async_trait]
impl Plan for IdlePlan {
    async fn next(&mut self, _: &RunState) -> Result<NextAction, Fault> {
        let instruction = Instruction::briefed(Phase::Coding, "Build it.".to_owned(), None);
        Ok(NextAction::Session(instruction.into()))
    }

    async fn judge(&mut self, _: &Iteration) -> Result<PlanVerdict, Fault> {
        Ok(PlanVerdict::Idle)
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(Tally::default())
    }
}

#[derive(Default)]
struct Memory {
    saved: Mutex<Option<Value>>,
    events: Mutex<Vec<RunEvent>>,
}

#[async_trait]
impl PlanMemory for Memory {
    async fn load(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn save(&self, _: &Value) -> Result<(), Fault> {
        Ok(())
    }

    async fn recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(self.saved.lock().expect("no panic").clone())
    }

    async fn save_recovery(&self, state: &Value) -> Result<(), Fault> {
        *self.saved.lock().expect("no panic") = Some(state.clone());
        Ok(())
    }

    async fn record_event(&self, event: &RunEvent) -> Result<(), Fault> {
        self.events.lock().expect("no panic").push(event.clone());
        Ok(())
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        Ok(None)
    }

    async fn conversation(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }
}

struct Fixture {
    root: TempDir,
    memory: Arc<Memory>,
    run: RunState,
}

/// A session, as far as it matters.
struct Played {
    prompt: String,
    verdict: PlanVerdict,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("directory");
        Self { root, memory: Arc::default(), run: RunState::default() }
    }

    async fn plan<'a>(&self, inner: &'a mut IdlePlan) -> RecoveringPlan<'a> {
        let setup = RecoverySetup {
            root: self.root.path().to_owned(),
            memory: Arc::clone(&self.memory) as _,
            status: None,
            failed_checks: Arc::default(),
            on_event: &|_| {},
        };
        RecoveringPlan::resume(inner, setup).await.expect("resumed")
    }

    async fn next(&self, plan: &mut RecoveringPlan<'_>) -> Instruction {
        match plan.next(&self.run).await.expect("next") {
            NextAction::Session(session) => session.instruction,
            NextAction::Done(outcome) => panic!("{outcome:?}"),
        }
    }

    /// One session whose agent always says the same.
    async fn play(&mut self, plan: &mut RecoveringPlan<'_>, outcome: SessionEnd) -> Played {
        let instruction = self.next(plan).await;
        self.run.sessions += 1;
        self.run.iterations += 1;
        let finished = Iteration {
            number: self.run.sessions,
            instruction: instruction.clone(),
            outcome,
            spent: Ledger::default(),
            duration: Duration::from_secs(1),
            output: SessionOutput { text: "I looked around.".to_owned(), ..SessionOutput::default() },
        };
        let verdict = plan.judge(&finished).await.expect("judged");
        Played { prompt: instruction.text, verdict }
    }

    fn remedies(&self) -> Vec<String> {
        let name = |event: &RunEvent| match event {
            RunEvent::Remedy { name, .. } => Some(name.clone()),
            _ => None,
        };
        self.memory.events.lock().expect("no panic").iter().filter_map(name).collect()
    }

    fn scores(&self) -> usize {
        let events = self.memory.events.lock().expect("no panic");
        events.iter().filter(|event| matches!(event, RunEvent::Progress { .. })).count()
    }
}

#[tokio::test]
async fn every_remedy_is_tried_once_and_then_the_run_is_stuck() {
    let mut fixture = Fixture::new();
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    for _ in 0..3 {
        let played = fixture.play(&mut plan, SessionEnd::Completed).await;
        assert!(matches!(played.verdict, PlanVerdict::Idle), "{:?}", played.verdict);
        assert_eq!(played.prompt, "Build it.");
    }
    let played = fixture.play(&mut plan, SessionEnd::Completed).await;
    assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
    for remedy in &REMEDIES[..5] {
        let played = fixture.play(&mut plan, SessionEnd::Completed).await;
        assert!(played.prompt.starts_with("Build it.\n\n## "), "{remedy}: {}", played.prompt);
        assert_eq!(played.prompt.matches("Build it.").count(), 1, "{}", played.prompt);
        assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
    }
    let played = fixture.play(&mut plan, SessionEnd::Completed).await;
    let PlanVerdict::Stuck { idle_sessions: 10, tried } = played.verdict else {
        panic!("{:?}", played.verdict)
    };
    assert_eq!(tried, REMEDIES);
    assert_eq!(fixture.remedies(), REMEDIES);
    assert_eq!(fixture.scores(), 10);
    // Another backend takes over and gets the remedies anew.
    for _ in 0..3 {
        let played = fixture.play(&mut plan, SessionEnd::Completed).await;
        assert_eq!(played.prompt, "Build it.");
    }
    assert_eq!(fixture.remedies().len(), 7);
}

#[tokio::test]
async fn changed_files_are_progress_and_end_the_recovery() {
    let mut fixture = Fixture::new();
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    for _ in 0..4 {
        fixture.play(&mut plan, SessionEnd::Completed).await;
    }
    assert_eq!(fixture.remedies(), ["nudge"]);
    for file in ["a", "b", "c"] {
        std::fs::write(fixture.root.path().join(file), "new").expect("written");
    }
    let played = fixture.play(&mut plan, SessionEnd::Completed).await;
    assert!(played.prompt.contains("What has been tried"), "{}", played.prompt);
    assert!(matches!(played.verdict, PlanVerdict::Idle), "the inner plan saw none: {:?}", played.verdict);
    let played = fixture.play(&mut plan, SessionEnd::Completed).await;
    assert_eq!(played.prompt, "Build it.");
    assert_eq!(fixture.remedies(), ["nudge"]);
}

#[tokio::test]
async fn a_session_that_repeated_itself_counts_whatever_it_changed() {
    let mut fixture = Fixture::new();
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    for number in 0..3 {
        std::fs::write(fixture.root.path().join(format!("{number}")), "new").expect("written");
        fixture.play(&mut plan, SessionEnd::Stuck { reason: "Again.".to_owned() }).await;
    }
    assert_eq!(fixture.remedies(), ["nudge"]);
}

#[tokio::test]
async fn a_killed_process_continues_the_remedy_and_repeats_none() {
    let mut fixture = Fixture::new();
    {
        let mut inner = IdlePlan;
        let mut plan = fixture.plan(&mut inner).await;
        for _ in 0..4 {
            fixture.play(&mut plan, SessionEnd::Completed).await;
        }
        // Killed while the session of the nudge works.
        fixture.next(&mut plan).await;
    }
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    let prompt = fixture.next(&mut plan).await.text;
    assert!(prompt.contains("Do not repeat what was tried"), "the nudge was never read: {prompt}");
    assert_eq!(fixture.remedies(), ["nudge"]);
    // Killed after that session ended and before it was judged.
    (fixture.run.sessions, fixture.run.iterations) = (5, 5);
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    let prompt = fixture.next(&mut plan).await.text;
    assert!(prompt.contains("The task in other words"), "{prompt}");
    assert_eq!(fixture.remedies(), ["nudge", "rephrase"]);
}

#[tokio::test]
async fn a_killed_process_that_had_given_up_ends_as_stuck() {
    let mut fixture = Fixture::new();
    {
        let mut inner = IdlePlan;
        let mut plan = fixture.plan(&mut inner).await;
        for _ in 0..10 {
            fixture.play(&mut plan, SessionEnd::Completed).await;
        }
    }
    let mut inner = IdlePlan;
    let mut plan = fixture.plan(&mut inner).await;
    let action = plan.next(&fixture.run).await.expect("next");
    let NextAction::Done(RunOutcome::Stuck { tried, .. }) = action else { panic!("{action:?}") };
    assert_eq!(tried, REMEDIES);
}
