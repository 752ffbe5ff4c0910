//! Runner: the one loop. Sessions until the plan is done or a limit ends it.
//!
//! Order of ends when several are true at once (seed 002 §3.4): quota (not waiting) > plan done >
//! fault no retry can fix > limits > interrupt > outage > too many errors > stuck. Every pause is interruptible
//! and bounded. What happened is journaled before anyone sees it.

mod waits;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::agent::SessionSpec;
use crate::backend_chain::{BackendChain, ChainEntry};
use crate::clock::Clock;
use crate::event::RunEvent;
use crate::fault::Fault;
use crate::gate::Gate;
use crate::halt::Halt;
use crate::instruction::Phase;
use crate::journal::{Journal, Record};
use crate::limits::{DEFAULT_MAX_RETRIES, Limits, MAX_IDLE_SESSIONS};
use crate::outage::{DEFAULT_MAX_OUTAGE, Outage, Seen};
use crate::outcome::{RunOutcome, RunReport, SessionEnd};
use crate::pause::{self, DEFAULT_SESSION_DELAY};
use crate::plan::{Assignment, Iteration, Next, Plan, RunState, Verdict};
use crate::quota::{self, QuotaWait};
use crate::session::{Allowance, Session};
use crate::sink::Sinks;
use crate::span::SpanContext;

/// What the user decides about a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What it may use up.
    pub limits: Limits,
    /// Failed sessions in a row that are tried again.
    pub max_retries: u32,
    /// The pause between sessions, and the first pause after an error.
    pub session_delay: Duration,
    /// Wait for the quota to reset instead of ending.
    pub wait_for_quota: bool,
    /// How long to wait for a model service that is away.
    pub max_outage: Duration,
    /// Tokens the model may think with.
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

/// Everything the loop works with.
pub struct Runner<'a> {
    /// Decides and judges.
    pub plan: &'a mut dyn Plan,
    /// Opens the agents.
    pub backend_chain: BackendChain<'a>,
    /// Which gates stand before the tools in each phase.
    pub gates: &'a (dyn Fn(Phase) -> Vec<Arc<dyn Gate>> + Send + Sync),
    /// Remembers.
    pub journal: &'a dyn Journal,
    /// Watch.
    pub sinks: &'a Sinks,
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// The user's interrupt.
    pub interrupt: CancellationToken,
    /// Ends the run from beside the loop.
    pub halt: Halt,
    /// The user's wishes.
    pub options: RunOptions,
    /// The run's own span.
    pub span: SpanContext,
    /// The conversation that the first session resumes.
    pub resume: Option<serde_json::Value>,
}

/// What the end of a session means for the run.
struct Assessment {
    verdict: Verdict,
    fault: Option<Fault>,
}

