use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::Instruction;
use autonoe_core::deliverable::NewDeliverable;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::ledger::Ledger;
use autonoe_core::money::Usd;
use autonoe_core::outcome::{PlanReport, RunOutcome, SessionEnd};
use autonoe_core::plan::{
    Iteration, NextAction, NextSession, Plan, PlanMemory, PlanVerdict, RunState, SessionOutput, StatusReader,
};
use autonoe_core::status::{ProjectStatus, Tally};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{BranchChecks, BranchDiff, BranchSite, RecoveringPlan, RecoverySetup};
use crate::recovery::{BestOf, KeptBranch, RecoveryBudget, Rung};

mod best_of;

/// Checks of the deliverable.
const ALL_CHECKS: usize = 3;

const REMEDIES: [&str; 6] = ["nudge", "rephrase", "decompose", "constrain", "examples", "negative"];

/// Never sees progress by itself.
struct IdlePlan;

#[async_trait]
impl Plan for IdlePlan {
    async fn next(&mut self, _: &RunState) -> Result<NextAction, Fault> {
        let instruction = Instruction::briefed(Phase::Coding, "Build it.".to_owned(), None);
        Ok(NextAction::Session(Instruction { deliverable: Some("A".to_owned()), ..instruction }.into()))
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
    /// Of the run before.
    earlier: Mutex<Option<Value>>,
    events: Mutex<Vec<RunEvent>>,
    /// The last session in which a model was asked.
    answer: Mutex<Option<Iteration>>,
    /// The last attempt.
    attempt: Mutex<Option<Iteration>>,
}

#[async_trait]
impl PlanMemory for Memory {
    async fn load(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn load_earlier(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn load_all(&self) -> Result<Vec<Value>, Fault> {
        Ok(Vec::new())
    }

    async fn save(&self, _: &Value) -> Result<(), Fault> {
        Ok(())
    }

    async fn recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(locked(&self.saved).clone())
    }

    async fn earlier_recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(locked(&self.earlier).clone())
    }

    async fn save_recovery(&self, state: &Value, events: &[RunEvent]) -> Result<(), Fault> {
        *locked(&self.saved) = Some(state.clone());
        locked(&self.events).extend_from_slice(events);
        Ok(())
    }

    async fn record_event(&self, _: &RunEvent) -> Result<(), Fault> {
        panic!("an event that is not saved with the state can be lost")
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        Ok(locked(&self.attempt).clone())
    }

    async fn last_answer(&self, phase: Phase) -> Result<Option<Iteration>, Fault> {
        let answer = locked(&self.answer).clone();
        Ok(answer.filter(|session| session.instruction.name == phase))
    }

    async fn conversation(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }
}

#[async_trait]
impl StatusReader for Memory {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        let mut status = ProjectStatus::empty(Default::default());
        let new = NewDeliverable {
            id: "A".to_owned(),
            description: "A cart".to_owned(),
            acceptance_criteria: vec!["it holds books".to_owned()],
            order: Default::default(),
        };
        status.create(vec![new]).expect("created");
        Ok(Some(status))
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Commits are numbers. What an approach leads to is decided by its place.
#[derive(Default)]
struct Branches {
    made: Mutex<Vec<String>>,
    kept: Mutex<Vec<String>>,
    passed: Vec<usize>,
    /// Lines that each approach changes.
    lines: Vec<usize>,
    /// The deliverable whose claims are held back.
    held: Mutex<Option<String>>,
    /// Deliverables that were claimed, and their builders.
    claimed: Mutex<Vec<String>>,
}

#[async_trait]
impl BranchSite for Branches {
    async fn save(&self) -> Result<String, Fault> {
        Ok("start".to_owned())
    }

    async fn keep(&self, approach: &str) -> Result<KeptBranch, Fault> {
        let mut kept = locked(&self.kept);
        if !kept.iter().any(|one| one == approach) {
            kept.push(approach.to_owned());
        }
        Ok(KeptBranch { commit: format!("commit-{approach}"), reference: format!("refs/{approach}") })
    }

