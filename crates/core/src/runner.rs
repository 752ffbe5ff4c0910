//! Runner: the one loop. Sessions until the plan is done or a limit ends it; several at a time, if the run has several workers.
//!
//! Precedence when several ends apply at once (seed 002 §3.4): quota (not waiting) > plan done > fault that
//! no retry can fix > limits > interrupt > outage > too many errors > stuck. Every pause is interruptible and
//! bounded. Events are journaled before anyone sees them.

mod bounded;
mod running;
mod sessions;
mod waits;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::bounded::{Bounded, bounded};
use self::running::{Ended, RunningSessions};
use crate::backend_chain::{BackendChain, ChainEntry, is_backend_specific};
use crate::call_watch::CallWatch;
use crate::clock::Clock;
use crate::event::RunEvent;
use crate::fault::Fault;
use crate::gate::Gate;
use crate::halt::Halt;
use crate::instruction::Phase;
use crate::journal::{Journal, JournalRecord};
use crate::limits::{DEFAULT_MAX_RETRIES, Limits, MAX_IDLE_SESSIONS};
use crate::money::Usd;
use crate::outage::{DEFAULT_MAX_OUTAGE, Outage, OutageObservation};
use crate::outcome::{RunOutcome, RunReport, SessionEnd};
use crate::pause::{self, DEFAULT_SESSION_DELAY};
use crate::plan::{Iteration, NextAction, Plan, PlanVerdict, RunState};
use crate::quota::{self, QuotaWait};
use crate::sink::Sinks;
use crate::span::SpanContext;
use crate::spending::Spending;
use crate::steering::Steering;

/// How long the deliverables that passed are rechecked even if a run has no time left.
const CONFIRMATION_LIMIT: Duration = Duration::from_secs(60);

/// User settings of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    pub limits: Limits,
    /// Maximum number of consecutive retries of failed sessions.
    pub max_retries: u32,
    /// Pause between sessions, and first pause after an error.
    pub session_delay: Duration,
    /// Wait for the quota to reset instead of ending the run.
    pub wait_for_quota: bool,
    /// How long to wait for an unavailable model service.
    pub max_outage: Duration,
    /// Thinking budget in tokens; `None` if thinking is off.
    pub thinking: Option<u32>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_retries: DEFAULT_MAX_RETRIES,
            session_delay: DEFAULT_SESSION_DELAY,
            wait_for_quota: false,
            max_outage: DEFAULT_MAX_OUTAGE,
            thinking: None,
        }
    }
}

/// Everything that the loop works with.
pub struct Runner<'a> {
    pub plan: &'a mut dyn Plan,
    pub backend_chain: BackendChain<'a>,
    /// The gates of a session, by its phase, its worker and its number.
    pub gates: &'a (dyn Fn(Phase, usize, u32) -> Vec<Arc<dyn Gate>> + Send + Sync),
    pub journal: &'a dyn Journal,
    pub sinks: &'a Sinks,
    pub clock: &'a dyn Clock,
    /// The user's interrupt.
    pub interrupt: CancellationToken,
    /// Ends the run from outside the loop.
    pub halt: Halt,
    /// What the user asks of the run meanwhile.
    pub steering: Steering,
    pub options: RunOptions,
    /// Sessions that may be at work at the same time.
    pub workers: u32,
    /// The run's own span.
    pub span: SpanContext,
    /// The conversation that the first session resumes.
    pub resume: Option<serde_json::Value>,
    /// A new watch for the calls of a session.
    pub call_watch: &'a (dyn Fn() -> Box<dyn CallWatch> + Send + Sync),
}

/// The plan's verdict on a session, and the fault that counts as its error.
struct Assessment {
    verdict: PlanVerdict,
    fault: Option<Fault>,
    /// Whether its failure is none of the run's.
    is_optional: bool,
}

