//! The beginning and the end of a session, as the journal and the sinks see them.

use std::time::Duration;

use super::Runner;
use super::running::Ended;
use crate::agent::{Instruction, SessionSpec};
use crate::event::RunEvent;
use crate::fault::Fault;
use crate::instruction::Phase;
use crate::journal::JournalRecord;
use crate::outcome::SessionEnd;
use crate::plan::{Iteration, NextSession, RunState, RunningSession};
use crate::session::{Allowance, Session};
use crate::spending::Spending;
use crate::steering::Steering;

impl<'a> Runner<'a> {
    /// Journals the start of a session, and returns what runs it.
    pub(super) async fn session(
        &mut self,
        state: &mut RunState,
        start: Duration,
        spending: &Spending,
        next: NextSession,
    ) -> Result<impl Future<Output = Result<Ended, Fault>> + Send + 'a, Fault> {
        let NextSession {
            instruction,
            history,
            answer_schema,
            backends,
            model,
            time_limit,
            is_optional,
            directory,
            worker,
            ..
        } = next;
        state.sessions += 1;
        let number = state.sessions;
        let deliverable = instruction.deliverable.clone();
        state.running.push(RunningSession { number, worker, deliverable });
        let entry = self.backend_chain.choose(instruction.name, &backends).clone();
        let backend = entry.of_worker(worker);
        let backend_name = backend.name().to_owned();
        let model = model.unwrap_or_else(|| entry.models.choose(instruction.name));
        self.journal
            .record(JournalRecord::SessionStarted {
                number,
                instruction: instruction.name,
                step: instruction.step.clone(),
                backend: backend_name.clone(),
                model: model.clone(),
            })
            .await?;
        self.emit(
            Some(number),
            &RunEvent::SessionStarted {
                number,
                instruction: instruction.name,
                step: instruction.step.clone(),
                deliverable: instruction.deliverable.clone(),
                backend: backend_name,
                model: model.clone(),
            },
        );
        // The conversation is for the work, and so are the user's messages: a reviewer would read them and change nothing.
        let is_work = !instruction.name.only_asks();
        let hears_user = is_work && instruction.name != Phase::Review;
        let steering = if hears_user { self.steering.for_session() } else { Steering::default() };
        let instruction = self.with_messages(number, instruction, &steering).await?;
        let session = Session {
            backend,
            clock: self.clock,
            journal: self.journal,
            sinks: self.sinks,
            span: self.span.session(number),
            worker,
            interrupt: self.interrupt.clone(),
            halt: self.halt.clone(),
            allowance: self.allowance(state, start, spending, time_limit),
            call_watch: self.call_watch,
        };
        let spec = SessionSpec {
            history: if is_work { self.resume.take().or(history) } else { history },
            phase: instruction.name,
            model,
            thinking: self.options.thinking,
            answer_schema,
            directory,
            gates: (self.gates)(instruction.name, worker, number),
            stop: self.interrupt.child_token(),
            steering: steering.clone(),
        };
        Ok(async move {
            let iteration = session.run(spec, instruction).await?.naming_review();
            Ok(Ended { iteration, is_optional, steering })
        })
    }

    /// Journals the end of a session.
    pub(super) async fn record_end(
        &self,
        state: &mut RunState,
        finished: &Iteration,
        steering: &Steering,
    ) -> Result<(), Fault> {
        let number = finished.number;
        state.running.retain(|session| session.number != number);
        state.spent.add(&finished.spent);
        self.journal
            .record(JournalRecord::SessionEnded {
                number,
                instruction: finished.instruction.name,
                outcome: finished.outcome.clone(),
                spent: finished.spent,
                duration: finished.duration,
                output: finished.instruction.step.as_ref().map(|_| Box::new(finished.output.clone())),
            })
            .await?;
        match finished.outcome {
            SessionEnd::ExecutionError { .. }
            | SessionEnd::QuotaExceeded { .. }
            | SessionEnd::Interrupted => {
                steering.give_back();
            }
            SessionEnd::Completed
            | SessionEnd::MaxTurns
            | SessionEnd::Stuck { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. } => steering.settle(),
        }
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
        Ok(())
    }

    /// Adds the messages that the user has sent since the last session.
    async fn with_messages(
        &self,
        number: u32,
        mut instruction: Instruction,
        steering: &Steering,
    ) -> Result<Instruction, Fault> {
        for message in steering.take() {
            let event = RunEvent::UserMessage { text: message.text.clone() };
            self.journal.event(number, &(&event).into()).await?;
            self.emit(Some(number), &event);
            instruction = instruction.with_paragraph(&message.prompt());
        }
        Ok(instruction)
    }

    /// `time_limit` is the session's own.
    fn allowance(
        &self,
        state: &RunState,
        start: Duration,
        spending: &Spending,
        time_limit: Option<Duration>,
    ) -> Allowance {
        let (limits, now) = (&self.options.limits, self.clock.monotonic());
        let of_run =
            limits.max_duration.map(|limit| (now.saturating_add(self.time_left(state, start)), limit));
        let of_session = time_limit.map(|limit| (now.saturating_add(limit), limit));
        Allowance {
            cost: limits.max_cost.map(|limit| (spending.clone(), limit)),
            deadline: of_run.into_iter().chain(of_session).min_by_key(|(deadline, _)| *deadline),
        }
    }
}
