//! What the loop writes down. The store keeps it; this crate only says what and when.

use std::time::Duration;

use async_trait::async_trait;

use crate::event::{Event, Usage};
use crate::fault::Fault;
use crate::instruction::Phase;
use crate::ledger::Ledger;
use crate::outage::Outage;
use crate::outcome::{RunReport, SessionEnd};
use crate::plan::Said;
use crate::quota::QuotaWait;

/// A fact the run depends on; durable once [`Journal::record`] returns.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A session is about to start.
    SessionStarted {
        /// Its number within the run, from 1.
        number: u32,
        /// Its instruction.
        instruction: Phase,
        /// The step of a declarative agent that it belongs to.
        step: Option<String>,
        /// The backend's name.
        backend: String,
        /// The model's name.
        model: String,
    },
    /// A session ended and counts.
    SessionEnded {
        /// Its number within the run.
        number: u32,
        /// Its instruction. A `sync` session that completed leaves only verification to do.
        instruction: Phase,
        /// How it ended.
        outcome: SessionEnd,
        /// What it spent.
        spent: Ledger,
        /// How long it took.
        duration: Duration,
        /// What was said in a step of a declarative agent: it is judged by that.
        said: Option<Box<Said>>,
    },
    /// The quota is used up.
    QuotaWait(QuotaWait),
    /// The model service is away.
    Outage(Outage),
    /// The model service is back, or is no longer needed.
    OutageOver,
    /// The run is over.
    RunEnded(Box<RunReport>),
}

/// The append-only record of a run.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes a fact down; durable when it returns.
    async fn record(&self, record: Record) -> Result<(), Fault>;

    /// Takes an event of a session. Durable soon, and at the latest with the next record.
    async fn event(&self, session: u32, event: &Event) -> Result<(), Fault>;

    /// Keeps a session's conversation as it stands, in place of what was kept of it before.
    async fn conversation(&self, session: u32, history: &serde_json::Value) -> Result<(), Fault>;

    /// Books what a model call cost, as soon as it is reported.
    async fn cost(&self, session: u32, usage: &Usage) -> Result<(), Fault>;
}
