//! Session: one agent from instruction to end. Books what is spent as it is reported and ends the
//! session at once on an interrupt or when a limit is crossed. Silence is never success.

use std::time::Duration;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Backend, Instruction, SessionSpec};
use crate::clock::Clock;
use crate::event::{AgentEvent, RunEvent, Usage};
use crate::fault::{Fault, Layer};
use crate::halt::Halt;
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::money::Usd;
use crate::outcome::SessionEnd;
use crate::plan::{Iteration, Said};
use crate::silence::Silence;
use crate::sink::Sinks;
use crate::span::{SessionSpans, SpanContext};

/// How long an agent may take to end before it is dropped, which kills what it started. Commands that are running have half a second of
/// it to put things away.
const DISPOSE_LIMIT: Duration = Duration::from_millis(900);

/// What a session may still use up of the run's limits.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    /// Spent before this session, and the run's limit.
    pub cost: Option<(Usd, Usd)>,
    /// When the run's time is up, as [`Clock::monotonic`] counts, and the run's limit.
    pub deadline: Option<(Duration, Duration)>,
}

/// What a session needs around it.
pub struct Session<'a> {
    /// Opens the agent.
    pub backend: &'a dyn Backend,
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// Keeps the events.
    pub journal: &'a dyn Journal,
    /// Are shown the events.
    pub sinks: &'a Sinks,
    /// Where in the run this is.
    pub span: SpanContext,
    /// The user's interrupt.
    pub interrupt: &'a CancellationToken,
    /// Ends the session when the run cannot go on.
    pub halt: &'a Halt,
    /// What may still be used up.
    pub allowance: Allowance,
}

impl Session<'_> {
    /// Runs the session. Only a journal that cannot be written is an error; everything else is an outcome.
    pub async fn run(&self, spec: SessionSpec, instruction: Instruction) -> Result<Iteration, Fault> {
        let start = self.clock.monotonic();
        let (mut spent, mut said) = (Ledger::default(), Said::default());
        let stop = spec.stop.clone();
        let outcome = tokio::select! {
            biased;
            () = self.interrupt.cancelled() => Ok(SessionEnd::Interrupted),
            fault = self.halt.raised() => Ok(SessionEnd::ExecutionError { fault }),
            outcome = self.time_is_up() => Ok(outcome),
            opened = self.backend.open(spec) => match opened {
                Err(fault) => Ok(SessionEnd::ExecutionError { fault }),
                Ok(mut agent) => {
                    let outcome = self.follow(agent.as_mut(), instruction.clone(), &mut spent, &mut said).await;
                    stop.cancel();
                    let put_right = tokio::select! {
                        put_right = agent.dispose() => put_right,
                        () = self.clock.sleep(DISPOSE_LIMIT) => Vec::new(),
                    };
                    self.tell(put_right).await.and(outcome)
                }
            },
        };
        let duration = self.clock.monotonic().saturating_sub(start);
        Ok(Iteration { number: self.number(), instruction, outcome: outcome?, spent, duration, said })
    }

    /// Tells what had to be put right after the agent's last event.
    async fn tell(&self, put_right: Vec<String>) -> Result<(), Fault> {
        for message in put_right {
            let event = AgentEvent::Trouble { message };
            self.journal.event(self.number(), &(&event).into()).await?;
            self.sinks.emit(&self.span, &event);
        }
        Ok(())
    }

    /// Follows the agent's events until it ends or must be ended.
    async fn follow(
        &self,
        agent: &mut dyn Agent,
        instruction: Instruction,
        spent: &mut Ledger,
        said: &mut Said,
    ) -> Result<SessionEnd, Fault> {
        let mut spans = SessionSpans::new(self.span.clone());
        self.sinks.emit(&self.span, &RunEvent::Instructed { text: instruction.text.clone() });
        let mut events = agent.query(instruction);
        let mut silence = Silence::default();
        loop {
            let event = tokio::select! {
                biased;
                () = self.interrupt.cancelled() => return Ok(SessionEnd::Interrupted),
                fault = self.halt.raised() => return Ok(SessionEnd::ExecutionError { fault }),
                outcome = self.time_is_up() => return Ok(outcome),
                event = events.next() => event,
                () = self.clock.sleep(silence.limit()) => {
                    return Ok(SessionEnd::ExecutionError { fault: silence.fault() });
                }
            };
            let Some(event) = event else {
                let fault = Fault::passing(
                    Layer::Agent,
                    "no_end",
                    "The agent's event stream ended without saying how the session ended.",
                );
                return Ok(SessionEnd::ExecutionError { fault });
            };
            if let AgentEvent::Conversation { history } = &event {
                self.journal.conversation(self.number(), history).await?;
                continue;
            }
            if !event.is_transient() {
                self.journal.event(self.number(), &(&event).into()).await?;
            }
            self.sinks.emit(&spans.of(&event), &event);
            said.hear(&event);
            silence.hear(&event);
            match event {
                AgentEvent::End { outcome } => return Ok(outcome),
                AgentEvent::Usage(usage) => {
                    spent.book(&usage);
                    self.journal.cost(self.number(), &usage).await?;
                    if let Some(outcome) = self.money_is_spent(spent, &usage) {
                        return Ok(outcome);
                    }
                }
                AgentEvent::Working { .. }
                | AgentEvent::ModelAsked { .. }
                | AgentEvent::Chunk { .. }
                | AgentEvent::ModelDone { .. }
                | AgentEvent::Conversation { .. }
                | AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::ToolCall(_)
                | AgentEvent::ToolResult { .. }
                | AgentEvent::Trouble { .. }
                | AgentEvent::HostRefused { .. }
                | AgentEvent::Answer { .. } => {}
            }
        }
    }

    fn number(&self) -> u32 {
        self.span.session.unwrap_or_default()
    }

    async fn time_is_up(&self) -> SessionEnd {
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

    fn money_is_spent(&self, spent: &Ledger, usage: &Usage) -> Option<SessionEnd> {
        let (before, limit_usd) = self.allowance.cost?;
        if usage.cost_usd.is_none() {
            let fault = Fault::lasting(
                Layer::Config,
                "unknown_price",
                "No price is known for this model, so --max-cost cannot be kept.",
            )
            .hint(
                "Leave --max-cost out, or choose a model whose price is known (`autonoe doctor` lists them).",
            );
            return Some(SessionEnd::ExecutionError { fault });
        }
        (before + spent.cost >= limit_usd).then_some(SessionEnd::BudgetExceeded { limit_usd })
    }
}

#[cfg(test)]
mod tests;