    async fn examine(&self, deliverable: &str) -> Result<BranchChecks, Fault> {
        assert_eq!(deliverable, "A");
        let place = locked(&self.kept).len();
        let passed = place.checked_sub(1).and_then(|place| self.passed.get(place).copied()).unwrap_or(0);
        Ok(BranchChecks { passed, holds: passed == ALL_CHECKS, message: "no books".to_owned() })
    }

    async fn diff(&self, from: &str, to: &str) -> Result<BranchDiff, Fault> {
        assert_eq!(from, "start");
        let place = locked(&self.kept).iter().position(|one| to == format!("commit-{one}")).expect("kept");
        let lines = self.lines.get(place).copied().unwrap_or(10);
        Ok(BranchDiff { lines, files: vec!["cart.rs".to_owned()], patch: format!("+change {place}") })
    }

    fn hold(&self, deliverable: Option<&str>) {
        *locked(&self.held) = deliverable.map(str::to_owned);
    }

    async fn claim(&self, deliverable: &str, builder: &Rung) -> Result<Option<String>, Fault> {
        assert_eq!(*locked(&self.held), None, "or it would be held back");
        locked(&self.claimed).push(format!("{deliverable} by {builder}"));
        Ok(None)
    }

    async fn go_to(&self, commit: &str) -> Result<(), Fault> {
        locked(&self.made).push(commit.to_owned());
        Ok(())
    }

    fn how_to_fetch(&self, reference: &str) -> String {
        format!("fetch {reference}")
    }
}

struct Fixture {
    root: TempDir,
    memory: Arc<Memory>,
    branches: Option<Arc<Branches>>,
    ladder: Vec<Rung>,
    best_of: Option<BestOf>,
    budget: RecoveryBudget,
    run: RunState,
    /// What a model finds when it is asked for other words.
    words: Option<&'static str>,
    /// Requests for other words.
    asked: Vec<String>,
}

/// A session, as far as it matters.
struct Played {
    session: NextSession,
    prompt: String,
    verdict: PlanVerdict,
}

impl Fixture {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().expect("directory"),
            memory: Arc::default(),
            branches: None,
            ladder: Vec::new(),
            best_of: None,
            budget: RecoveryBudget::default(),
            run: RunState::default(),
            words: None,
            asked: Vec::new(),
        }
    }

    /// With a site for approaches; `passed` are the checks that each of them makes pass.
    fn exploring(passed: &[usize]) -> (Self, Arc<Branches>) {
        let branches = Arc::new(Branches { passed: passed.to_vec(), ..Branches::default() });
        (Self { branches: Some(Arc::clone(&branches)), ..Self::new() }, branches)
    }

