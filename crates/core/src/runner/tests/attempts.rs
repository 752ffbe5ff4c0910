//! Sessions with limits of their own, and plans that give up stuck work: what the tasks of a roadmap need of the loop.

use std::time::Duration;

use async_trait::async_trait;

use super::{max_duration, max_retries, options};
use crate::agent::Instruction;
use crate::deliverable::DeliverableStatus::Pending;
use crate::fault::{Fault, FaultLayer};
use crate::instruction::Phase;
use crate::limits::MAX_IDLE_SESSIONS;
use crate::outcome::{PlanReport, RunOutcome, SessionEnd};
use crate::plan::{Iteration, NextAction, NextSession, Plan, PlanVerdict, RunState};
use crate::status::Tally;
use crate::testing::script::{hangs_while_opening, session};
use crate::testing::{LogEntry, World};

const LIMIT: Duration = Duration::from_secs(10);

/// Each session may take ten seconds; the first one that completes ends the run.
#[derive(Default)]
struct LimitedPlan {
    ends: Vec<SessionEnd>,
    is_optional: bool,
}

#[async_trait]
impl Plan for LimitedPlan {
    async fn next(&mut self, _: &RunState) -> Result<NextAction, Fault> {
        let instruction = Instruction::briefed(Phase::Coding, "Build it.".to_owned(), None);
        let model = Some("own".to_owned());
        let backends = vec!["unknown".to_owned()];
        let (time_limit, is_optional) = (Some(LIMIT), self.is_optional);
        let session = NextSession { time_limit, model, backends, is_optional, ..instruction.into() };
        Ok(NextAction::Session(session))
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        self.ends.push(finished.outcome.clone());
        Ok(match finished.outcome {
            SessionEnd::Completed => PlanVerdict::Done(RunOutcome::AllPassed),
            _ => PlanVerdict::Idle,
        })
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(Tally::default())
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_reaches_its_own_time_limit_does_not_end_the_run() {
    let world =
        World::with(&[("A", Pending)]).sessions([hangs_while_opening(), session().says("x").completes()]);
    let mut plan = LimitedPlan::default();
    let report = world.drive(&mut plan, RunState::default(), options()).await;
    assert_eq!(report.outcome, RunOutcome::AllPassed);
    assert_eq!(plan.ends, [SessionEnd::DurationExceeded { limit: LIMIT }, SessionEnd::Completed]);
    let own = |entry: &LogEntry| matches!(entry, LogEntry::Opened { model, .. } if model == "own");
    assert!(world.log().iter().any(own), "{:?}", world.log());
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_the_run_still_ends_it() {
    let limit = Duration::from_secs(4);
    let world = World::with(&[("A", Pending)]).sessions([hangs_while_opening()]);
    let mut plan = LimitedPlan::default();
    let report = world.drive(&mut plan, RunState::default(), max_duration(limit)).await;
    assert_eq!(report.outcome, RunOutcome::DurationExceeded { limit });
}

#[tokio::test(start_paused = true)]
async fn failures_of_optional_sessions_are_none_of_the_runs() {
    let quota = SessionEnd::QuotaExceeded { message: "Used up.".to_owned(), resets_at: None };
    let not_logged_in = || session().fails(Fault::permanent(FaultLayer::Config, "not_logged_in", "Log in."));
    let world = World::with(&[("A", Pending)]).sessions([
        not_logged_in(),
        session().fails(Fault::outage(FaultLayer::Model, "away", "The service is away.")),
        session().ends(quota),
        session().says("x").completes(),
    ]);
    let mut plan = LimitedPlan { is_optional: true, ..LimitedPlan::default() };
    let report = world.drive(&mut plan, RunState::default(), max_retries(0)).await;
    assert_eq!((report.outcome, plan.ends.len()), (RunOutcome::AllPassed, 4));
    let world = World::with(&[("A", Pending)]).sessions([not_logged_in()]);
    let mut plan = LimitedPlan::default();
    let report = world.drive(&mut plan, RunState::default(), max_retries(0)).await;
    assert!(matches!(report.outcome, RunOutcome::Failed { .. }), "others end it: {:?}", report.outcome);
}

/// Makes no progress, and has so much else to do.
struct StuckPlan {
    others: u32,
}

#[async_trait]
impl Plan for StuckPlan {
    async fn next(&mut self, _: &RunState) -> Result<NextAction, Fault> {
        let instruction = Instruction::briefed(Phase::Coding, "Build it.".to_owned(), None);
        Ok(NextAction::Session(instruction.into()))
    }

    async fn judge(&mut self, _: &Iteration) -> Result<PlanVerdict, Fault> {
        Ok(PlanVerdict::Idle)
    }

    async fn abandon(&mut self) -> Result<bool, Fault> {
        let has_others = self.others > 0;
        self.others = self.others.saturating_sub(1);
        Ok(has_others)
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(Tally::default())
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_gives_up_stuck_work_gets_as_many_sessions_for_the_rest() {
    let sessions = (0..3 * MAX_IDLE_SESSIONS).map(|_| session().says("x").completes());
    let world = World::with(&[("A", Pending)]).sessions(sessions);
    let report = world.drive(&mut StuckPlan { others: 2 }, RunState::default(), options()).await;
    assert_eq!(report.iterations, 3 * MAX_IDLE_SESSIONS);
    assert_eq!(report.outcome, RunOutcome::Stuck { idle_sessions: MAX_IDLE_SESSIONS, tried: Vec::new() });
}
