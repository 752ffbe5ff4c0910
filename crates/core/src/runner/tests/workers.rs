//! Several sessions at the same time: they share the limits of the run, and what is at work may end first.

use async_trait::async_trait;

use super::{limited, max_cost, max_iterations, options};
use crate::agent::Instruction;
use crate::deliverable::DeliverableStatus::Pending;
use crate::event::{Event, RunEvent};
use crate::fault::Fault;
use crate::instruction::Phase;
use crate::limits::Limits;
use crate::outcome::{PlanReport, RunOutcome, SessionEnd};
use crate::plan::{Iteration, NextAction, NextSession, Plan, PlanVerdict, RunState};
use crate::runner::RunOptions;
use crate::status::Tally;
use crate::testing::script::{AgentScript, out_of_quota, quota_exceeded, session, transient};
use crate::testing::{LogEntry, World, seconds};

/// So many sessions, each by the next worker.
struct ManySessions {
    left: usize,
    /// The most sessions that were at work when another one was asked for.
    most: usize,
    judged: Vec<(usize, SessionEnd)>,
}

impl ManySessions {
    fn new(left: usize) -> Self {
        Self { left, most: 0, judged: Vec::new() }
    }
}

#[async_trait]
impl Plan for ManySessions {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault> {
        self.most = self.most.max(so_far.running.len());
        if self.left == 0 {
            let is_done = so_far.running.is_empty();
            return Ok(if is_done { NextAction::Done(RunOutcome::AllPassed) } else { NextAction::Wait });
        }
        self.left -= 1;
        let is_free = |worker: &usize| so_far.running.iter().all(|session| session.worker != *worker);
        let worker = (1..).find(is_free).expect("a worker");
        let instruction = Instruction::briefed(Phase::Coding, "Build it.".to_owned(), None);
        Ok(NextAction::Session(NextSession { worker, ..instruction.into() }))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        self.judged.push((finished.worker, finished.outcome.clone()));
        Ok(PlanVerdict::Progressed)
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(Tally::default())
    }
}

/// Runs this many sessions with two workers.
async fn run_two(scripts: Vec<AgentScript>, options: RunOptions) -> (ManySessions, RunOutcome, World) {
    let mut plan = ManySessions::new(scripts.len());
    let world = World::with(&[("A", Pending)]).sessions(scripts).workers(2);
    let report = world.drive(&mut plan, RunState::default(), options).await;
    (plan, report.outcome, world)
}

/// Numbers of the sessions, positive when they begin and negative when they end.
fn order(world: &World) -> Vec<i64> {
    let number = |entry: LogEntry| match entry {
        LogEntry::Shown(_, Event::Run(RunEvent::SessionStarted { number, .. })) => Some(i64::from(number)),
        LogEntry::Shown(_, Event::Run(RunEvent::SessionEnded { number, .. })) => Some(-i64::from(number)),
        _ => None,
    };
    world.log().into_iter().filter_map(number).collect()
}

fn short() -> AgentScript {
    session().takes(seconds(1)).completes()
}

#[tokio::test(start_paused = true)]
async fn the_next_session_begins_when_one_of_two_has_ended() {
    let (plan, outcome, world) = run_two(vec![short(), short(), short()], options()).await;
    assert_eq!(outcome, RunOutcome::AllPassed);
    assert_eq!(order(&world), [1, 2, -1, 3, -2, -3]);
    let workers: Vec<usize> = plan.judged.iter().map(|(worker, _)| *worker).collect();
    assert_eq!(workers, [1, 2, 1], "a worker has one session at a time");
}

#[tokio::test(start_paused = true)]
async fn no_more_sessions_are_begun_than_the_limit_allows() {
    let mut plan = ManySessions::new(9);
    let world = World::with(&[("A", Pending)]).sessions([short(), short(), short()]).workers(2);
    let report = world.drive(&mut plan, RunState::default(), max_iterations(3)).await;
    assert_eq!(report.outcome, RunOutcome::MaxIterations { limit: 3 });
    assert_eq!(order(&world), [1, 2, -1, 3, -2, -3], "three, and not four");
}

#[tokio::test(start_paused = true)]
async fn what_the_others_have_spent_counts_for_each_session() {
    let spends = |cost: f64| session().spends(cost).takes(seconds(1)).spends(cost).completes();
    let (plan, outcome, _) = run_two(vec![spends(0.3), spends(0.3)], max_cost(1.0)).await;
    let limit_usd = crate::money::Usd(1.0);
    assert_eq!(outcome, RunOutcome::BudgetExceeded { limit_usd });
    let ends: Vec<SessionEnd> = plan.judged.into_iter().map(|(_, end)| end).collect();
    assert!(ends.contains(&SessionEnd::BudgetExceeded { limit_usd }), "1.2 together: {ends:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_begun_only_if_an_average_one_fits_into_the_budget() {
    let scripts = [0.6, 0.1, 0.5].map(|cost| session().spends(cost).completes());
    let mut plan = ManySessions::new(9);
    let world = World::with(&[("A", Pending)]).sessions(scripts).workers(2);
    let report = world.drive(&mut plan, RunState::default(), max_cost(1.0)).await;
    assert!(matches!(report.outcome, RunOutcome::BudgetExceeded { .. }), "{:?}", report.outcome);
    assert_eq!(order(&world), [1, 2, -1, -2, 3, -3], "0.6 is spent, and session 2 may cost as much");
}

#[tokio::test(start_paused = true)]
async fn what_is_at_work_ends_first_when_the_quota_is_used_up() {
    let scripts = vec![session().takes(seconds(1)).ends(out_of_quota(None)), short()];
    let mut plan = ManySessions::new(5);
    let world = World::with(&[("A", Pending)]).sessions(scripts).workers(2);
    let report = world.drive(&mut plan, RunState::default(), options()).await;
    assert_eq!(report.outcome, quota_exceeded(None));
    assert_eq!(order(&world), [1, 2, -1, -2], "nothing new is begun");
    assert_eq!(plan.judged[1], (2, SessionEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_all_of_them() {
    let mut plan = ManySessions::new(2);
    let world = World::with(&[("A", Pending)]).sessions([session().hangs(), session().hangs()]);
    let world = world.workers(2).interrupted_after(seconds(1));
    let report = world.drive(&mut plan, RunState::default(), options()).await;
    assert_eq!(report.outcome, RunOutcome::Interrupted);
    assert_eq!(order(&world), [1, 2, -1, -2]);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_stops_all_of_them() {
    let limit = seconds(5);
    let limits = Limits { max_duration: Some(limit), ..Limits::default() };
    let (plan, outcome, _) = run_two(vec![session().hangs(), session().hangs()], limited(limits)).await;
    assert_eq!(outcome, RunOutcome::DurationExceeded { limit });
    assert_eq!(plan.judged.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_one_does_not_disturb_the_other() {
    let fails = session().takes(seconds(1)).fails(transient("broken"));
    let (plan, outcome, _) = run_two(vec![fails, short(), short()], options()).await;
    assert_eq!(outcome, RunOutcome::AllPassed);
    let completed = plan.judged.iter().filter(|(_, end)| *end == SessionEnd::Completed).count();
    assert_eq!((completed, plan.judged.len()), (2, 3));
}