    /// A new process that works on the run.
    async fn plan(&self) -> RecoveringPlan<'static> {
        let setup = RecoverySetup {
            root: self.root.path().to_owned(),
            memory: Arc::clone(&self.memory) as _,
            status: Some(Arc::clone(&self.memory) as _),
            failed_checks: Arc::default(),
            budget: self.budget,
            ladder: self.ladder.clone(),
            best_of: self.best_of.clone(),
            has_workers: false,
            branches: self.branches.clone().map(|branches| branches as _),
            on_event: &|_| {},
            on_missed: &|_| {},
        };
        // Has no size, so nothing is leaked.
        RecoveringPlan::resume(Box::leak(Box::new(IdlePlan)), setup).await.expect("resumed")
    }

    async fn next(&self, plan: &mut RecoveringPlan<'_>) -> NextSession {
        match plan.next(&self.run).await.expect("next") {
            NextAction::Session(session) => session,
            other @ (NextAction::Done(_) | NextAction::Wait) => panic!("{other:?}"),
        }
    }

    fn finished(&mut self, session: &NextSession, outcome: SessionEnd) -> Iteration {
        self.run.sessions += 1;
        self.run.iterations += 1;
        let spent = Ledger { cost: Usd(0.5), ..Ledger::default() };
        self.run.spent.add(&spent);
        let words = self.words.filter(|_| session.instruction.name == Phase::Rewriting);
        let answer = words.map(|words| json!({ "task": words }));
        Iteration {
            number: self.run.sessions,
            worker: 0,
            backend: session.backends.first().cloned().unwrap_or_else(|| "native".to_owned()),
            model: session.model.clone().unwrap_or_else(|| "small".to_owned()),
            instruction: session.instruction.clone(),
            outcome,
            spent,
            duration: Duration::from_secs(1),
            output: SessionOutput { text: "I looked around.".to_owned(), answer, ..SessionOutput::default() },
        }
    }

    /// One session whose agent always says the same, and the one before it in which a model is asked for other words.
    async fn play_to(&mut self, plan: &mut RecoveringPlan<'_>, outcome: SessionEnd) -> Played {
        let mut session = self.next(plan).await;
        if session.instruction.name == Phase::Rewriting {
            assert!(session.is_optional && session.answer_schema.is_some() && session.time_limit.is_some());
            self.asked.push(session.instruction.text.clone());
            let outcome = match self.words {
                Some(_) => SessionEnd::Completed,
                None => failure(),
            };
            let finished = self.finished(&session, outcome);
            let verdict = plan.judge(&finished).await.expect("judged");
            assert!(matches!(verdict, PlanVerdict::Recovering), "{verdict:?}");
            session = self.next(plan).await;
        }
        let finished = self.finished(&session, outcome);
        let verdict = plan.judge(&finished).await.expect("judged");
        Played { prompt: session.instruction.text.clone(), session, verdict }
    }

    async fn play(&mut self, plan: &mut RecoveringPlan<'_>) -> Played {
        self.play_to(plan, SessionEnd::Completed).await
    }

    async fn play_sessions(&mut self, plan: &mut RecoveringPlan<'_>, count: u32) {
        for _ in 0..count {
            self.play(plan).await;
        }
    }

    /// Progress that the run sees.
    fn make_files(&self) {
        for name in ["a", "b", "c"] {
            std::fs::write(self.root.path().join(name), "new").expect("written");
        }
    }

    /// Sessions until the run has tried some remedies.
    async fn play_until(&mut self, plan: &mut RecoveringPlan<'_>, remedy: &str) {
        while self.remedies().last().map(String::as_str) != Some(remedy) {
            let played = self.play(plan).await;
            assert!(!matches!(played.verdict, PlanVerdict::Stuck { .. }), "{:?}", self.remedies());
        }
    }

    fn remedies(&self) -> Vec<String> {
        let name = |event: &RunEvent| match event {
            RunEvent::Remedy { name, .. } => Some(name.clone()),
            _ => None,
        };
        locked(&self.memory.events).iter().filter_map(name).collect()
    }

    fn notices(&self) -> Vec<String> {
        let message = |event: &RunEvent| match event {
            RunEvent::Notice { message } | RunEvent::Warning { message } => Some(message.clone()),
            _ => None,
        };
        locked(&self.memory.events).iter().filter_map(message).collect()
    }

    fn scores(&self) -> usize {
        let events = locked(&self.memory.events);
        events.iter().filter(|event| matches!(event, RunEvent::Progress { .. })).count()
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().expect("no panic")
}

fn failure() -> SessionEnd {
    SessionEnd::ExecutionError { fault: Fault::transient(FaultLayer::Agent, "failed", "It failed.") }
}

fn rung(backend: &str, model: &str) -> Rung {
    Rung { backend: backend.to_owned(), model: Some(model.to_owned()) }
}

