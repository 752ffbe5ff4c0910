//! Session: one agent from instruction to end. Adds up costs as they are reported and stops the session at
//! once on an interrupt, when a limit is reached or when the agent repeats itself. A stream without an end is an
//! error, never a success.

mod call_log;

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use self::call_log::CallLog;
use crate::agent::{Agent, Backend, Instruction, SessionSpec};
use crate::call_watch::{CallWatch, RepetitionVerdict};
use crate::clock::Clock;
use crate::event::{AgentEvent, RunEvent, Usage};
use crate::fault::{Fault, FaultLayer};
use crate::halt::Halt;
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::money::Usd;
use crate::outcome::SessionEnd;
use crate::plan::{Iteration, SessionOutput};
use crate::silence::Silence;
use crate::sink::Sinks;
use crate::span::{SessionSpans, SpanContext};
use crate::spending::Spending;
use crate::steering::Steering;

/// Time an agent has to end before it is dropped, which kills everything it started. Running commands get
/// half a second of it to clean up.
const DISPOSE_LIMIT: Duration = Duration::from_millis(900);

/// What is left of the run's limits for a session.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    /// What the run has spent, and its limit.
    pub cost: Option<(Spending, Usd)>,
    /// Deadline on [`Clock::monotonic`], and the run's limit.
    pub deadline: Option<(Duration, Duration)>,
}

/// What a session needs around it.
pub struct Session<'a> {
    pub backend: &'a dyn Backend,
    pub clock: &'a dyn Clock,
    pub journal: &'a dyn Journal,
    pub sinks: &'a Sinks,
    pub span: SpanContext,
    /// See [`crate::plan::NextSession::worker`].
    pub worker: usize,
    pub interrupt: CancellationToken,
    /// Ends the session when the run is halted.
    pub halt: Halt,
    pub allowance: Allowance,
    /// A new watch for the calls of this session.
    pub call_watch: &'a (dyn Fn() -> Box<dyn CallWatch> + Send + Sync),
}

