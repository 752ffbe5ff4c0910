//! Plan: decides the next instruction and judges the session just finished.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::agent::Instruction;
use crate::event::{AgentEvent, RunEvent};
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::outage::Outage;
use crate::outcome::{AgentReport, RunOutcome, SessionEnd};
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
    /// Set while the model service is away.
    pub outage: Option<Outage>,
    /// Time that an earlier process of this run used.
    pub time_before: Duration,
}

/// A session that has finished.
#[derive(Debug, Clone)]
pub struct Iteration {
    /// Its number within the run.
    pub number: u32,
    /// The instruction it was given.
    pub instruction: Instruction,
    /// How it ended.
    pub outcome: SessionEnd,
    /// What it spent.
    pub spent: Ledger,
    /// How long it took.
    pub duration: Duration,
    /// What came of it beside what it changed.
    pub said: Said,
}

impl Iteration {
    /// The fault of a service that was away at the end of it, if that is how it ended.
    pub fn outage(&self) -> Option<&Fault> {
        match &self.outcome {
            SessionEnd::ExecutionError { fault } => Some(fault).filter(|fault| fault.is_outage()),
            _ => None,
        }
    }

    /// Whether it counts toward the limit of sessions: one that others cut short, or that never reached a model, does not.
    pub fn counts(&self) -> bool {
        let was_away = self.outage().is_some() && !self.spent.is_any();
        !self.outcome.was_cut_short() && !was_away
    }
}

/// What an agent said in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// All its words, or the end of them.
    pub text: String,
    /// Its answer in the form that it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<serde_json::Value>,
    /// The tools that it used, each once.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// The most that is kept of what an agent said, in bytes.
const MAX_SAID: usize = 256 * 1024;

impl Said {
    /// Takes note of an event of the session.
    pub fn hear(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { text } => {
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(text);
                let excess = self.text.len().saturating_sub(MAX_SAID);
                let cut = (excess..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
                self.text.drain(..cut.unwrap_or_default());
            }
            AgentEvent::Answer { value } => self.answer = Some(value.clone()),
            AgentEvent::ToolCall(call) if !self.tools.contains(&call.name) => {
                self.tools.push(call.name.clone());
            }
            AgentEvent::ToolCall(_)
            | AgentEvent::Working { .. }
            | AgentEvent::ModelAsked { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelDone { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Trouble { .. }
            | AgentEvent::HostRefused { .. }
            | AgentEvent::End { .. } => {}
        }
    }
}

/// A session to hold.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// What to do.
    pub instruction: Instruction,
    /// The conversation to resume; none begins a new one.
    pub history: Option<serde_json::Value>,
    /// The JSON Schema that the answer must fit, if it must fit one.
    pub answer: Option<serde_json::Value>,
}

impl From<Instruction> for Assignment {
    fn from(instruction: Instruction) -> Self {
        Self { instruction, history: None, answer: None }
    }
}

/// What comes next.
#[derive(Debug, Clone)]
pub enum Next {
    /// A session.
    Session(Assignment),
    /// Nothing: the plan is done.
    Done(RunOutcome),
}

/// What the plan thinks of a finished session.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Something moved; go on.
    Moved,
    /// Nothing moved; go on.
    Idle,
    /// The plan is done.
    Done(RunOutcome),
    /// The session ended but what it left behind will not do.
    Failed(Fault),
}

/// How far a plan is, for summaries.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Deliverables.
    pub tally: Tally,
    /// Verification, in `sync`.
    pub progress: Progress,
    /// The steps of a declarative agent.
    pub agent: Option<Box<AgentReport>>,
}

/// Decides the next instruction and judges the session just finished.
#[async_trait]
pub trait Plan: Send {
    /// What comes next.
    async fn next(&mut self, so_far: &RunState) -> Result<Next, Fault>;

    /// Judges the session just finished.
    async fn judge(&mut self, finished: &Iteration) -> Result<Verdict, Fault>;

    /// Looks once more at what it believes, when a limit has ended the run before it was done.
    async fn confirm_passed(&mut self) -> Result<(), Fault> {
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

    /// Makes sure that a change could be written now, before a session is paid for.
    async fn ensure_writable(&self) -> Result<(), Fault>;
}

/// Keeps what a plan must remember when its process dies; the store keeps it with the journal.
#[async_trait]
pub trait PlanMemory: Send + Sync {
    /// What was kept last in this run, if anything was.
    async fn recall(&self) -> Result<Option<serde_json::Value>, Fault>;

    /// Keeps this instead; on disk when it returns.
    async fn keep(&self, state: &serde_json::Value) -> Result<(), Fault>;

    /// Writes down something that happened between sessions.
    async fn note(&self, event: &RunEvent) -> Result<(), Fault>;

    /// The newest session of this run that has ended, with what was said in it.
    async fn last_session(&self) -> Result<Option<Iteration>, Fault>;

    /// The newest conversation of this run.
    async fn conversation(&self) -> Result<Option<serde_json::Value>, Fault>;
}