#[tokio::test]
async fn every_remedy_is_tried_once_and_then_the_run_is_stuck() {
    let mut fixture = Fixture::new();
    let mut plan = fixture.plan().await;
    for _ in 0..3 {
        let played = fixture.play(&mut plan).await;
        assert!(matches!(played.verdict, PlanVerdict::Idle), "{:?}", played.verdict);
        assert_eq!(played.prompt, "Build it.");
    }
    let played = fixture.play(&mut plan).await;
    assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
    for remedy in &REMEDIES[..5] {
        let played = fixture.play(&mut plan).await;
        assert!(played.prompt.starts_with("Build it.\n\n## "), "{remedy}: {}", played.prompt);
        assert_eq!(played.prompt.matches("Build it.").count(), 1, "{}", played.prompt);
        assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
    }
    let played = fixture.play(&mut plan).await;
    let PlanVerdict::Stuck { idle_sessions: 10, tried } = played.verdict else {
        panic!("{:?}", played.verdict)
    };
    assert_eq!(tried, REMEDIES);
    assert_eq!(fixture.remedies(), REMEDIES);
    assert_eq!(fixture.scores(), 10);
    // Another backend takes over and gets the remedies anew.
    for _ in 0..3 {
        let played = fixture.play(&mut plan).await;
        assert_eq!(played.prompt, "Build it.");
    }
    assert_eq!(fixture.remedies().len(), 7);
}

#[tokio::test]
async fn changed_files_are_progress_and_end_the_recovery() {
    let mut fixture = Fixture::new();
    let mut plan = fixture.plan().await;
    fixture.play_sessions(&mut plan, 4).await;
    assert_eq!(fixture.remedies(), ["nudge"]);
    fixture.make_files();
    let played = fixture.play(&mut plan).await;
    assert!(played.prompt.contains("What has been tried"), "{}", played.prompt);
    assert!(matches!(played.verdict, PlanVerdict::Idle), "the inner plan saw none: {:?}", played.verdict);
    let played = fixture.play(&mut plan).await;
    assert_eq!(played.prompt, "Build it.");
    assert_eq!(fixture.remedies(), ["nudge"]);
}

#[tokio::test]
async fn a_session_that_repeated_itself_counts_whatever_it_changed() {
    let mut fixture = Fixture::new();
    let mut plan = fixture.plan().await;
    for number in 0..3 {
        std::fs::write(fixture.root.path().join(format!("{number}")), "new").expect("written");
        fixture.play_to(&mut plan, SessionEnd::Stuck { reason: "Again.".to_owned() }).await;
    }
    assert_eq!(fixture.remedies(), ["nudge"]);
}

#[tokio::test]
async fn a_killed_process_continues_the_remedy_and_repeats_none() {
    let mut fixture = Fixture::new();
    {
        let mut plan = fixture.plan().await;
        fixture.play_sessions(&mut plan, 4).await;
        // Killed while the session of the nudge works.
        fixture.next(&mut plan).await;
    }
    let mut plan = fixture.plan().await;
    let prompt = fixture.next(&mut plan).await.instruction.text;
    assert!(prompt.contains("Do not repeat what was tried"), "the nudge was never read: {prompt}");
    assert_eq!(fixture.remedies(), ["nudge"]);
    // Killed after that session ended and before it was judged.
    (fixture.run.sessions, fixture.run.iterations) = (5, 5);
    let mut plan = fixture.plan().await;
    assert_eq!(fixture.next(&mut plan).await.instruction.name, Phase::Rewriting);
    let played = fixture.play(&mut plan).await;
    assert!(played.prompt.contains("The task in other words"), "{}", played.prompt);
    assert_eq!(fixture.remedies()[..2], ["nudge", "rephrase"]);
}

