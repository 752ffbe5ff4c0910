//! Plan: decides the next instruction and judges the session just finished.

use std::time::Duration;

use async_trait::async_trait;

use crate::agent::Instruction;
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::outcome::Outcome;
use crate::quota::QuotaWait;
use crate::status::{ProjectStatus, Tally};
use crate::verification::Progress;

/// What the loop knows of the run so far; restored from the journal when a run goes on.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    /// Sessions started, which is also the number of the last one.
    pub sessions: u32,
    /// Sessions that count toward the limit: those the quota ended do not.
    pub iterations: u32,
    /// What they spent.
    pub spent: Ledger,
    /// Failed sessions in a row.
    pub errors: u32,
    /// Sessions in a row that moved nothing.
    pub idle: u32,
    /// Quota waits in a row.
    pub quota_waits: u32,
    /// Set while the quota is used up.
    pub quota: Option<QuotaWait>,
    /// Time that an earlier process of this run used.
    pub time_before: Duration,
}

/// A session that has finished.
#[derive(Debug, Clone)]
pub struct Iteration {
    /// The instruction it was given.
    pub instruction: Instruction,
    /// How it ended.
    pub outcome: Outcome,
    /// What it spent.
    pub spent: Ledger,
    /// How long it took.
    pub duration: Duration,
}

/// What comes next.
#[derive(Debug, Clone)]
pub enum Next {
    /// A session with this instruction.
    Session {
        /// What to do.
        instruction: Instruction,
    },
    /// Nothing: the plan is done.
    Done(Outcome),
}

/// What the plan thinks of a finished session.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Something moved; go on.
    Moved,
    /// Nothing moved; go on.
    Idle,
    /// The plan is done.
    Done(Outcome),
    /// The session ended but what it left behind will not do.
    Failed(Fault),
}

/// How far a plan is, for summaries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    /// Deliverables.
    pub tally: Tally,
    /// Verification, in `sync`.
    pub progress: Progress,
}

/// Decides the next instruction and judges the session just finished.
#[async_trait]
pub trait Plan: Send {
    /// What comes next.
    async fn next(&mut self, so_far: &RunState) -> Result<Next, Fault>;

    /// Judges the session just finished.
    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault>;

    /// Looks once more at what it believes, when a limit has ended the run before it was done.
    async fn look_again(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// How far it is.
    fn standing(&self) -> Standing;
}

/// Reads the project's deliverables; the store implements it.
#[async_trait]
pub trait StatusReader: Send + Sync {
    /// The deliverables, or none when there is no status file yet. A file that cannot be read is a fault.
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault>;
}
