//! What the loop records, and when. The store implements the storage.

use std::time::Duration;

use async_trait::async_trait;

use crate::event::{Event, Usage};
use crate::fault::Fault;
use crate::instruction::Phase;
use crate::ledger::Ledger;
use crate::outage::Outage;
use crate::outcome::{RunReport, SessionEnd};
use crate::plan::SessionOutput;
use crate::quota::QuotaWait;

/// A fact that the run depends on; durable once [`Journal::record`] returns.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalRecord {
    /// Written before the session starts.
    SessionStarted {
        /// Number within the run, from 1.
        number: u32,
        instruction: Phase,
        /// Step of a declarative agent, if the session belongs to one.
        step: Option<String>,
        backend: String,
        model: String,
    },
    SessionEnded {
        number: u32,
        /// A completed `sync` session leaves only verification to do.
        instruction: Phase,
        outcome: SessionEnd,
        spent: Ledger,
        duration: Duration,
        /// Output of a step of a declarative agent, which the plan judges; `None` for other sessions.
        output: Option<Box<SessionOutput>>,
    },
    QuotaWait(QuotaWait),
    /// The model service is unavailable.
    Outage(Outage),
    /// The model service is back, or no longer needed.
    OutageOver,
    RunEnded(Box<RunReport>),
}

/// The append-only record of a run.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Durable when it returns.
    async fn record(&self, record: JournalRecord) -> Result<(), Fault>;

    /// Durable soon, and at the latest with the next record.
    async fn event(&self, session: u32, event: &Event) -> Result<(), Fault>;

    /// Replaces the stored conversation of a session.
    async fn conversation(&self, session: u32, history: &serde_json::Value) -> Result<(), Fault>;

    /// Records the cost of a model call as soon as it is reported.
    async fn cost(&self, session: u32, usage: &Usage) -> Result<(), Fault>;
}