#[tokio::test]
async fn a_killed_process_that_had_given_up_ends_as_stuck() {
    let mut fixture = Fixture::new();
    {
        let mut plan = fixture.plan().await;
        fixture.play_sessions(&mut plan, 10).await;
    }
    let mut plan = fixture.plan().await;
    let action = plan.next(&fixture.run).await.expect("next");
    let NextAction::Done(RunOutcome::Stuck { tried, .. }) = action else { panic!("{action:?}") };
    assert_eq!(tried, REMEDIES);
}

#[tokio::test]
async fn a_model_is_asked_for_other_words_in_a_session_of_its_own() {
    let mut fixture = Fixture::new();
    fixture.words = Some("Put books into a basket.");
    let mut plan = fixture.plan().await;
    fixture.play_until(&mut plan, "nudge").await;
    fixture.play(&mut plan).await;
    let played = fixture.play(&mut plan).await;
    assert!(
        fixture.asked[0].contains("Rephrase it") && fixture.asked[0].contains("A cart"),
        "{:?}",
        fixture.asked
    );
    let expected = "Build it.\n\n## The task in other words\nPut books into a basket.\n\n## Success Criteria\nit holds books";
    assert!(played.prompt.starts_with(expected), "{}", played.prompt);
    assert!(fixture.notices().is_empty(), "{:?}", fixture.notices());
    fixture.words = None;
    let played = fixture.play(&mut plan).await;
    assert!(played.prompt.contains("## Steps"), "{}", played.prompt);
    assert_eq!(fixture.notices(), ["The model found no other words for the task, so a template is used."]);
}

#[tokio::test]
async fn words_that_were_found_before_a_kill_are_used() {
    let mut fixture = Fixture::new();
    fixture.words = Some("Put books into a basket.");
    {
        let mut plan = fixture.plan().await;
        fixture.play_until(&mut plan, "nudge").await;
        fixture.play(&mut plan).await;
        let session = fixture.next(&mut plan).await;
        assert_eq!(session.instruction.name, Phase::Rewriting);
        // Killed after the end of the session is on record, and before it was judged.
        let finished = fixture.finished(&session, SessionEnd::Completed);
        *locked(&fixture.memory.answer) = Some(finished);
    }
    for _ in 0..2 {
        let mut plan = fixture.plan().await;
        let session = fixture.next(&mut plan).await;
        assert!(
            session.instruction.text.contains("Put books into a basket."),
            "{}",
            session.instruction.text
        );
        assert_eq!(fixture.remedies(), ["nudge", "rephrase"]);
    }
}

#[tokio::test]
async fn another_vendor_works_for_the_sessions_of_an_escalation_only() {
    let mut fixture = Fixture::new();
    fixture.ladder = vec![rung("native", "small"), rung("native", "large"), rung("claude", "best")];
    let mut plan = fixture.plan().await;
    fixture.play_until(&mut plan, "escalation").await;
    let played = fixture.play(&mut plan).await;
    assert_eq!(
        (&*played.session.backends, played.session.model.as_deref()),
        (&["claude".to_owned()][..], Some("best"))
    );
    assert!(played.session.is_optional && played.prompt.contains("What has been tried"), "{}", played.prompt);
    // It cannot work, which ends its turn but not the run.
    let played = fixture.play_to(&mut plan, failure()).await;
    assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
    assert_eq!(
        fixture.notices().last().map(String::as_str),
        Some("claude/best could not work, so it is skipped: It failed.")
    );
    let played = fixture.play(&mut plan).await;
    assert_eq!(played.session.model.as_deref(), Some("large"), "another model of the run's own vendor");
    fixture.make_files();
    fixture.play(&mut plan).await;
    let played = fixture.play(&mut plan).await;
    assert!(played.session.backends.is_empty() && !played.session.is_optional, "progress ends the recovery");
}