impl<'a> Runner<'a> {
    pub async fn run(mut self, mut state: RunState) -> RunReport {
        let start = self.clock.monotonic();
        let spending = Spending::new(state.spent.cost);
        let mut running = RunningSessions::default();
        let outcome = loop {
            match self.step(&mut state, &mut running, &spending, start).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(outcome)) => break outcome,
                Err(fault) => break RunOutcome::Failed { fault },
            }
        };
        drop(running);
        let outcome = self.confirm_passed(outcome, &state, start).await;
        let outcome = self.close_plan(outcome).await;
        let mut report = self.report(outcome, &state, start);
        if let Err(fault) = self.journal.record(JournalRecord::RunEnded(Box::new(report.clone()))).await {
            report = self.report(RunOutcome::Failed { fault }, &state, start);
        }
        self.emit(None, &RunEvent::Outcome(report.clone()));
        report
    }

    /// Deliverables that passed may have been broken since. A plan that is done has already rechecked them,
    /// and a user who interrupts does not want to wait.
    async fn confirm_passed(&mut self, outcome: RunOutcome, state: &RunState, start: Duration) -> RunOutcome {
        let is_out_of_time = matches!(outcome, RunOutcome::DurationExceeded { .. });
        let has_passed = self.plan.report().tally().passed > 0;
        if !outcome.is_limit() || self.interrupt.is_cancelled() || (is_out_of_time && !has_passed) {
            return outcome;
        }
        let time = self.plan_time(state, start).map(|(left, limit)| (left.max(CONFIRMATION_LIMIT), limit));
        match bounded(&self.interrupt, self.clock, time, self.plan.confirm_passed()).await {
            Ok(Bounded::Done(()) | Bounded::Interrupted | Bounded::OutOfTime { .. }) => outcome,
            Err(fault) => RunOutcome::Failed { fault },
        }
    }

    /// What the plan still has to do is short, so an interrupt waits for it.
    async fn close_plan(&mut self, outcome: RunOutcome) -> RunOutcome {
        let (patient, time) = (CancellationToken::new(), Some((CONFIRMATION_LIMIT, CONFIRMATION_LIMIT)));
        match bounded(&patient, self.clock, time, self.plan.ended()).await {
            Ok(Bounded::Done(()) | Bounded::Interrupted | Bounded::OutOfTime { .. }) => outcome,
            Err(fault) => RunOutcome::Failed { fault },
        }
    }

    /// One iteration of the loop: next, session, record, judge, limits, pause.
    async fn step(
        &mut self,
        state: &mut RunState,
        running: &mut RunningSessions<'a>,
        spending: &Spending,
        start: Duration,
    ) -> Result<ControlFlow<RunOutcome>, Fault> {
        if let Some(outcome) = self.start_sessions(state, running, spending, start).await? {
            // What is at work was paid for, so it may end first.
            state.ending.get_or_insert(outcome);
        }
        let Some(ended) = running.next().await else {
            let outcome = state.ending.take().unwrap_or(RunOutcome::Interrupted);
            return Ok(ControlFlow::Break(outcome));
        };
        let Ended { iteration: finished, is_optional, steering } = ended?;
        self.record_end(state, &finished, &steering).await?;
        let assessment = running.beside(self.assess(state, start, &finished, is_optional)).await?;
        self.count(state, &finished, &assessment).await?;
        if let Some(outcome) = self.end(state, start, &finished, &assessment) {
            match self.go_on_after(state, &finished, &outcome).await? {
                true => return Ok(ControlFlow::Continue(())),
                false => drop(state.ending.get_or_insert(outcome)),
            }
        }
        if state.ending.is_none() {
            running.beside(self.pause(state, start, assessment.fault.as_ref())).await;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Starts the sessions that can begin now. Returns the outcome of a run that is over once what is at work has ended.
    async fn start_sessions(
        &mut self,
        state: &mut RunState,
        running: &mut RunningSessions<'a>,
        spending: &Spending,
        start: Duration,
    ) -> Result<Option<RunOutcome>, Fault> {
        while state.ending.is_none() && self.may_start(state, spending) {
            let time = self.plan_time(state, start);
            let next = bounded(&self.interrupt, self.clock, time, self.plan.next(state));
            let next = match running.beside(next).await? {
                Bounded::Interrupted => return Ok(Some(RunOutcome::Interrupted)),
                Bounded::OutOfTime { limit } => return Ok(Some(RunOutcome::DurationExceeded { limit })),
                Bounded::Done(NextAction::Done(outcome)) if running.is_empty() => return Ok(Some(outcome)),
                Bounded::Done(NextAction::Done(_) | NextAction::Wait) => return Ok(None),
                Bounded::Done(NextAction::Session(session)) => session,
            };
            self.wait_for_quota(state, start).await;
            self.wait_for_service(state, start).await;
            self.wait_while_paused(state, start).await;
            if let Some(outcome) = self.limit_or_interrupt(state, start) {
                return Ok(Some(outcome));
            }
            let session = self.session(state, start, spending, next).await?;
            running.start(session);
        }
        Ok(None)
    }

    /// Whether another session may begin. Those that are at work may use up a limit, and waits are for a run in which nothing works.
    fn may_start(&self, state: &RunState, spending: &Spending) -> bool {
        let Some(at_work) = u32::try_from(state.running.len()).ok().filter(|at_work| *at_work > 0) else {
            return true;
        };
        let limits = &self.options.limits;
        let average = state.spent.cost.0 / f64::from(state.sessions.saturating_sub(at_work).max(1));
        let reserved = Usd(spending.total().0 + average * f64::from(at_work));
        at_work < self.workers
            && state.quota.is_none()
            && state.outage.is_none()
            && self.steering.pause().is_none()
            && limits.max_iterations.is_none_or(|limit| state.iterations + at_work < limit.get())
            && limits.max_cost.is_none_or(|limit| reserved < limit)
    }

    /// Whether the run goes on although it would end: with the next backend, or with something else.
    async fn go_on_after(
        &mut self,
        state: &mut RunState,
        finished: &Iteration,
        outcome: &RunOutcome,
    ) -> Result<bool, Fault> {
        if finished.number <= state.switched_after && is_backend_specific(outcome) {
            // It began before another backend took over.
            return Ok(true);
        }
        if let Some(before) = self.backend_chain.fail_over(finished.instruction.name, outcome) {
            self.switch_backend(state, &before, outcome).await?;
            return Ok(true);
        }
        let abandons = matches!(outcome, RunOutcome::Stuck { .. }) && self.plan.abandon().await?;
        if abandons {
            state.idle = 0;
        }
        Ok(abandons)
    }

    async fn assess(
        &mut self,
        state: &RunState,
        start: Duration,
        finished: &Iteration,
        is_optional: bool,
    ) -> Result<Assessment, Fault> {
        let time = self.plan_time(state, start);
        let verdict = match bounded(&self.interrupt, self.clock, time, self.plan.judge(finished)).await? {
            Bounded::Done(verdict) => verdict,
            // The next process judges the session again.
            Bounded::Interrupted | Bounded::OutOfTime { .. } => PlanVerdict::Idle,
        };
        let fault = match (&finished.outcome, &verdict) {
            (SessionEnd::QuotaExceeded { .. }, _) => None,
            (SessionEnd::ExecutionError { .. }, _) if is_optional => None,
            (SessionEnd::ExecutionError { fault }, _) => Some(fault.clone()),
            (_, PlanVerdict::Failed(fault)) => Some(fault.clone()),
            (
                _,
                PlanVerdict::Progressed
                | PlanVerdict::Idle
                | PlanVerdict::Recovering
                | PlanVerdict::Stuck { .. }
                | PlanVerdict::Done(_),
            ) => None,
        };
        Ok(Assessment { verdict, fault, is_optional })
    }

    async fn count(
        &self,
        state: &mut RunState,
        finished: &Iteration,
        assessment: &Assessment,
    ) -> Result<(), Fault> {
        if let SessionEnd::QuotaExceeded { resets_at, .. } = &finished.outcome
            && !assessment.is_optional
        {
            let wake_up = quota::wake_up(*resets_at, self.clock.now(), state.quota_waits);
            state.quota = wake_up.map(|until| QuotaWait { until, resets_at: *resets_at });
            state.quota_waits += 1;
            return match state.quota {
                Some(wait) => self.journal.record(JournalRecord::QuotaWait(wait)).await,
                None => Ok(()),
            };
        }
        if let Some(fault) = finished.outage().filter(|_| !assessment.is_optional) {
            self.count_outage(state, finished, fault).await?;
            // A service that responds now and then must not keep a run going forever.
            state.idle += u32::from(finished.counts());
            return Ok(());
        }
        self.outage_over(state).await?;
        if assessment.fault.is_some() {
            state.errors += 1;
            return Ok(());
        }
        state.errors = 0;
        state.quota_waits = 0;
        state.idle = match assessment.verdict {
            PlanVerdict::Idle => state.idle + 1,
            PlanVerdict::Recovering | PlanVerdict::Stuck { .. } => state.idle,
            PlanVerdict::Progressed | PlanVerdict::Done(_) | PlanVerdict::Failed(_) => 0,
        };
        Ok(())
    }

    /// Counts another session that found the service unavailable. Afterwards `state.outage` is `None` if the
    /// limit is used up.
    async fn count_outage(
        &self,
        state: &mut RunState,
        finished: &Iteration,
        fault: &Fault,
    ) -> Result<(), Fault> {
        let before = state.outage.take().filter(|_| !finished.counts());
        let tries = before.as_ref().map_or(0, |outage| outage.tries) + 1;
        let (base, jitter) = (self.options.session_delay, self.clock.jitter());
        let observed = OutageObservation {
            before: before.as_ref(),
            session: finished.duration,
            now: self.clock.now(),
            pause: pause::during_outage(tries, base, jitter, fault.retry_after),
            message: &fault.message,
        };
        state.outage = Outage::next(&observed, self.options.max_outage);
        match &state.outage {
            Some(outage) => self.journal.record(JournalRecord::Outage(outage.clone())).await,
            None => Ok(()),
        }
    }

    async fn outage_over(&self, state: &mut RunState) -> Result<(), Fault> {
        match state.outage.take() {
            Some(_) => self.journal.record(JournalRecord::OutageOver).await,
            None => Ok(()),
        }
    }

    /// The next backend continues where the previous one stopped: the journal and the hand-over note carry
    /// the context.
    async fn switch_backend(
        &self,
        state: &mut RunState,
        before: &ChainEntry<'_>,
        outcome: &RunOutcome,
    ) -> Result<(), Fault> {
        (state.errors, state.idle, state.quota, state.quota_waits) = (0, 0, None, 0);
        state.switched_after = state.sessions;
        self.outage_over(state).await?;
        let after = self.backend_chain.current();
        let event = RunEvent::BackendChanged {
            from: before.backend.name().to_owned(),
            to: after.backend.name().to_owned(),
            from_model: before.models.work.clone(),
            to_model: after.models.work.clone(),
            reason: outcome.name().to_owned(),
        };
        self.journal.event(state.sessions, &(&event).into()).await?;
        self.emit(Some(state.sessions), &event);
        Ok(())
    }

    /// The outcome, if the session just finished ends the run. The order is a contract.
    fn end(
        &self,
        state: &RunState,
        start: Duration,
        finished: &Iteration,
        assessment: &Assessment,
    ) -> Option<RunOutcome> {
        let out_of_quota =
            matches!(finished.outcome, SessionEnd::QuotaExceeded { .. }) && !assessment.is_optional;
        let has_fallback = self.backend_chain.has_fallback(finished.instruction.name);
        let should_wait = self.options.wait_for_quota && state.quota.is_some() && !has_fallback;
        if out_of_quota && !should_wait {
            return finished.outcome.ends_run();
        }
        if let PlanVerdict::Done(outcome) = &assessment.verdict {
            return Some(outcome.clone());
        }
        if let Some(fault) = assessment.fault.as_ref().filter(|fault| !fault.recoverable()) {
            return Some(RunOutcome::Failed { fault: fault.clone() });
        }
        let has_reached_run_limit = match finished.outcome {
            SessionEnd::BudgetExceeded { .. } => true,
            // Otherwise the session had a limit of its own.
            SessionEnd::DurationExceeded { .. } => self.time_left(state, start).is_zero(),
            _ => false,
        };
        if has_reached_run_limit {
            return finished.outcome.ends_run();
        }
        if let Some(outcome) = self.limit_or_interrupt(state, start) {
            return Some(outcome);
        }
        if let Some(fault) = finished.outage().filter(|_| !assessment.is_optional)
            && (state.outage.is_none() || has_fallback)
        {
            return Some(RunOutcome::Outage { limit: self.options.max_outage, fault: fault.clone() });
        }
        if let Some(fault) = assessment.fault.as_ref().filter(|_| state.errors > self.options.max_retries) {
            return Some(RunOutcome::MaxRetriesExceeded {
                limit: self.options.max_retries,
                fault: fault.clone(),
            });
        }
        if let PlanVerdict::Stuck { idle_sessions, tried } = &assessment.verdict {
            return Some(RunOutcome::Stuck { idle_sessions: *idle_sessions, tried: tried.clone() });
        }
        (state.idle >= MAX_IDLE_SESSIONS * self.workers)
            .then(|| RunOutcome::Stuck { idle_sessions: state.idle, tried: Vec::new() })
    }

    fn limit_or_interrupt(&self, state: &RunState, start: Duration) -> Option<RunOutcome> {
        self.options
            .limits
            .reached(state, self.elapsed(state, start))
            .or_else(|| self.is_stopped().then_some(RunOutcome::Interrupted))
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_cancelled() || self.steering.ends_after_session()
    }

    fn elapsed(&self, state: &RunState, start: Duration) -> Duration {
        state.time_before + self.clock.monotonic().saturating_sub(start)
    }

    fn time_left(&self, state: &RunState, start: Duration) -> Duration {
        let limit = self.options.limits.max_duration.unwrap_or(Duration::MAX);
        limit.saturating_sub(self.elapsed(state, start))
    }

    /// The time left for the plan, and the limit; `None` if there is no limit.
    fn plan_time(&self, state: &RunState, start: Duration) -> Option<(Duration, Duration)> {
        self.options.limits.max_duration.map(|limit| (self.time_left(state, start), limit))
    }

    fn report(&self, outcome: RunOutcome, state: &RunState, start: Duration) -> RunReport {
        RunReport {
            exit_code: outcome.exit_code(),
            outcome,
            iterations: state.iterations,
            duration: self.elapsed(state, start),
            cost_usd: state.spent.total(),
            plan: self.plan.report(),
        }
    }

    fn emit(&self, session: Option<u32>, event: &RunEvent) {
        let span = session.map_or_else(|| self.span.clone(), |number| self.span.session(number));
        self.sinks.emit(&span, event);
    }
}

#[cfg(test)]
mod tests;
