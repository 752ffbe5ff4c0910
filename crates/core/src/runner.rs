//! Runner: the one loop. Sessions until the plan is done or a limit ends it.
//!
//! Order of ends when several are true at once (seed 002 §3.4): quota (not waiting) > plan done >
//! fault no retry can mend > limits > interrupt > too many errors > stuck. Every pause is interruptible
//! and bounded. What happened is journaled before anyone is told.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::agent::SessionSpec;
use crate::clock::{Clock, elapsed};
use crate::crew::{Crew, Member};
use crate::event::Event;
use crate::fault::Fault;
use crate::gate::Gate;
use crate::instruction::InstructionName;
use crate::journal::{Journal, Record};
use crate::limits::{DEFAULT_MAX_RETRIES, Limits, MAX_IDLE_SESSIONS};
use crate::outcome::{Outcome, RunReport};
use crate::pause::{self, COUNTDOWN_EVERY, DEFAULT_SESSION_DELAY};
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
            thinking: None,
        }
    }
}

/// Everything the loop works with.
pub struct Runner<'a> {
    /// Decides and judges.
    pub plan: &'a mut dyn Plan,
    /// Opens the agents.
    pub crew: Crew<'a>,
    /// Which gates stand before the tools in each phase.
    pub gates: &'a (dyn Fn(InstructionName) -> Vec<Arc<dyn Gate>> + Send + Sync),
    /// Remembers.
    pub journal: &'a dyn Journal,
    /// Watch.
    pub sinks: &'a Sinks,
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// The user's interrupt.
    pub interrupt: CancellationToken,
    /// The user's wishes.
    pub options: RunOptions,
    /// The run's own span.
    pub span: SpanContext,
    /// The conversation that the first session goes on with.
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
        let start = self.clock.now();
        let outcome = loop {
            match self.step(&mut state, start).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(outcome)) => break outcome,
                Err(fault) => break Outcome::Failed { fault },
            }
        };
        let outcome = self.look_again(outcome).await;
        let mut report = self.report(outcome, &state, start);
        if let Err(fault) = self.journal.record(Record::RunEnded(Box::new(report.clone()))).await {
            report = self.report(Outcome::Failed { fault }, &state, start);
        }
        self.emit(None, &Event::Outcome(report.clone()));
        report
    }

    /// What passed may have been broken since. A plan that is done has looked already, and who interrupts does not want to wait.
    async fn look_again(&mut self, outcome: Outcome) -> Outcome {
        if !outcome.is_limit() {
            return outcome;
        }
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => outcome,
            looked = self.plan.look_again() => match looked {
                Ok(()) => outcome,
                Err(fault) => Outcome::Failed { fault },
            },
        }
    }

    /// One turn of the loop: next, session, record, judge, limits, pause.
    async fn step(&mut self, state: &mut RunState, start: Timestamp) -> Result<ControlFlow<Outcome>, Fault> {
        // Checks may take long; an interrupt does not wait for them.
        let interrupt = self.interrupt.clone();
        let assignment = match unless_interrupted(&interrupt, self.plan.next(state)).await? {
            None => return Ok(ControlFlow::Break(Outcome::Interrupted)),
            Some(Next::Done(outcome)) => return Ok(ControlFlow::Break(outcome)),
            Some(Next::Session(assignment)) => assignment,
        };
        self.wait_for_quota(state, start).await;
        if let Some(outcome) = self.limit_or_interrupt(state, start) {
            return Ok(ControlFlow::Break(outcome));
        }
        let finished = self.session(state, start, assignment).await?;
        let assessment = self.assess(&finished).await?;
        self.count(state, &finished, &assessment).await?;
        if let Some(outcome) = self.end(state, start, &finished, &assessment) {
            return Ok(match self.crew.step_in(&outcome) {
                Some(before) => ControlFlow::Continue(self.hand_over(state, &before, &outcome).await?),
                None => ControlFlow::Break(outcome),
            });
        }
        self.pause(state, start, assessment.fault.as_ref()).await;
        Ok(ControlFlow::Continue(()))
    }

    /// Holds one session, journaled at both ends.
    async fn session(
        &mut self,
        state: &mut RunState,
        start: Timestamp,
        assignment: Assignment,
    ) -> Result<Iteration, Fault> {
        let Assignment { instruction, history, answer } = assignment;
        state.sessions += 1;
        let number = state.sessions;
        let Member { backend: opener, models } = self.crew.choose(instruction.name).clone();
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
            &Event::SessionStarted {
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
        state.iterations += u32::from(!finished.outcome.was_cut_short());
        self.emit(
            Some(number),
            &Event::SessionEnded {
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
            (Outcome::QuotaExceeded { .. }, _) => None,
            (Outcome::ExecutionError { fault } | Outcome::Failed { fault }, _) => Some(fault.clone()),
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
        if let Outcome::QuotaExceeded { resets_at, .. } = &finished.outcome {
            let wake_up = quota::wake_up(*resets_at, self.clock.now(), state.quota_waits);
            state.quota = wake_up.map(|until| QuotaWait { until, resets_at: *resets_at });
            state.quota_waits += 1;
            return match state.quota {
                Some(wait) => self.journal.record(Record::QuotaWait(wait)).await,
                None => Ok(()),
            };
        }
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

    /// The next backend goes on where the one before it had to stop: the journal and the note carry the context.
    async fn hand_over(
        &self,
        state: &mut RunState,
        before: &Member<'_>,
        outcome: &Outcome,
    ) -> Result<(), Fault> {
        (state.errors, state.quota, state.quota_waits) = (0, None, 0);
        let (from, to) = (before.backend.name().to_owned(), self.crew.current().backend.name().to_owned());
        let event = Event::BackendChanged { from, to, reason: outcome.name().to_owned() };
        self.journal.event(state.sessions, &event).await?;
        self.emit(Some(state.sessions), &event);
        Ok(())
    }

    /// The end of the run, if the session just finished brought one about. The order is the contract.
    fn end(
        &self,
        state: &RunState,
        start: Timestamp,
        finished: &Iteration,
        seen: &Assessment,
    ) -> Option<Outcome> {
        let out_of_quota = matches!(finished.outcome, Outcome::QuotaExceeded { .. });
        let is_worth_waiting_for =
            self.options.wait_for_quota && state.quota.is_some() && !self.crew.has_others();
        if out_of_quota && !is_worth_waiting_for {
            return Some(finished.outcome.clone());
        }
        if let Verdict::Done(outcome) = &seen.verdict {
            return Some(outcome.clone());
        }
        if let Some(fault) = seen.fault.as_ref().filter(|fault| !fault.recoverable()) {
            return Some(Outcome::Failed { fault: fault.clone() });
        }
        if let Outcome::BudgetExceeded { .. } | Outcome::DurationExceeded { .. } = finished.outcome {
            return Some(finished.outcome.clone());
        }
        if let Some(outcome) = self.limit_or_interrupt(state, start) {
            return Some(outcome);
        }
        if let Some(fault) = seen.fault.as_ref().filter(|_| state.errors > self.options.max_retries) {
            return Some(Outcome::MaxRetriesExceeded {
                limit: self.options.max_retries,
                fault: fault.clone(),
            });
        }
        (state.idle >= MAX_IDLE_SESSIONS).then_some(Outcome::Stuck { idle_sessions: state.idle })
    }

    fn limit_or_interrupt(&self, state: &RunState, start: Timestamp) -> Option<Outcome> {
        self.options
            .limits
            .reached(state, self.elapsed(state, start))
            .or_else(|| self.interrupt.is_cancelled().then_some(Outcome::Interrupted))
    }

    /// Pauses before the next session: longer and longer after errors, not at all before a quota wait.
    async fn pause(&self, state: &RunState, start: Timestamp, fault: Option<&Fault>) {
        if state.quota.is_some() {
            return;
        }
        let pause = match fault {
            None => self.options.session_delay,
            Some(fault) => {
                let (errors, base) = (state.errors, self.options.session_delay);
                let pause = pause::after_errors(errors, base, self.clock.jitter(), fault.retry_after);
                let (max_retries, message) = (self.options.max_retries, fault.message.clone());
                self.emit(None, &Event::Retrying { errors, max_retries, pause, message });
                pause
            }
        };
        self.sleep(pause.min(self.time_left(state, start))).await;
    }

    /// Waits until the quota is there again, against the wall clock, telling how long it still takes.
    async fn wait_for_quota(&self, state: &mut RunState, start: Timestamp) {
        let Some(QuotaWait { until, resets_at }) = state.quota.take().filter(|_| self.options.wait_for_quota)
        else {
            return;
        };
        loop {
            let remaining = elapsed(self.clock.now(), until).min(self.time_left(state, start));
            if remaining.is_zero() || self.interrupt.is_cancelled() {
                return;
            }
            self.emit(None, &Event::Waiting { until, remaining, resets_at });
            self.sleep(remaining.min(COUNTDOWN_EVERY)).await;
        }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => {}
            () = self.clock.sleep(duration) => {}
        }
    }

    fn elapsed(&self, state: &RunState, start: Timestamp) -> Duration {
        state.time_before + elapsed(start, self.clock.now())
    }

    fn time_left(&self, state: &RunState, start: Timestamp) -> Duration {
        let limit = self.options.limits.max_duration.unwrap_or(Duration::MAX);
        limit.saturating_sub(self.elapsed(state, start))
    }

    fn allowance(&self, state: &RunState, start: Timestamp) -> Allowance {
        let limits = &self.options.limits;
        Allowance {
            cost: limits.max_cost.map(|limit| (state.spent.cost, limit)),
            deadline: limits.max_duration.map(|limit| {
                let end = self.clock.now().checked_add(self.time_left(state, start));
                (end.unwrap_or(Timestamp::MAX), limit)
            }),
        }
    }

    fn report(&self, outcome: Outcome, state: &RunState, start: Timestamp) -> RunReport {
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

    fn emit(&self, session: Option<u32>, event: &Event) {
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