#[tokio::test]
async fn a_share_of_the_money_ends_the_recovery() {
    let mut fixture = Fixture::new();
    fixture.budget.cost = Some(Usd(1.0));
    let mut plan = fixture.plan().await;
    let verdict = loop {
        match fixture.play(&mut plan).await.verdict {
            PlanVerdict::Idle | PlanVerdict::Recovering => {}
            verdict => break verdict,
        }
    };
    // The nudge, and the session in which a model found no other words; the template was tried as well.
    assert!(
        matches!(&verdict, PlanVerdict::Stuck { tried, .. } if *tried == ["nudge", "rephrase"]),
        "{verdict:?}"
    );
}

/// Plays an exploration to its end; the process is killed before each session. Returns the prompts of its sessions.
async fn explore(fixture: &mut Fixture, is_killed: bool) -> (Vec<String>, PlanVerdict) {
    let mut plan = fixture.plan().await;
    fixture.play_until(&mut plan, "exploration").await;
    continue_exploration(fixture, plan, is_killed).await
}

async fn continue_exploration(
    fixture: &mut Fixture,
    mut plan: RecoveringPlan<'static>,
    is_killed: bool,
) -> (Vec<String>, PlanVerdict) {
    let mut prompts = Vec::new();
    loop {
        if is_killed {
            drop(plan);
            plan = fixture.plan().await;
            fixture.next(&mut plan).await;
            drop(plan);
            plan = fixture.plan().await;
        }
        let played = fixture.play(&mut plan).await;
        let approach = played.prompt.split("## Approach\n").nth(1).map(|text| text[..20].to_owned());
        prompts.extend(approach);
        let is_over = plan.recovery.exploration().is_none();
        if is_over {
            // The workspace is made what the next session needs.
            if !matches!(played.verdict, PlanVerdict::Stuck { .. }) {
                fixture.next(&mut plan).await;
            } else {
                plan.ended().await.expect("ended");
            }
            return (prompts, played.verdict);
        }
    }
}

#[tokio::test]
async fn the_approach_with_the_most_checks_goes_on() {
    for is_killed in [false, true] {
        let (mut fixture, branches) = Fixture::exploring(&[0, 1, 0]);
        let (prompts, verdict) = explore(&mut fixture, is_killed).await;
        assert!(matches!(verdict, PlanVerdict::Idle), "{verdict:?}");
        let (up, down, look) = ("Work from the bottom", "Work from the top do", "Look before you writ");
        assert_eq!(prompts, [up, up, down, down, look, look], "killed: {is_killed}");
        let made = locked(&branches.made).clone();
        assert_eq!(made, ["start", "start", "commit-top_down"], "killed: {is_killed}");
        let notices = fixture.notices();
        let found = notices.iter().filter(|text| !text.contains("template")).collect::<Vec<_>>();
        assert_eq!(
            found[..3],
            [
                "Approach 1 of 3, from commit start: bottom_up.",
                "Approach 2 of 3, from commit start: top_down.",
                "Approach 3 of 3, from commit start: research_first.",
            ]
        );
        let end = "top_down continues. Commits of the others are kept: `fetch refs/bottom_up`, `fetch refs/research_first`.";
        assert!(
            found[3].starts_with("Tried bottom_up (0 checks passed, score 0.00)") && found[3].ends_with(end),
            "{}",
            found[3]
        );
        assert_eq!(found.len(), 4);
        assert_eq!(fixture.remedies().iter().filter(|name| *name == "exploration").count(), 1);
    }
}

#[tokio::test]
async fn without_a_better_approach_the_run_continues_from_where_it_was() {
    let (mut fixture, branches) = Fixture::exploring(&[]);
    let (prompts, verdict) = explore(&mut fixture, false).await;
    assert_eq!(prompts.len(), 6);
    assert!(
        matches!(&verdict, PlanVerdict::Stuck { tried, .. } if tried.last().unwrap() == "exploration"),
        "{verdict:?}"
    );
    assert_eq!(locked(&branches.made).clone(), ["start", "start", "start"]);
}