impl Runner<'_> {
    /// Runs to the end and tells how it went.
    pub async fn run(mut self, mut state: RunState) -> RunReport {
        let start = self.clock.monotonic();
        let outcome = loop {
            match self.step(&mut state, start).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(outcome)) => break outcome,
                Err(fault) => break RunOutcome::Failed { fault },
            }
        };
        let outcome = self.confirm_passed(outcome).await;
        let mut report = self.report(outcome, &state, start);
        if let Err(fault) = self.journal.record(Record::RunEnded(Box::new(report.clone()))).await {
            report = self.report(RunOutcome::Failed { fault }, &state, start);
        }
        self.emit(None, &RunEvent::Outcome(report.clone()));
        report
    }

    /// What passed may have been broken since. A plan that is done has looked already, and who interrupts does not want to wait.
    async fn confirm_passed(&mut self, outcome: RunOutcome) -> RunOutcome {
        if !outcome.is_limit() {
            return outcome;
        }
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => outcome,
            looked = self.plan.confirm_passed() => match looked {
                Ok(()) => outcome,
                Err(fault) => RunOutcome::Failed { fault },
            },
        }
    }

    /// One turn of the loop: next, session, record, judge, limits, pause.
    async fn step(
        &mut self,
        state: &mut RunState,
        start: Duration,
    ) -> Result<ControlFlow<RunOutcome>, Fault> {
        // Checks may take long; an interrupt does not wait for them.
        let interrupt = self.interrupt.clone();
        let assignment = match unless_interrupted(&interrupt, self.plan.next(state)).await? {
            None => return Ok(ControlFlow::Break(RunOutcome::Interrupted)),
            Some(Next::Done(outcome)) => return Ok(ControlFlow::Break(outcome)),
            Some(Next::Session(assignment)) => assignment,
        };
        self.wait_for_quota(state, start).await;
        self.wait_for_service(state, start).await;
        if let Some(outcome) = self.limit_or_interrupt(state, start) {
            return Ok(ControlFlow::Break(outcome));
        }
        let finished = self.session(state, start, assignment).await?;
        let assessment = self.assess(&finished).await?;
        self.count(state, &finished, &assessment).await?;
        if let Some(outcome) = self.end(state, start, &finished, &assessment) {
            return Ok(match self.backend_chain.next_after(&outcome) {
                Some(before) => ControlFlow::Continue(self.switch_backend(state, &before, &outcome).await?),
                None => ControlFlow::Break(outcome),
            });
        }
        self.pause(state, start, assessment.fault.as_ref()).await;
        Ok(ControlFlow::Continue(()))
    }

    /// Runs one session, journaled at both ends.
    async fn session(
        &mut self,
        state: &mut RunState,
        start: Duration,
        assignment: Assignment,
    ) -> Result<Iteration, Fault> {
        let Assignment { instruction, history, answer } = assignment;
        state.sessions += 1;
        let number = state.sessions;
        let ChainEntry { backend: opener, models } = self.backend_chain.choose(instruction.name).clone();
        let (backend, model) = (opener.name().to_owned(), models.choose(instruction.name));
        self.journal
            .record(Record::SessionStarted {
                number,
                instruction: instruction.name,
                step: instruction.step.clone(),
                backend: backend.clone(),
                model: model.clone(),
            })
            .await?;
        self.emit(
            Some(number),
            &RunEvent::SessionStarted {
                number,
                instruction: instruction.name,
                step: instruction.step.clone(),
                backend,
                model: model.clone(),
            },
        );
        let session = Session {
            backend: opener,
            clock: self.clock,
            journal: self.journal,
            sinks: self.sinks,
            span: self.span.session(number),
            interrupt: &self.interrupt,
            halt: &self.halt,
            allowance: self.allowance(state, start),
        };
        let spec = SessionSpec {
            history: self.resume.take().or(history),
            phase: instruction.name,
            model,
            thinking: self.options.thinking,
            answer,
            gates: (self.gates)(instruction.name),
            stop: self.interrupt.child_token(),
        };
        let finished = session.run(spec, instruction).await?;
        state.spent.add(&finished.spent);
        self.journal
            .record(Record::SessionEnded {
                number,
                instruction: finished.instruction.name,
                outcome: finished.outcome.clone(),
                spent: finished.spent,
                duration: finished.duration,
                said: finished.instruction.step.as_ref().map(|_| Box::new(finished.said.clone())),
            })
            .await?;
        state.iterations += u32::from(finished.counts());
        self.emit(
            Some(number),
            &RunEvent::SessionEnded {
                number,
                outcome: finished.outcome.clone(),
                cost_usd: finished.spent.total(),
                duration: finished.duration,
            },
        );
        Ok(finished)
    }

    /// Lets the plan judge, and finds the fault that counts, if there is one.
    async fn assess(&mut self, finished: &Iteration) -> Result<Assessment, Fault> {
        let interrupt = self.interrupt.clone();
        let verdict = unless_interrupted(&interrupt, self.plan.judge(finished)).await?;
        // The next start judges again.
        let verdict = verdict.unwrap_or(Verdict::Idle);
        let fault = match (&finished.outcome, &verdict) {
            (SessionEnd::QuotaExceeded { .. }, _) => None,
            (SessionEnd::ExecutionError { fault }, _) => Some(fault.clone()),
            (_, Verdict::Failed(fault)) => Some(fault.clone()),
            (_, Verdict::Moved | Verdict::Idle | Verdict::Done(_)) => None,
        };
        Ok(Assessment { verdict, fault })
    }

    /// Counts the session just finished.
    async fn count(
        &self,
        state: &mut RunState,
        finished: &Iteration,
        seen: &Assessment,
    ) -> Result<(), Fault> {
        if let SessionEnd::QuotaExceeded { resets_at, .. } = &finished.outcome {
            let wake_up = quota::wake_up(*resets_at, self.clock.now(), state.quota_waits);
            state.quota = wake_up.map(|until| QuotaWait { until, resets_at: *resets_at });
            state.quota_waits += 1;
            return match state.quota {
                Some(wait) => self.journal.record(Record::QuotaWait(wait)).await,
                None => Ok(()),
            };
        }
        if let Some(fault) = finished.outage() {
            self.count_outage(state, finished, fault).await?;
            // A service that answers and then goes away must not keep a run going for ever.
            state.idle += u32::from(finished.counts());
            return Ok(());
        }
        self.outage_over(state).await?;
        if seen.fault.is_some() {
            state.errors += 1;
            return Ok(());
        }
        state.errors = 0;
        state.quota_waits = 0;
        state.idle = match seen.verdict {
            Verdict::Idle => state.idle + 1,
            Verdict::Moved | Verdict::Done(_) | Verdict::Failed(_) => 0,
        };
        Ok(())
    }

    /// The service is away: once more, or for the first time since it answered. None in the state when the limit is used up.
    async fn count_outage(
        &self,
        state: &mut RunState,
        finished: &Iteration,
        fault: &Fault,
    ) -> Result<(), Fault> {
        let before = state.outage.take().filter(|_| !finished.counts());
        let tries = before.as_ref().map_or(0, |outage| outage.tries) + 1;
        let (base, jitter) = (self.options.session_delay, self.clock.jitter());
        let seen = Seen {
            before: before.as_ref(),
            session: finished.duration,
            now: self.clock.now(),
            pause: pause::during_outage(tries, base, jitter, fault.retry_after),
            message: &fault.message,
        };
        state.outage = Outage::next(&seen, self.options.max_outage);
        match &state.outage {
            Some(outage) => self.journal.record(Record::Outage(outage.clone())).await,
            None => Ok(()),
        }
    }

    async fn outage_over(&self, state: &mut RunState) -> Result<(), Fault> {
        match state.outage.take() {
            Some(_) => self.journal.record(Record::OutageOver).await,
            None => Ok(()),
        }
    }

    /// The next backend goes on where the one before it had to stop: the journal and the note carry the context.
    async fn switch_backend(
        &self,
        state: &mut RunState,
        before: &ChainEntry<'_>,
        outcome: &RunOutcome,
    ) -> Result<(), Fault> {
        (state.errors, state.quota, state.quota_waits) = (0, None, 0);
        self.outage_over(state).await?;
        let (from, to) =
            (before.backend.name().to_owned(), self.backend_chain.current().backend.name().to_owned());
        let event = RunEvent::BackendChanged { from, to, reason: outcome.name().to_owned() };
        self.journal.event(state.sessions, &(&event).into()).await?;
        self.emit(Some(state.sessions), &event);
        Ok(())
    }

    /// The end of the run, if the session just finished brought one about. The order is the contract.
    fn end(
        &self,
        state: &RunState,
        start: Duration,
        finished: &Iteration,
        seen: &Assessment,
    ) -> Option<RunOutcome> {
        let out_of_quota = matches!(finished.outcome, SessionEnd::QuotaExceeded { .. });
        let is_worth_waiting_for =
            self.options.wait_for_quota && state.quota.is_some() && !self.backend_chain.has_others();
        if out_of_quota && !is_worth_waiting_for {
            return finished.outcome.ends_run();
        }
        if let Verdict::Done(outcome) = &seen.verdict {
            return Some(outcome.clone());
        }
        if let Some(fault) = seen.fault.as_ref().filter(|fault| !fault.recoverable()) {
            return Some(RunOutcome::Failed { fault: fault.clone() });
        }
        if let SessionEnd::BudgetExceeded { .. } | SessionEnd::DurationExceeded { .. } = finished.outcome {
            return finished.outcome.ends_run();
        }
        if let Some(outcome) = self.limit_or_interrupt(state, start) {
            return Some(outcome);
        }
        if let Some(fault) = finished.outage()
            && (state.outage.is_none() || self.backend_chain.has_others())
        {
            return Some(RunOutcome::Outage { limit: self.options.max_outage, fault: fault.clone() });
        }
        if let Some(fault) = seen.fault.as_ref().filter(|_| state.errors > self.options.max_retries) {
            return Some(RunOutcome::MaxRetriesExceeded {
                limit: self.options.max_retries,
                fault: fault.clone(),
            });
        }
        (state.idle >= MAX_IDLE_SESSIONS).then_some(RunOutcome::Stuck { idle_sessions: state.idle })
    }

    fn limit_or_interrupt(&self, state: &RunState, start: Duration) -> Option<RunOutcome> {
        self.options
            .limits
            .reached(state, self.elapsed(state, start))
            .or_else(|| self.interrupt.is_cancelled().then_some(RunOutcome::Interrupted))
    }

    fn elapsed(&self, state: &RunState, start: Duration) -> Duration {
        state.time_before + self.clock.monotonic().saturating_sub(start)
    }

    fn time_left(&self, state: &RunState, start: Duration) -> Duration {
        let limit = self.options.limits.max_duration.unwrap_or(Duration::MAX);
        limit.saturating_sub(self.elapsed(state, start))
    }

    fn allowance(&self, state: &RunState, start: Duration) -> Allowance {
        let limits = &self.options.limits;
        Allowance {
            cost: limits.max_cost.map(|limit| (state.spent.cost, limit)),
            deadline: limits
                .max_duration
                .map(|limit| (self.clock.monotonic().saturating_add(self.time_left(state, start)), limit)),
        }
    }

    fn report(&self, outcome: RunOutcome, state: &RunState, start: Duration) -> RunReport {
        let standing = self.plan.standing();
        RunReport {
            exit_code: outcome.exit_code(),
            outcome,
            iterations: state.iterations,
            deliverables_passed: standing.tally.passed,
            deliverables_total: standing.tally.total,
            deliverables_blocked: standing.tally.blocked,
            deliverables_verified: standing.tally.verified,
            deliverables_claimed: standing.tally.claimed(),
            deliverables_doubted: standing.tally.doubted,
            verified: standing.progress.verified,
            verified_total: standing.progress.total,
            duration: self.elapsed(state, start),
            cost_usd: state.spent.total(),
            agent: standing.agent,
        }
    }

    fn emit(&self, session: Option<u32>, event: &RunEvent) {
        let span = session.map_or_else(|| self.span.clone(), |number| self.span.session(number));
        self.sinks.emit(&span, event);
    }
}

/// What the plan says; none if an interrupt comes before it can say anything.
async fn unless_interrupted<T>(
    interrupt: &CancellationToken,
    plan: impl Future<Output = Result<T, Fault>>,
) -> Result<Option<T>, Fault> {
    tokio::select! {
        biased;
        said = plan => said.map(Some),
        () = interrupt.cancelled() => Ok(None),
    }
}

#[cfg(test)]
mod tests;