impl Session<'_> {
    /// Only a journal that cannot be written is an error; everything else is an outcome.
    pub async fn run(&self, spec: SessionSpec, instruction: Instruction) -> Result<Iteration, Fault> {
        let start = self.clock.monotonic();
        let (mut spent, mut output) = (Ledger::default(), SessionOutput::default());
        let (stop, steering) = (spec.stop.clone(), spec.steering.clone());
        let (backend, model) = (self.backend.name().to_owned(), spec.model.clone());
        let outcome = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Ok(SessionEnd::Interrupted),
            fault = self.halt.raised() => Ok(SessionEnd::ExecutionError { fault }),
            outcome = self.deadline_reached() => Ok(outcome),
            opened = self.backend.open(spec) => match opened {
                Err(fault) => Ok(SessionEnd::ExecutionError { fault }),
                Ok(mut agent) => {
                    let outcome = self
                        .follow(agent.as_mut(), instruction.clone(), &steering, &mut spent, &mut output)
                        .await;
                    stop.cancel();
                    let cleanup_warnings = tokio::select! {
                        cleanup_warnings = agent.dispose() => cleanup_warnings,
                        () = self.clock.sleep(DISPOSE_LIMIT) => Vec::new(),
                    };
                    self.report_warnings(cleanup_warnings).await.and(outcome)
                }
            },
        };
        let duration = self.clock.monotonic().saturating_sub(start);
        let (number, worker, outcome) = (self.number(), self.worker, outcome?);
        Ok(Iteration { number, worker, backend, model, instruction, outcome, spent, duration, output })
    }

    /// Reports what had to be cleaned up after the agent's last event.
    async fn report_warnings(&self, cleanup_warnings: Vec<String>) -> Result<(), Fault> {
        for message in cleanup_warnings {
            let event = AgentEvent::Warning { message };
            self.journal.event(self.number(), &(&event).into()).await?;
            self.sinks.emit(&self.span, &event);
        }
        Ok(())
    }

    /// Processes the agent's events until it ends or must be stopped.
    async fn follow(
        &self,
        agent: &mut dyn Agent,
        instruction: Instruction,
        steering: &Steering,
        spent: &mut Ledger,
        output: &mut SessionOutput,
    ) -> Result<SessionEnd, Fault> {
        let mut spans = SessionSpans::new(self.span.clone());
        self.sinks.emit(&self.span, &RunEvent::Instructed { text: instruction.text.clone() });
        let phase = instruction.name;
        let mut events = agent.query(instruction);
        let mut silence = Silence::default();
        let mut calls = CallLog::new((self.call_watch)());
        loop {
            let event = tokio::select! {
                biased;
                () = self.interrupt.cancelled() => return Ok(SessionEnd::Interrupted),
                fault = self.halt.raised() => return Ok(SessionEnd::ExecutionError { fault }),
                outcome = self.deadline_reached() => return Ok(outcome),
                event = events.next() => event,
                () = self.clock.sleep(silence.limit()) => {
                    return Ok(SessionEnd::ExecutionError { fault: silence.fault() });
                }
            };
            let Some(event) = event else {
                let fault = Fault::transient(
                    FaultLayer::Agent,
                    "no_end",
                    "The agent's event stream ended without reporting how the session ended.",
                );
                return Ok(SessionEnd::ExecutionError { fault });
            };
            if let AgentEvent::Conversation { history } = &event {
                // The answer is for the next session, but what was said about it is not.
                if !phase.only_asks() {
                    self.journal.conversation(self.number(), history).await?;
                }
                continue;
            }
            if !event.is_transient() {
                self.journal.event(self.number(), &(&event).into()).await?;
            }
            self.sinks.emit(&spans.of(&event), &event);
            output.observe(&event);
            silence.observe(&event);
            match calls.observe(&event, self.clock.monotonic(), output) {
                RepetitionVerdict::Fine => {}
                RepetitionVerdict::Tell(message) => {
                    let event = RunEvent::RepetitionNoticed { message: message.clone() };
                    self.journal.event(self.number(), &(&event).into()).await?;
                    self.sinks.emit(&self.span, &event);
                    steering.advise(message);
                }
                RepetitionVerdict::End(reason) => return Ok(SessionEnd::Stuck { reason }),
            }
            match event {
                AgentEvent::End { outcome } => return Ok(outcome),
                AgentEvent::Usage(usage) => {
                    spent.add_usage(&usage);
                    self.journal.cost(self.number(), &usage).await?;
                    if let Some(outcome) = self.budget_exceeded(&usage) {
                        return Ok(outcome);
                    }
                }
                AgentEvent::Working { .. }
                | AgentEvent::ModelCallStarted { .. }
                | AgentEvent::Chunk { .. }
                | AgentEvent::ModelCallEnded { .. }
                | AgentEvent::Conversation { .. }
                | AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::ToolCall(_)
                | AgentEvent::ToolResult { .. }
                | AgentEvent::Warning { .. }
                | AgentEvent::UserMessage { .. }
                | AgentEvent::HostRefused { .. }
                | AgentEvent::Answer { .. } => {}
            }
        }
    }

    fn number(&self) -> u32 {
        self.span.session.unwrap_or_default()
    }

    async fn deadline_reached(&self) -> SessionEnd {
        let Some((deadline, limit)) = self.allowance.deadline else {
            return std::future::pending().await;
        };
        loop {
            let left = deadline.saturating_sub(self.clock.monotonic());
            if left.is_zero() {
                return SessionEnd::DurationExceeded { limit };
            }
            self.clock.sleep(left).await;
        }
    }

    fn budget_exceeded(&self, usage: &Usage) -> Option<SessionEnd> {
        let (spending, limit_usd) = self.allowance.cost.as_ref()?;
        let Some(cost) = usage.cost_usd else {
            let fault = Fault::permanent(
                FaultLayer::Config,
                "unknown_price",
                "The price of this model is unknown, so --max-cost cannot be enforced.",
            )
            .hint(
                "Omit --max-cost (or max_cost in config.toml), or choose a model with a known price (`autonoe doctor` lists them).",
            );
            return Some(SessionEnd::ExecutionError { fault });
        };
        let limit_usd = *limit_usd;
        (spending.add(cost) >= limit_usd).then_some(SessionEnd::BudgetExceeded { limit_usd })
    }
}

#[cfg(test)]
mod tests;