#[tokio::test]
async fn a_run_that_ends_within_an_exploration_leaves_its_commits_as_they_were() {
    let (mut fixture, branches) = Fixture::exploring(&[]);
    let mut plan = fixture.plan().await;
    fixture.play_until(&mut plan, "exploration").await;
    fixture.play_sessions(&mut plan, 3).await;
    plan.ended().await.expect("ended");
    assert_eq!(locked(&branches.kept).clone(), ["bottom_up", "top_down"]);
    assert_eq!(locked(&branches.made).clone(), ["start", "start"]);
    let said = fixture.notices().last().unwrap().clone();
    assert!(
        said.contains("The next run tries the rest.") && said.contains("`fetch refs/top_down`"),
        "{said}"
    );
    // The next run tries what was not tried to its end, also if a process of it was killed and yet another run follows.
    fixture.end_run();
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan).await;
    fixture.end_run();
    let plan = fixture.plan().await;
    let (prompts, verdict) = continue_exploration(&mut fixture, plan, false).await;
    let (down, look) = ("Work from the top do", "Look before you writ");
    assert_eq!(prompts, [down, down, look, look]);
    assert!(matches!(verdict, PlanVerdict::Stuck { .. }), "{verdict:?}");
}

impl Fixture {
    /// The run has ended by itself; what follows is another one.
    fn end_run(&mut self) {
        *locked(&self.memory.earlier) = locked(&self.memory.saved).take();
        self.run = RunState::default();
    }
}

#[tokio::test]
async fn the_next_run_continues_the_remedies_and_repeats_none() {
    let mut fixture = Fixture::new();
    let mut last = None;
    // Each run ends after two sessions, as with `-n 2`: the first makes progress, nine do not.
    for _ in 0..5 {
        let mut plan = fixture.plan().await;
        fixture.play(&mut plan).await;
        last = Some(fixture.play(&mut plan).await.verdict);
        plan.ended().await.expect("ended");
        fixture.end_run();
    }
    assert!(matches!(last, Some(PlanVerdict::Stuck { .. })), "{last:?}");
    assert_eq!(fixture.remedies(), REMEDIES);
    let said = "Continuing the recovery of the last run, which has tried: nudge.";
    assert!(fixture.notices().iter().any(|notice| notice == said), "{:?}", fixture.notices());
    // Nothing was left to try, and a person has started it again.
    let mut plan = fixture.plan().await;
    assert_eq!(fixture.play(&mut plan).await.prompt, "Build it.");
}

/// The user has changed the task meanwhile, or another one is next.
#[tokio::test]
async fn remedies_for_other_work_are_not_continued() {
    let mut fixture = Fixture::new();
    let mut plan = fixture.plan().await;
    fixture.play_sessions(&mut plan, 4).await;
    fixture.end_run();
    let other = locked(&fixture.memory.earlier).as_mut().map(|saved| saved["work"] = json!("other"));
    assert!(other.is_some());
    let mut plan = fixture.plan().await;
    for _ in 0..4 {
        assert_eq!(fixture.play(&mut plan).await.prompt, "Build it.");
    }
    assert_eq!(fixture.remedies(), ["nudge", "nudge"]);
}

#[tokio::test]
async fn a_session_that_ended_before_its_process_was_killed_is_scored_once() {
    let mut fixture = Fixture::new();
    let mut plan = fixture.plan().await;
    fixture.play(&mut plan).await;
    for session in 2..=4 {
        // Killed before it was judged, and once more after that.
        let begun = fixture.next(&mut plan).await;
        let mut finished = fixture.finished(&begun, SessionEnd::Completed);
        finished.instruction.step = finished.instruction.deliverable.take();
        *locked(&fixture.memory.attempt) = Some(finished);
        for _ in 0..2 {
            plan = fixture.plan().await;
            fixture.next(&mut plan).await;
            assert_eq!(fixture.scores(), session);
        }
    }
    assert_eq!(fixture.remedies(), ["nudge"], "the same as without being killed");
}
