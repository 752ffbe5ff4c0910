//! Plan: decides the next instruction and judges the session just finished.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::agent::Instruction;
use crate::event::{AgentEvent, RunEvent};
use crate::fault::Fault;
use crate::instruction::Phase;
use crate::ledger::Ledger;
use crate::outage::Outage;
use crate::outcome::{PlanReport, RunOutcome, SessionEnd};
use crate::quota::QuotaWait;
use crate::status::ProjectStatus;

/// State of the run so far; restored from the journal when a run is resumed.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    /// Sessions started; also the number of the last one.
    pub sessions: u32,
    /// Sessions that count toward the limit, see [`Iteration::counts`].
    pub iterations: u32,
    pub spent: Ledger,
    /// Consecutive failed sessions.
    pub errors: u32,
    /// Consecutive sessions without progress.
    pub idle: u32,
    /// Consecutive quota waits.
    pub quota_waits: u32,
    /// Set while the quota is used up.
    pub quota: Option<QuotaWait>,
    /// Set while the model service is unavailable.
    pub outage: Option<Outage>,
    /// Time used by earlier processes of this run.
    pub time_before: Duration,
    /// The sessions that are at work.
    pub running: Vec<RunningSession>,
    /// How the run ends once they have ended.
    pub ending: Option<RunOutcome>,
    /// The last session that began before the current backend took over.
    pub switched_after: u32,
}

/// A session that is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningSession {
    pub number: u32,
    pub worker: usize,
    pub deliverable: Option<String>,
}

/// A finished session.
#[derive(Debug, Clone)]
pub struct Iteration {
    pub number: u32,
    /// See [`NextSession::worker`].
    pub worker: usize,
    /// The backend and the model that worked.
    pub backend: String,
    pub model: String,
    pub instruction: Instruction,
    pub outcome: SessionEnd,
    pub spent: Ledger,
    pub duration: Duration,
    pub output: SessionOutput,
}

impl Iteration {
    /// The fault, if the session ended because the service was unavailable.
    pub fn outage(&self) -> Option<&Fault> {
        match &self.outcome {
            SessionEnd::ExecutionError { fault } => Some(fault).filter(|fault| fault.is_outage()),
            _ => None,
        }
    }

    /// Says of a fault of a review that it is one: the work itself is done.
    pub(crate) fn naming_review(mut self) -> Self {
        if let (Phase::Review, SessionEnd::ExecutionError { fault }) =
            (self.instruction.name, &mut self.outcome)
        {
            fault.message = format!("The review by another agent failed: {}", fault.message);
        }
        self
    }

    /// Whether the session counts toward the limit: not if it was cut short or never reached a model.
    pub fn counts(&self) -> bool {
        let was_unavailable = self.outage().is_some() && !self.spent.is_nonzero();
        !self.outcome.was_cut_short() && !was_unavailable
    }
}

/// What an agent produced in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionOutput {
    /// All text, or its end if that is longer than [`MAX_TEXT_BYTES`].
    pub text: String,
    /// The final answer, where a JSON Schema was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<serde_json::Value>,
    /// Names of the tools used, each once.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The commands that were run, in order. Only known to the process that ran the session.
    #[serde(skip)]
    pub commands: Vec<String>,
    /// The time in which commands ran. Only known to the process that ran the session.
    #[serde(skip)]
    pub in_commands: Duration,
}

/// Maximum length of the stored text, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;

impl SessionOutput {
    pub fn observe(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { text } => {
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(text);
                let excess = self.text.len().saturating_sub(MAX_TEXT_BYTES);
                let cut = (excess..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
                self.text.drain(..cut.unwrap_or_default());
            }
            AgentEvent::Answer { value } => self.answer = Some(value.clone()),
            AgentEvent::ToolCall(call) if !self.tools.contains(&call.name) => {
                self.tools.push(call.name.clone());
            }
            AgentEvent::ToolCall(_)
            | AgentEvent::Working { .. }
            | AgentEvent::ModelCallStarted { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::ModelCallEnded { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Warning { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::HostRefused { .. }
            | AgentEvent::End { .. } => {}
        }
    }
}

/// The next session to run.
#[derive(Debug, Clone)]
pub struct NextSession {
    pub instruction: Instruction,
    /// `None` starts a new conversation.
    pub history: Option<serde_json::Value>,
    /// JSON Schema of the final answer, if one is required.
    pub answer_schema: Option<serde_json::Value>,
    /// Backends in order of preference; the first one that the run has works. Empty means the run's current one.
    pub backends: Vec<String>,
    /// `None` means the backend's own.
    pub model: Option<String>,
    /// The session ends after this time, and the run goes on. `None` if only the run's limit applies.
    pub time_limit: Option<Duration>,
    /// Sessions without progress before remedies begin; `None` for the usual number.
    pub stuck_after: Option<u32>,
    /// Whether the run goes on as if nothing had been tried if it fails: no error is counted, and no other backend takes over.
    pub is_optional: bool,
    /// Where it starts, relative to the project; empty is the project itself, also if there is no such directory.
    pub directory: PathBuf,
    /// Where it takes place, counted from 0: each worker of a run has a workspace of its own, and one session at a time.
    pub worker: usize,
}

impl From<Instruction> for NextSession {
    fn from(instruction: Instruction) -> Self {
        Self {
            instruction,
            history: None,
            answer_schema: None,
            backends: Vec::new(),
            model: None,
            time_limit: None,
            stuck_after: None,
            is_optional: false,
            directory: PathBuf::new(),
            worker: 0,
        }
    }
}

// There is one at a time, and it is taken apart at once.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum NextAction {
    Session(NextSession),
    /// Nothing can begin before a session that is at work has ended. Only while there is one.
    Wait,
    Done(RunOutcome),
}

/// The plan's assessment of a finished session.
#[derive(Debug, Clone)]
pub enum PlanVerdict {
    /// The session made progress; continue.
    Progressed,
    /// The session made no progress; continue.
    Idle,
    /// No progress, but the next session tries a remedy. Does not count as idle: remedies have a limit of their own.
    Recovering,
    /// No progress, and nothing is left to try.
    Stuck {
        /// Consecutive sessions without progress.
        idle_sessions: u32,
        /// Names of the remedies, in order.
        tried: Vec<String>,
    },
    Done(RunOutcome),
    /// The session ended, but its result is unusable.
    Failed(Fault),
}

/// Decides the next instruction and judges the session just finished.
#[async_trait]
pub trait Plan: Send {
    async fn next(&mut self, so_far: &RunState) -> Result<NextAction, Fault>;

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault>;

    /// Called when sessions make no progress and nothing is left to try. Returns whether the plan gives up what they worked on and continues
    /// with something else; must be false at some point.
    async fn abandon(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Rechecks what has passed when a limit ends the run early.
    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Called once when the run has ended, however that was, before it is reported.
    async fn ended(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn report(&self) -> PlanReport;
}

/// Reads the project's deliverables; implemented by the store.
#[async_trait]
pub trait StatusReader: Send + Sync {
    /// `None` if there is no status file yet. An unreadable file is a fault.
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault>;

    /// Checks that a change could be written now, before a session is paid for.
    async fn ensure_writable(&self) -> Result<(), Fault>;
}

/// Stores what a plan must remember when its process dies; kept by the store with the journal.
#[async_trait]
pub trait PlanMemory: Send + Sync {
    /// The state saved last in this run.
    async fn load(&self) -> Result<Option<serde_json::Value>, Fault>;

    /// The state that the latest earlier run of the same command saved last. `None` if that command has completed since, or is to begin anew.
    async fn load_earlier(&self) -> Result<Option<serde_json::Value>, Fault>;

    /// The states that the runs of the same command saved last, also those that have completed, the oldest first. Without those from before
    /// that command was to begin anew.
    async fn load_all(&self) -> Result<Vec<serde_json::Value>, Fault>;

    /// Replaces the saved state; durable when it returns.
    async fn save(&self, state: &serde_json::Value) -> Result<(), Fault>;

    /// The state of the recovery saved last in this run.
    async fn recovery(&self) -> Result<Option<serde_json::Value>, Fault>;

    /// The state of the recovery of an earlier run, as for [`Self::load_earlier`].
    async fn earlier_recovery(&self) -> Result<Option<serde_json::Value>, Fault>;

    /// Replaces the saved state of the recovery and records what has led to it, both or neither; durable when it returns.
    async fn save_recovery(&self, state: &serde_json::Value, events: &[RunEvent]) -> Result<(), Fault>;

    /// Records something that happened between sessions.
    async fn record_event(&self, event: &RunEvent) -> Result<(), Fault>;

    /// The most recent finished session of a step of this run, with its output.
    async fn last_session(&self) -> Result<Option<Iteration>, Fault>;

    /// The most recent finished session of this run in which a model was only asked, with its output. See [`Phase::only_asks`].
    async fn last_answer(&self, phase: Phase) -> Result<Option<Iteration>, Fault>;

    /// The most recent conversation of this run.
    async fn conversation(&self) -> Result<Option<serde_json::Value>, Fault>;
}
